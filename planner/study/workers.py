"""Where a sweep's work is done: in this process, in several, or on a Dask cluster.

Workers only compute. Each answer is stored by the process that asked, when it arrives: a worker that dies takes with it
only what it was computing, which is then computed again elsewhere.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import Any

from planner.errors import PlannerError
from planner.study.processes import POLL_S, Stop, spread
from planner.study.sweep import Row, Runner, Work, solve_work, solved

ANSWERS_WITHIN_S = 10.0  # a scheduler, when it is greeted
RETRIES = 5  # a unit of work may lose this many workers


def processes(jobs: int) -> Runner:
    """``jobs`` fresh processes on this machine; every point is told as soon as it is solved."""

    def run(work: Sequence[Work], stop: Stop) -> Iterator[list[tuple[str, Row]]]:
        return ([answer] for _, answer in spread(solve_work, work, jobs, stop))

    return run


def dask_cluster(address: str) -> Runner:
    """A Dask scheduler at ``address`` (``tcp://host:8786``); its workers need the planner installed.

    Raises:
        PlannerError: Dask is not installed, or nothing answers there.
    """
    try:
        from distributed import Client
    except ImportError:
        raise PlannerError("--dask needs Dask: pip install 'kvtier-planner[dask]'") from None
    try:
        client: Any = Client(address, timeout=ANSWERS_WITHIN_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise PlannerError(f"no Dask scheduler answers at {address}: {' '.join(str(error).split())[:120]}") from None

    def run(work: Sequence[Work], stop: Stop) -> Iterator[list[tuple[str, Row]]]:
        from distributed import as_completed

        with contextlib.closing(client):
            futures = client.map(solved, list(work), pure=False, retries=RETRIES)
            answers = as_completed(futures, loop=client.loop)
            while not answers.is_empty():
                for future in answers.next_batch(block=False):
                    yield future.result()
                    future.release()
                if stop():
                    client.cancel(futures)
                    return
                time.sleep(POLL_S)

    return run
