"""The derivation of one plan: every equation with its numbers filled in, and what is binding.

A :class:`Step` shows a formula, the same formula in numbers, and its value as the exact evaluation has it. Numbers
are in seconds, GB and GB/s, so that a reader can type them into a calculator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.physics.system import System
from planner.plan import Evaluation
from planner.report.format import joined, ms, number, percent, safe, significant, size, usd
from planner.report.grid import paragraph


@dataclass(frozen=True)
class Step:
    """One equation: ``name = formula = numbers = value``, and the limit it keeps where there is one."""

    name: str
    formula: str
    numbers: str
    value: float
    unit: str
    limit: float | None = None
    limit_key: str = ""

    @property
    def kept(self) -> bool:
        """True when there is no limit or the value is within it."""
        return self.limit is None or self.value <= self.limit * (1 + 1e-6) + 1e-12


@dataclass(frozen=True)
class Section:
    """Steps that belong together."""

    title: str
    steps: tuple[Step, ...]


def derive(system: System, found: Evaluation) -> tuple[Section, ...]:
    """Every equation behind ``found``, in the order in which one would work it out by hand."""
    from planner.report import derivation_cache, derivation_time, derivation_use

    return (
        Section("KV bytes", tuple(derivation_cache.kv_steps(system))),
        Section("HBM of the instances that prefill", tuple(derivation_cache.hbm_steps(system, found))),
        Section("Hits", tuple(derivation_cache.hit_steps(system, found))),
        Section("Prefill work and its queue", tuple(derivation_time.queue_steps(system, found))),
        Section("Time to first token", tuple(derivation_time.path_steps(system, found))),
        Section("Decode", tuple(derivation_time.decode_steps(system, found))),
        Section("Tiers", tuple(derivation_use.tier_steps(system, found))),
        Section("Cost", tuple(derivation_use.cost_steps(system, found))),
    )


def plain(value: float, digits: int = 6) -> str:
    """A number for a calculator: significant digits, no separators.

    >>> plain(192512), plain(0.0015), plain(1.0), plain(-2.5)
    ('192512', '0.0015', '1', '-2.5')
    """
    text = significant(value, digits).replace(",", "").replace("−", "-")
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def total(terms: Sequence[str]) -> str:
    """A sum of terms, in numbers."""
    return " + ".join(terms) or "0"


def shown(value: float, unit: str) -> str:
    """A value with its unit as people read it: seconds as ms, bytes in their largest unit.

    >>> shown(0.164, "s"), shown(15.36e12, "bytes"), shown(0.757, "share"), shown(190.58, "$/h"), shown(8.5, "servers")
    ('164 ms', '15.4 TB', '75.7 %', '$190.58/h', '8.50 servers')
    """
    if unit == "s":
        return ms(value)
    if unit == "bytes" or unit.startswith("bytes/"):
        return size(value) + unit.removeprefix("bytes")
    if unit == "share":
        return percent(value, 1)
    if unit == "$/h":
        return f"{usd(value)}/h"
    return f"{number(value) if value == round(value) else significant(value)} {unit}".rstrip()


def to_text(system: System, found: Evaluation, heading: str) -> str:
    """The derivation for a terminal."""
    lines = paragraph(safe(heading, 300), indent=0)
    for section in derive(system, found):
        if section.steps:
            lines += ["", section.title]
        for step in section.steps:
            lines += step_lines(step)
    lines += ["", "Binding", *binding_lines(found)]
    if found.notes:
        lines += [
            "",
            "Estimates",
            *(line for note in found.notes for line in paragraph(f"- {safe(note, 400)}", hang=2)),
        ]
    return "\n".join(lines) + "\n"


def step_lines(step: Step) -> list[str]:
    """A step on two lines, or one where the formula is a look-up."""
    value = shown(step.value, step.unit)
    verdict = ""
    if step.limit is not None:
        key = f" ({step.limit_key})" if step.limit_key else ""
        verdict = f" {'≤' if step.kept else '> !'} {shown(step.limit, step.unit)}{key}"
    first = f"{safe(step.name, 80)} = {step.formula}" if step.formula else safe(step.name, 80)
    return [*paragraph(first, hang=4), *paragraph(f"= {joined([step.numbers, value], ' = ')}{verdict}", 6, hang=2)]


def binding_lines(found: Evaluation) -> list[str]:
    """What holds the plan where it is, tightest first, with the rule behind each name."""
    if not found.binding:
        return ["  no promise or supply is used to within 0.1 %: whole instances leave some of each"]
    return [line for name in found.binding for line in paragraph(f"{safe(name, 60)}: {meaning(name)}", hang=4)]


def meaning(binding: str) -> str:
    """What a binding name says.

    >>> meaning("ttft_budget"), meaning("nvme_read_bandwidth")
    ('the longest path in use takes the whole TTFT', 'nvme: reads use all the bandwidth that may be used')
    """
    for ending, text in _TIER_MEANINGS.items():
        if binding.endswith(f"_{ending}"):
            return f"{safe(binding.removesuffix(f'_{ending}'), 60)}: {text}"
    return _MEANINGS.get(binding, "see: planner rules")


_MEANINGS = {
    "ttft_budget": "the longest path in use takes the whole TTFT",
    "prefill_queue": "the load is the largest that the queue admits within the TTFT",
    "prefill_utilization": "prefill is as busy as engine.max_utilization allows",
    "tpot": "a decode step takes the whole TPOT",
    "decode_slots": "every decode slot is needed",
    "transfer_bandwidth": "with one instance fewer, the nodes could not carry the KV between the pools",
    "hit_ceiling": "the hit rate is at its ceiling: more cache adds nothing",
}
_TIER_MEANINGS = {
    "fits_nodes": "capacity fills the nodes that prefill",
    "read_bandwidth": "reads use all the bandwidth that may be used",
    "write_bandwidth": "writes use all the bandwidth",
    "endurance": "writes use the drives' whole endurance",
    "staging": "all of it stages prefetched KV",
}
