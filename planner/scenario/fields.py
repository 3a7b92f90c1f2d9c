"""How the schema writes a field: strict, finite, with its unit and range, and what a name may be."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

TINY = 1e-9  # stands for "above 0": smaller numbers are slips of the pen and overflow later


def _integral(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def _file_name(value: str) -> str:
    """A name that is one folder below ``reports/`` and prints as it is."""
    if not value.isprintable() or not value.strip(". ") or value != value.strip():
        raise ValueError(
            f"{value[:60]!r} is not a name: printable characters, at least a letter or digit, no space around"
        )
    bad = sorted(set(value) & set('/\\:*?"<>|')) or ["."] * value.startswith(".") or ["-"] * value.startswith("-")
    if bad:
        raise ValueError(f"{value[:60]!r} is not a name: a report is written below it, so {bad[0]!r} cannot be there")
    return value


FileName = Annotated[str, AfterValidator(_file_name)]
Int = Annotated[int, BeforeValidator(_integral)]
Batch = Annotated[Int, Field(ge=1, le=1_000_000)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=64)]


def key(
    unit: str, description: str, *, above: float | None = None, at_least: float | None = None,
    at_most: float | None = None, below: float | None = None, default: Any = ...,
) -> Any:  # fmt: skip
    """A field: what it means, its unit, its range, and a default where it does not come from the catalog."""
    extra: dict[str, Any] = {"unit": unit} if unit else {}
    if at_most is not None and at_most == int(at_most):
        at_most = int(at_most)
    return Field(
        default, description=f"{description} [{unit}]" if unit else description, le=at_most,
        ge=TINY if above == 0 and below is None else at_least, gt=above if below is not None else None, lt=below,
        json_schema_extra=extra or None,
    )  # fmt: skip


class Strict(BaseModel):
    """Frozen, no unknown keys, no silent conversion, only finite numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, protected_namespaces=())
