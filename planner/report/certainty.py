"""How sure the plan's times are: the engine's correction, and the band that held 80 % of unseen measurements."""

from __future__ import annotations

import re

from planner.physics.corrected import corrected_backend, own_numbers
from planner.plan import Evaluation
from planner.report.format import ms, percent, safe
from planner.report.reread import StoredSet
from planner.scenario import Scenario

_OWN = re.compile(
    r"in (?P<rows>\d+) measurements of this very model on (?P<build>.{1,80}?), TPOT was (?P<tpot>[\d.]+) and TTFT "
    r"(?P<ttft>[\d.]+) times these"
)
_MEDIAN = re.compile(r"half lay above (?P<tpot>[+\N{MINUS SIGN}]\d+ %) and (?P<ttft>[+\N{MINUS SIGN}]\d+ %)")
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


ASK = "slo.confidence: 0.9 asks for a plan that keeps the limits there too, where there is one."
FRONT_END, FAR = "far from anything measured: ", "far from anything measured ("  # notes begin so


def basis(scenario: Scenario | None, found: Evaluation) -> str:
    """What the times rest on, in a few words; empty where the scenario is not known."""
    if scenario is None:
        return ""
    if own_numbers(scenario):
        return "own times"
    if scenario.slo.confidence is not None:
        upper = f"upper end at {percent(scenario.slo.confidence)}"
        return upper if corrected_backend(scenario) else f"{upper}, not corrected"
    notes = found.notes
    if found.tpot_error is None:
        return "not corrected: error not known"
    if any(note.startswith(FRONT_END) for note in notes):
        return "front end only, model not measured"
    far = any(note.startswith(FAR) for note in notes)
    return f"corrected, model measured{', this plan beyond it' if far else ''}"


def unmeasured(found: Evaluation) -> list[str]:
    """How far the plan is from what was measured, in short, from its notes: two sentences at most."""
    told = []
    if any(note.startswith(FRONT_END) for note in found.notes):
        told.append("This model was not measured on this engine: the error is that of other models.")
    elif any(note.startswith(FAR) for note in found.notes):
        told.append("The plan goes beyond what was measured (under Assumptions).")
    for note in found.notes:
        if (m := _OWN.match(note)) is not None:
            told.append(
                f"{m['rows']} measurements of this very model on {safe(m['build'], 40)} had TPOT {m['tpot']} and TTFT "
                f"{m['ttft']} times these: taken for another build, so not in the error; measure yours before buying."
            )
    return told


def mark(found: Evaluation) -> str:
    """The same in a few words, for beside a figure."""
    if any(note.startswith(FRONT_END) for note in found.notes):
        return "not measured on this engine: see below"
    return "beyond what was measured: see below" if unmeasured(found) else ""


def median_text(found: Evaluation) -> str:
    """Where half of the measurements lay, where that is not nearly at what was predicted."""
    medians = (_MEDIAN.search(note) for note in found.notes)
    m = next((m for m in medians if m is not None), None)
    return f"; half lay above {m['tpot']} and {m['ttft']}" if m is not None else ""


def sentence(stored: StoredSet, found: Evaluation) -> str:
    """What is known of the error of the times, and what it means for the limits."""
    if stored.scenario is None:
        return ""
    slo = stored.scenario.slo
    far = " ".join(["", *unmeasured(found)])
    if slo.confidence is not None and not own_numbers(stored.scenario):
        return (
            f"planned at the upper end of {percent(slo.confidence)} confidence: TPOT and the first token keep their "
            f"limits there.{far}"
        )
    tpot, ttft = errors(stored, found)
    if tpot is None or ttft is None:
        return _unknown(stored)
    first = max((path.total_s for path in found.paths if path.in_use), default=0.0)
    text = (
        f"TPOT {ms(found.tpot_s)}{band(tpot)}, slowest first token {ms(first)}{band(ttft)} (80 % of measurements that "
        f"the correction had not seen lay within{median_text(found)})"
    )
    upper = {"the first token": (first * (1 + ttft[1]), slo.ttft_ms / 1e3),
             "TPOT": (found.tpot_s * (1 + tpot[1]), slo.tpot_ms / 1e3)}  # fmt: skip
    broken = [f"{name} {ms(most)}, over {ms(limit)}" for name, (most, limit) in upper.items() if most > limit * 1.001]
    if not broken:
        return f"{text}.{far} Slower engines also fill queues. {ASK}"
    return f"{text}.{far} At the upper end: {'; '.join(broken)}. {ASK}"


def _unknown(stored: StoredSet) -> str:
    engine = stored.scenario.engine if stored.scenario else None
    if engine is not None and engine.timing.lower().endswith(".csv"):
        return "from a timing table of your own, taken as they are; its error is not known here."
    if stored.scenario is not None and own_numbers(stored.scenario):
        return "from numbers of your own (engine.roofline), taken as they are; their error is not known here."
    if engine is not None and engine.correction == "none":
        return (
            "kernel times, not corrected by measurements of running engines, and their error is not stated; "
            "engine.correction: default does both."
        )
    return "as packaged or as the scenario gives them, not corrected by measurements; their error is not known."
