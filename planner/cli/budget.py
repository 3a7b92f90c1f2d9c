"""``planner budget``: several services, one budget."""

from __future__ import annotations

import gc
import itertools
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.study import FormatOption, OutputOption, QuietOption, VerboseOption

if TYPE_CHECKING:
    from planner.scenario import Scenario


def budget(
    scenarios: Annotated[
        list[Path], typer.Argument(help="Scenario files, one per service.", metavar="SCENARIO...", show_default=False)
    ],
    usd_per_month: Annotated[
        float | None, typer.Option(min=0.0, help="Dollars a month (730 h) for all of them.", metavar="X")
    ] = None,
    max_gpus: Annotated[float | None, typer.Option(min=0.0, help="GPUs for all of them.", metavar="N")] = None,
    max_dram_gb: Annotated[float | None, typer.Option(min=0.0, help="GB of the tier dram.", metavar="N")] = None,
    max_nvme_gb: Annotated[float | None, typer.Option(min=0.0, help="GB of the tier nvme.", metavar="N")] = None,
    weights: Annotated[
        str | None, typer.Option(help="Worth of a million tokens: chat=2,rag=0.5; 1 by default.", metavar="LIST")
    ] = None,
    load_: Annotated[
        str | None, typer.Option("--load", help="Times its load (and max_gpus): chat=3, or 3 for all.", metavar="LIST")
    ] = None,
    levels: Annotated[str, typer.Option(help="Shares of its load that a service may get.", metavar="LIST")] = (
        "1,0.75,0.5,0.25"
    ),
    structures: Annotated[int, typer.Option(min=1, max=50, help="Designs kept per level.", metavar="N")] = 5,
    serve_all: Annotated[bool, typer.Option("--serve-all", help="Serve everything, at least cost, or say no.")] = False,
    time_limit: Annotated[float, typer.Option(min=0.001, help="Seconds for the choice.", metavar="S")] = 60.0,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, max=256, help="Processes; default: as pays.", metavar="N")
    ] = None,
    format_: FormatOption = None,
    output: OutputOption = None,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> int:
    """Which service gets which plan, so that the most value is served within the limits, at least cost.

    Exit codes: 0 chosen, 1 the limits cannot be met (--serve-all), 2 bad input, 3 gave up, 130 interrupted.
    """
    gc.disable()
    from planner.cli.session import INTERRUPTED, Session
    from planner.cli.study import check_output, deliver, named_in, wanted_format
    from planner.report import study_budget as render
    from planner.scenario import load
    from planner.scenario.loader import located
    from planner.study.budget import budget as compute
    from planner.study.columns import Wanted, services_of

    session = Session(quiet=quiet, verbose=verbose)
    check_output(output, scenarios)
    limits = _limits(usd_per_month, max_gpus, max_dram_gb, max_nvme_gb)
    loaded = [load(path) for path in scenarios]
    check_output(output, [path for one in loaded for path in named_in(one)])
    names = _names(loaded)
    worth, factors = _by_name(weights, names, "--weights"), _by_name(load_, names, "--load")
    shares = tuple(_number(part, "--levels") for part in levels.split(","))
    wanted = [
        Wanted(located(_scaled(s, factors.get(n, 1.0))).model_dump_json(), n, worth.get(n, 1.0), shares, structures)
        for s, n in zip(loaded, names, strict=True)
    ]
    with session.progress() as progress, session.interruptible() as stop:
        services = services_of(wanted, jobs=jobs, stop=stop, progress=progress)
        found = compute(services, limits, serve_all=serve_all, time_limit_s=time_limit, stop=stop)
    if found is None:
        raise render.cannot_serve_all(services, limits)
    deliver(
        session, wanted_format(format_, output), output,
        table=lambda: render.to_table(found), data=lambda: render.to_data(found), csv=lambda: render.to_csv(found),
        markdown=lambda: render.to_markdown(found),
    )  # fmt: skip
    for note in render.idle_limits(found, loaded):
        session.say(f"warning: {note}")
    session.say(render.certificate_line(found))
    if found.interrupted:
        session.say("interrupted: the answer is what was known by then")
    return INTERRUPTED if found.interrupted else 0


def _limits(
    usd_per_month: float | None, gpus: float | None, dram_gb: float | None, nvme_gb: float | None
) -> dict[str, float]:
    """The stated limits by resource: dollars an hour, GPUs, GB."""
    from planner.cli.session import within
    from planner.study.budget import HOURS_PER_MONTH

    stated = {
        "usd": ("--usd-per-month", usd_per_month), "gpus": ("--max-gpus", gpus), "dram": ("--max-dram-gb", dram_gb),
        "nvme": ("--max-nvme-gb", nvme_gb),
    }  # fmt: skip
    checked = {resource: within(flag, limit, 0.0, 1e15) for resource, (flag, limit) in stated.items()}
    unit = {"usd": 1 / HOURS_PER_MONTH}
    return {resource: limit * unit.get(resource, 1.0) for resource, limit in checked.items() if limit is not None}


def _names(loaded: list[Scenario]) -> list[str]:
    """Scenario names, numbered where they repeat."""
    own = {scenario.name for scenario in loaded}
    out: list[str] = []
    for scenario in loaded:
        numbered = (f"{scenario.name}-{n}" for n in itertools.count(2))
        name = scenario.name if scenario.name not in out else next(n for n in numbered if n not in own and n not in out)
        out.append(name)
    return out


def _scaled(scenario: Scenario, factor: float) -> Scenario:
    from planner.scenario import replace

    if factor == 1:
        return scenario
    rate, most = scenario.workload.requests_per_second, scenario.deployment.max_gpus
    grown = min(100_000, max(most, math.ceil(most * factor)))  # the limit of one service grows with it
    return replace(scenario, {"workload.requests_per_second": rate * factor, "deployment.max_gpus": grown})


def _by_name(text: str | None, names: list[str], flag: str) -> dict[str, float]:
    """``chat=2,rag=1`` or one number for all."""
    from planner.errors import InputError

    if text is None:
        return {}
    if "=" not in text:
        return dict.fromkeys(names, _number(text, flag))
    out: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name.strip() in out:
            raise InputError(f"{flag}: {name.strip()!r} stands there twice")
        if name.strip() not in names:
            raise InputError(f"{flag}: no service is called {name.strip()!r}; they are {', '.join(names)}")
        out[name.strip()] = _number(value, flag)
    return out


def _number(text: str, flag: str) -> float:
    from planner.errors import InputError

    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1e12 or (flag == "--levels" and value > 1):
        raise InputError(f"{flag}: {text.strip()!r} is no number above 0" + (" up to 1" if flag == "--levels" else ""))
    return value
