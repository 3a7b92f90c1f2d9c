"""How sure the plan's times are: the engine's correction, and the band that held 80 % of unseen measurements."""

from __future__ import annotations

from planner.plan import Evaluation
from planner.report.format import ms, percent
from planner.report.reread import StoredSet

Range = tuple[float, float]  # below and above what the plan says, relative


def band(error: Range | None) -> str:
    """The band of a time as text.

    >>> band((-0.12, 0.12)), band((-0.1, 0.23)), band(None)
    (' ± 12 %', ' −10 … +23 %', '')
    """
    if error is None:
        return ""
    low, high = error
    if abs(low + high) < 0.01:
        return f" ± {percent(high)}"
    return f" {_signed(low)} … {_signed(high)} %"


def _signed(share: float) -> str:
    return f"{100 * share:+.0f}".replace("-", "\N{MINUS SIGN}")


def errors(stored: StoredSet, found: Evaluation) -> tuple[Range | None, Range | None]:
    """Bands of TPOT and of the first token around what the plan says.

    None where none is stated, and where the plan already says the upper end (``slo.confidence``).
    """
    upper = stored.scenario is not None and stored.scenario.slo.confidence is not None
    return (None, None) if upper else (found.tpot_error, found.ttft_error)


def sentence(stored: StoredSet, found: Evaluation) -> str:
    """What is known of the error of the times, and what it means for the limits."""
    if stored.scenario is None:
        return ""
    slo = stored.scenario.slo
    if slo.confidence is not None:
        return (
            f"planned at the upper end of {percent(slo.confidence)} confidence: TPOT and the first token keep their "
            "limits there."
        )
    tpot, ttft = errors(stored, found)
    if tpot is None or ttft is None:
        return _unknown(stored)
    first = max((path.total_s for path in found.paths if path.in_use), default=0.0)
    text = (
        f"TPOT {ms(found.tpot_s)}{band(tpot)}, slowest first token {ms(first)}{band(ttft)} (80 % of measurements that "
        "the correction had not seen lay within)"
    )
    upper = {"the first token": (first * (1 + ttft[1]), slo.ttft_ms / 1e3),
             "TPOT": (found.tpot_s * (1 + tpot[1]), slo.tpot_ms / 1e3)}  # fmt: skip
    broken = [f"{name} {ms(most)}, over {ms(limit)}" for name, (most, limit) in upper.items() if most > limit * 1.001]
    if not broken:
        return f"{text}. Slower engines also fill queues: slo.confidence: 0.9 plans for the upper end."
    return f"{text}. At the upper end: {'; '.join(broken)}. slo.confidence: 0.9 plans for that."


def _unknown(stored: StoredSet) -> str:
    engine = stored.scenario.engine if stored.scenario else None
    if engine is not None and engine.timing.lower().endswith(".csv"):
        return "from a timing table of your own, taken as they are; its error is not known here."
    if engine is not None and engine.correction == "none":
        return (
            "kernel times, not corrected by measurements of running engines, and their error is not stated; "
            "engine.correction: default does both."
        )
    return "as packaged or as the scenario gives them, not corrected by measurements; their error is not known."
