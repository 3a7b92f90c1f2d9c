"""The pipeline: a scenario in, proven and ranked plans with the four cells and their verdict out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace as with_fields
from typing import TYPE_CHECKING

from planner import __version__
from planner.cells import CellResult, Progress, SolveSettings, preferred, solve_cell
from planner.describe import differences, headline, reasons
from planner.errors import Diagnostic, GaveUpError, StoppedError
from planner.interaction import KEYS, verdict
from planner.physics.system import System
from planner.plan import Architecture, Cell, Certificate, Evaluation, Plan, PlanSet, Status, Verdict

if TYPE_CHECKING:
    from planner.diagnose import Diagnosis
    from planner.scenario import Scenario

CellKey = tuple[Architecture, bool]
VERIFY = (("presolve off", {"presolve": "off"}), ("random seed 7", {"random_seed": 7}))


def solve_scenario(
    scenario: Scenario,
    *,
    plans: int | None = None,
    gap: float | None = None,
    time_limit_s: float | None = None,
    verify: bool = False,
    write_lp: str | None = None,
    progress: Progress | None = None,
    stop: Callable[[], bool] | None = None,
    with_verdict: bool = True,
    with_advice: bool = True,
) -> PlanSet:
    """Solve ``scenario``: ranked plans, their certificate, the four cells and whether combining pays.

    Args:
        scenario: from :func:`planner.scenario.load`.
        plans: how many ranked plans; default ``solve.plans``.
        gap: relative gap to prove; default ``solve.gap``.
        time_limit_s: seconds for everything; default ``solve.time_limit_s``.
        verify: solve the deciding models again with other solver settings.
        write_lp: write the first plan's optimisation model to this file.
        progress: called with a line per step.
        stop: polled; when true, what is known so far is returned.
        with_verdict: whether to solve for the interaction verdict.
        with_advice: whether to search for what would make an impossible request possible.

    Raises:
        GaveUpError: a limit was hit before any plan was found.
        StoppedError: ``stop`` said so before any plan was found.
    """
    started = time.perf_counter()
    limit = time_limit_s if time_limit_s is not None else scenario.solve.time_limit_s
    settings = SolveSettings(scenario.solve.gap if gap is None else gap, started + limit, stop)
    say = progress or (lambda _: None)
    system = System(scenario)
    cells = _solve_cells(system, scenario, settings, plans or scenario.solve.plans, say)
    say("ranking")
    ranked = _ranked(cells, plans or scenario.solve.plans, settings)
    if not ranked:
        _refuse_to_guess(cells, limit)
    certificate = _certificate(cells, ranked, settings, started)
    if verify and ranked:
        say("solving again with other solver settings")
        certificate = _verified(system, scenario, cells, certificate, settings)
    if write_lp and ranked:
        _write_lp(cells, ranked[0], write_lp)
    outcome: Verdict | None = None
    left_out: tuple[str, ...] = ()
    if with_verdict and ranked and len(scenario.deployment.architectures) > 1:
        say("verdict")
        outcome, left_out = _verdict(system, cells, settings)
    advice = None
    if with_advice and not ranked:
        say("what would make it possible")
        advice = _advice(system, settings)
    status: Status = "infeasible"
    if ranked:
        status = "optimal" if certificate is not None and certificate.proven else "feasible"
    return PlanSet(
        scenario_name=scenario.name,
        scenario_file=scenario.file,
        scenario_sha256=scenario.sha256,
        headline=headline(system),
        planner_version=__version__,
        status=status,
        certificate=certificate,
        plans=tuple(Plan(i + 1, p, differences(ranked[0], p) if i else ()) for i, p in enumerate(ranked)),
        cells=tuple(_cell(key, cells[key], settings) for key in KEYS if key in cells),
        verdict=outcome,
        defaults=tuple(scenario.defaults),
        sources=tuple(scenario.sources),
        warnings=tuple(w.message for w in scenario.warnings)
        + _limit_warnings(cells)
        + _verify_warnings(certificate, verify)
        + left_out,
        reasons=reasons(scenario, advice) if advice else (),
        conflicts=advice.conflicts if advice else (),
        fixes=advice.fixes if advice else (),
        seconds=time.perf_counter() - started,
        versions=_versions(),
    )


def _solve_cells(
    system: System, scenario: Scenario, settings: SolveSettings, keep: int, say: Progress
) -> dict[CellKey, CellResult]:
    """The four cells; tiered ones carry the model and keep enough designs to rank."""
    cells: dict[CellKey, CellResult] = {}
    ranking_limit = math.inf
    architectures = scenario.deployment.architectures
    for i, architecture in enumerate(architectures):
        share = settings.share(len(architectures) - i)
        say(f"{architecture}, HBM only")
        cells[architecture, False] = solve_cell(system, architecture, False, share)
        say(f"{architecture}, with tiers")
        cells[architecture, True] = solve_cell(
            system, architecture, True, share, keep=keep, ranking_limit=ranking_limit, use_model=True
        )
        if cells[architecture, True].best is not None:
            costs = [d.usd_floor for d in cells[architecture, True].candidates.designs]
            ranking_limit = min(ranking_limit, max(costs))
    for cell in cells.values():  # what one architecture left of its share, the other may use
        if cell.prover is not None and cell.proof.interrupted == "time limit" and not settings.halted():
            cell.proof.interrupted = ""
            cell.prover.prove(cell.proof, settings.deadline)
    for architecture in architectures:
        plain, tiered = cells[architecture, False].proof, cells[architecture, True].proof
        if plain.best is not None and plain.cost < tiered.cost:  # a search cut short missed that tiers need not be used
            tiered.best, tiered.cost = plain.best, plain.cost
    return cells


def _ranked(cells: dict[CellKey, CellResult], count: int, settings: SolveSettings) -> list[Evaluation]:
    """The cheapest plans of different structure, each proven by the model without the structures before it."""
    heads = {key: cell.best for key, cell in cells.items() if key[1] and cell.best is not None}
    ranked: list[Evaluation] = []
    while heads and len(ranked) < count:
        key = min(heads, key=lambda k: _Order(heads[k]))
        best = heads.pop(key)
        assert best is not None
        ranked.append(best)
        if len(ranked) == count or settings.halted():
            break
        following = _next(cells[key], ranked, settings)
        if following is not None:
            heads[key] = following
    return ranked


class _Order:
    """Sort key of plans: cost, then simplicity."""

    def __init__(self, plan: Evaluation | None) -> None:
        assert plan is not None
        self.plan = plan

    def __lt__(self, other: _Order) -> bool:
        return preferred(self.plan, other.plan)


def _next(cell: CellResult, ranked: list[Evaluation], settings: SolveSettings) -> Evaluation | None:
    """The cell's cheapest plan of a structure not ranked yet."""
    from planner.milp.solve import Proof

    if cell.prover is None:
        return None
    seen = {plan.decision.structure() for plan in ranked}
    cell.prover.exclude_structure(ranked[-1].decision.structure())
    while not settings.halted():
        found = cell.prover.prove(Proof(-math.inf), settings.deadline).best
        if found is None or found.decision.structure() not in seen:
            return found
        cell.prover.exclude_chosen()  # a design that left a tier empty is the structure without that tier
    return None


