"""Where a sweep's work is done: in this process, in several, or on a Dask cluster.

Workers only compute. Each answer is stored by the process that asked, when it arrives: a worker that dies takes with it
only what it was computing, which is then computed again elsewhere.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator, Sequence
from typing import Any

from planner.errors import PlannerError
from planner.study.cache import package_digest
from planner.study.processes import POLL_S, Stop, spread
from planner.study.sweep import OTHER_PLANNER, LostError, Row, Runner, Work, solve_work, solved

ANSWERS_WITHIN_S = 10.0  # a scheduler, when it is greeted
LOST = {"FutureCancelledError", "CancelledError", "CommClosedError", "TimeoutError", "ClosedClientError"}
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
        raise PlannerError("--dask needs Dask: pip install '.[dask]' in the planner's checkout") from None
    for name in ("distributed", "distributed.client", "distributed.utils"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what is lost is told in one line, not as their traceback
    try:
        client: Any = Client(address, timeout=ANSWERS_WITHIN_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise PlannerError(f"no Dask scheduler answers at {address}: {_line(error)}") from None
    _check_planners(client)

    def run(work: Sequence[Work], stop: Stop) -> Iterator[list[tuple[str, Row]]]:
        from distributed import as_completed

        with contextlib.closing(client):
            try:
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
            except Exception as error:
                raise _failure(error, address) from None

    return run


def _check_planners(client: Any) -> None:
    """Every worker that is there runs this very planner; those that join later are asked with their work.

    Raises:
        PlannerError: One runs another, or none.
    """
    here = package_digest()
    for worker, digest in client.run(package_digest, on_error="return").items():
        if isinstance(digest, Exception):
            client.close()
            raise PlannerError(f"the Dask worker {worker} cannot run the planner: {_line(digest)}")
        if digest != here:
            client.close()
            raise PlannerError(f"the Dask worker {worker} runs {OTHER_PLANNER}")


def _failure(error: Exception, address: str) -> PlannerError:
    """What went wrong on a cluster, by the names of Dask's errors."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if kinds & LOST:
        return LostError(f"the Dask scheduler at {address} was lost")
    if "KilledWorker" in kinds:
        return LostError("Dask workers died again and again at the same work; is memory short?")
    if isinstance(error, PlannerError):
        return error
    return PlannerError(f"a Dask worker failed: {_line(error)}")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
