"""Where a sweep's work is done: in this process, in several, or on a Dask cluster.

Workers only compute. Each answer is stored by the process that asked, when it arrives: a worker that dies takes with it
only what it was computing, which is then computed again elsewhere.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from planner.errors import PlannerError
from planner.study.sweep import Row, Runner, Work, solved

RETRIES = 5  # a unit of work may lose this many workers


def processes(jobs: int) -> Runner:
    """``jobs`` fresh processes on this machine; forking after a solve can hang the solver, so they are spawned."""

    def run(work: Sequence[Work]) -> Iterator[list[tuple[str, Row]]]:
        from concurrent.futures import ProcessPoolExecutor, as_completed
        from multiprocessing import get_context

        if not work:
            return
        pool = ProcessPoolExecutor(min(jobs, len(work)), mp_context=get_context("spawn"))
        try:
            for future in as_completed([pool.submit(solved, unit) for unit in work]):
                yield future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

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
        client: Any = Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise PlannerError(f"no Dask scheduler answers at {address}: {' '.join(str(error).split())[:120]}") from None

    def run(work: Sequence[Work]) -> Iterator[list[tuple[str, Row]]]:
        from distributed import as_completed

        with contextlib.closing(client):
            futures = client.map(solved, list(work), pure=False, retries=RETRIES)
            for future in as_completed(futures, loop=client.loop):
                yield future.result()
                future.release()

    return run