def _certificate(
    cells: dict[CellKey, CellResult], ranked: list[Evaluation], settings: SolveSettings, started: float
) -> Certificate | None:
    """Bound over both architectures against the first plan's exact cost."""
    from planner.milp.highs import solver_name

    if not ranked:
        return None
    proofs = [cell.proof for key, cell in cells.items() if key[1]]
    usd = ranked[0].usd_per_hour
    bound = min(min(p.bound for p in proofs), usd)
    gap = (usd - bound) / usd if usd > 0 else 0.0
    rounds = max(p.rounds for p in proofs)
    return Certificate(bound, usd, gap, settings.gap, rounds, time.perf_counter() - started, solver_name())


def _verified(
    system: System,
    scenario: Scenario,
    cells: dict[CellKey, CellResult],
    certificate: Certificate | None,
    settings: SolveSettings,
) -> Certificate | None:
    """The certificate with the solver settings that confirmed it; the weaker bound counts."""
    if certificate is None:
        return None
    confirmed, bound = [], certificate.usd_per_hour_lower_bound
    for label, change in VERIFY:
        again = with_fields(settings, **change)
        found = [solve_cell(system, a, True, again, use_model=True).proof for a in scenario.deployment.architectures]
        bound = min(bound, *(p.bound for p in found))
        cost = min(p.cost for p in found)
        if math.isclose(cost, certificate.usd_per_hour, rel_tol=max(2 * settings.gap, 1e-6)):
            confirmed.append(label)
    gap = (certificate.usd_per_hour - bound) / certificate.usd_per_hour
    return with_fields(
        certificate, usd_per_hour_lower_bound=bound, relative_gap=max(gap, 0.0), verified_by=tuple(confirmed)
    )


