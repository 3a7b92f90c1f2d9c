"""Work spread over fresh processes of this machine, whose answers arrive one by one and which end at once when told to.

Forking after a solve can hang the solver, so processes are spawned. Ctrl-C reaches only the process that asked: the
others never see it, print nothing, and are ended. One that dies (out of memory) takes with it only what it had not yet
answered; that is asked of another.
"""

from __future__ import annotations

import contextlib
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context, resource_tracker, set_start_method
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from planner.errors import PlannerError

POLL_S = 0.05
RETRIES = 3  # a unit of work may lose this many processes
Stop = Callable[[], bool]
T = TypeVar("T")
R = TypeVar("R")


@dataclass
class _Worker:
    process: Any
    answers: Connection
    item: int = -1  # what it works at; -1 where it is idle


def spread(
    function: Callable[[T], Iterable[R]], items: Sequence[T], jobs: int, stop: Stop = lambda: False
) -> Iterator[tuple[int, R]]:
    """Every answer of ``function(items[i])`` with its ``i``, in the order in which they come.

    Args:
        function: found by its name in its module; it runs elsewhere.
        items: what can be pickled.
        jobs: processes.
        stop: polled; when it turns true the processes are ended and no more answers come.

    Raises:
        PlannerError: An item ended several processes, or the function raised one.
    """
    waiting, died = deque(range(len(items))), Counter[int]()
    workers: list[_Worker] = []
    try:
        while waiting or any(w.item >= 0 for w in workers):
            for worker in _idle(workers, min(jobs, len(items)), function, len(waiting)):
                worker.item = waiting.popleft()
                with contextlib.suppress(OSError):  # a process that is gone shows below
                    worker.answers.send(items[worker.item])
            for ready in wait([w.answers for w in workers], POLL_S):
                worker = next(w for w in workers if w.answers is ready)
                kind, answer = _received(worker)
                if kind == "answer":
                    yield worker.item, answer
                    continue
                if kind == "failed":
                    raise answer[0](*answer[1])
                if kind == "died":
                    workers.remove(worker)
                    _once_more(worker.item, waiting, died)
                worker.item = -1
            if stop():
                return
    finally:
        _end(workers)


def _received(worker: _Worker) -> tuple[str, Any]:
    try:
        kind, answer = worker.answers.recv()
        return str(kind), answer
    except (EOFError, OSError):
        return "died", None


def _once_more(item: int, waiting: deque[int], died: Counter[int]) -> None:
    if item < 0:
        return
    died[item] += 1
    if died[item] > RETRIES:
        raise PlannerError("a process died again and again at the same work; is memory short?")
    waiting.append(item)


def _idle(workers: list[_Worker], most: int, function: Callable[[Any], Iterable[Any]], wanted: int) -> list[_Worker]:
    """Up to ``wanted`` processes without work, started where there are fewer than ``most``."""
    free = [w for w in workers if w.item < 0][:wanted]
    while len(free) < wanted and len(workers) < most:
        workers.append(_start(function))
        free.append(workers[-1])
    return free


def _start(function: Callable[[Any], Iterable[Any]]) -> _Worker:
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(function, there), daemon=True)
    with _without_interrupt():
        process.start()
    there.close()
    return _Worker(process, here)


@contextlib.contextmanager
def _without_interrupt() -> Iterator[None]:
    """What starts within never gets SIGINT; one that comes meanwhile reaches this process afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # it lets SIGINT through again when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end(workers: Sequence[_Worker]) -> None:
    for worker in workers:
        worker.process.kill()
        worker.answers.close()
    for worker in workers:
        worker.process.join(0.2)


def _serve(function: Callable[[Any], Iterable[Any]], asked: Connection) -> None:
    """The other process: work as long as it is asked to."""
    with contextlib.suppress(ValueError):  # a lock that Pyomo makes would be left behind, with a warning
        set_start_method("fork", force=True)
    with contextlib.suppress(EOFError, OSError):
        while True:
            for answer in _answers(function, asked.recv()):
                asked.send(answer)


def _answers(function: Callable[[Any], Iterable[Any]], item: Any) -> Iterator[tuple[str, Any]]:
    try:
        for answer in function(item):
            yield "answer", answer
    except Exception as error:
        told = _told(error)
        yield "failed", (type(told), told.diagnostics)
    yield "done", None


def _told(error: Exception) -> PlannerError:
    if isinstance(error, PlannerError):
        return error
    return PlannerError(f"a process failed: {type(error).__name__}: {' '.join(str(error).split())[:200]}")