def _verify_warnings(certificate: Certificate | None, verify: bool) -> tuple[str, ...]:
    """Solver settings under which the cost was not found again: then the certificate is not to be relied on."""
    if not verify or certificate is None:
        return ()
    missing = [label for label, _ in VERIFY if label not in certificate.verified_by]
    return tuple(
        f"not verified: with {label} the solver ended at another cost; do not rely on this plan" for label in missing
    )


def _cell(key: CellKey, cell: CellResult, settings: SolveSettings) -> Cell:
    from planner.milp.highs import solver_name

    proof = cell.proof
    if cell.best is None:
        why = f"stopped early ({proof.interrupted})" if proof.interrupted else "no configuration keeps every promise"
        return Cell(*key, None, None, why)
    bound = min(proof.bound, proof.cost)
    name = solver_name() if cell.prover is not None else "enumeration"
    made = Certificate(bound, proof.cost, proof.gap, settings.gap, proof.rounds, proof.seconds, name)
    return Cell(*key, cell.best, made)


def _write_lp(cells: dict[CellKey, CellResult], best: Evaluation, path: str) -> None:
    from planner.milp.build import build, write_lp

    prover = cells[best.decision.architecture, True].prover
    if prover is not None:
        write_lp(build(prover.data), path, prover.data)


def _refuse_to_guess(cells: dict[CellKey, CellResult], limit_s: float) -> None:
    """Without a plan, "impossible" is only said where the search was complete."""
    stopped = {cell.proof.interrupted for cell in cells.values()} - {""}
    if "interrupted" in stopped:
        raise StoppedError("interrupted before there was a plan")
    if "time limit" in stopped:
        hint = "raise solve.time_limit_s, or --time-limit"
        raise GaveUpError(Diagnostic("time-limit", f"no plan was found within {limit_s:g} s", hint=hint))
    if stopped:
        hint = "solve again with another gap (solve.gap)"
        raise GaveUpError(Diagnostic("solver", f"no plan was found: {', '.join(sorted(stopped))}", hint=hint))


def _advice(system: System, settings: SolveSettings) -> Diagnosis:
    from planner.diagnose import diagnose

    return diagnose(system, settings)


def _verdict(
    system: System, cells: dict[CellKey, CellResult], settings: SolveSettings
) -> tuple[Verdict | None, tuple[str, ...]]:
    """The verdict, or none and a warning where it would rest on solves that were cut short."""
    found = None if settings.halted() else verdict(system, cells, settings)
    if why := settings.halted():
        return None, (f"stopped early ({why}): whether combining pays was not found out",)
    return found, ()


def _limit_warnings(cells: dict[CellKey, CellResult]) -> tuple[str, ...]:
    stopped = {cell.proof.interrupted for cell in cells.values() if cell.proof.interrupted}
    return tuple(f"stopped early ({why}): plans may be improved on within the gap shown" for why in sorted(stopped))


def _versions() -> tuple[tuple[str, str], ...]:
    import platform
    from importlib.metadata import version

    from planner.milp.highs import solver_name

    return (
        ("planner", __version__),
        ("pyomo", version("pyomo")),
        ("solver", solver_name()),
        ("python", platform.python_version()),
    )
