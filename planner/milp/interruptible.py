"""HiGHS that never keeps its caller waiting: it is polled, told to stop, and left behind where it does not listen.

HiGHS looks at callbacks and at its time limit between steps only; presolve and heuristics on parts of a model have been
seen to take half a minute without. So it runs in a thread of its own. When time is up and it has not ended within
``GRACE_S``, the run is abandoned: its last bound and incumbent, told by callbacks, stand; the thread ends by itself.
"""

from __future__ import annotations

import io
import math
import threading
import time
from collections.abc import Callable
from typing import Any

from pyomo.common.tee import capture_output
from pyomo.contrib.solver.solvers.highs import Highs

GRACE_S = 0.4
POLL_S = 0.05


class AbandonedError(Exception):
    """The run did not end in time; its bound and incumbent are in the watch."""


class Watch:
    """What is known of a run while it goes on, and whether it is to end."""

    def __init__(self, stop: Callable[[], bool] | None) -> None:
        """Poll ``stop`` from the solver's callbacks."""
        self.stop = stop
        self.begin(math.inf)

    def begin(self, time_limit_s: float) -> None:
        """Forget the run before."""
        self.ends_at = time.perf_counter() + time_limit_s
        self.bound = -math.inf
        self.values: Any = None
        self.left_behind = False

    def is_over(self) -> bool:
        """Whether the run is to end."""
        asked = self.stop is not None and self.stop()
        return asked or self.left_behind or time.perf_counter() > self.ends_at

    def poll(self, event: Any) -> None:
        """HiGHS asks whether to go on."""
        if event.data_out.mip_dual_bound < math.inf:
            self.bound = max(self.bound, float(event.data_out.mip_dual_bound))
        self.poll_simplex(event)

    def poll_simplex(self, event: Any) -> None:
        """HiGHS asks whether to go on with a linear programme."""
        if self.is_over():
            event.interrupt()

    def improved(self, event: Any) -> None:
        """HiGHS has a new incumbent."""
        self.values = event.data_out.mip_solution.copy()


class InterruptibleHighs(Highs):
    """Pyomo's persistent HiGHS, run in a thread and without its output captured."""

    def __init__(self, watch: Watch | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.watch = watch

    def set_instance(self, model: Any) -> None:
        """Load a model into a new HiGHS, which has no callbacks yet."""
        watch = self.watch
        super().set_instance(model)
        self.watch = watch
        with capture_output(io.StringIO(), capture_fd=True):  # HiGHS greets once
            self._solver_model.setOptionValue("log_to_console", False)
        if watch is not None:
            self._solver_model.cbMipInterrupt.subscribe(watch.poll)
            self._solver_model.cbSimplexInterrupt.subscribe(watch.poll_simplex)
            self._solver_model.cbMipImprovingSolution.subscribe(watch.improved)

    def _solve(self) -> Any:
        config, highs, watch = self._active_config, self._solver_model, self.watch
        options = dict(config.solver_options, threads=config.threads, time_limit=config.time_limit)
        for name, value in options.items():
            highs.setOptionValue(name, value)
        if watch is None:
            highs.run()
            return self._postsolve(io.StringIO())
        watch.begin(config.time_limit)
        ended = threading.Event()

        def work() -> None:
            try:
                highs.run()
            finally:
                ended.set()

        threading.Thread(target=work, daemon=True, name="HiGHS").start()
        self._await(ended, watch)
        return self._postsolve(io.StringIO())

    def _await(self, ended: threading.Event, watch: Watch) -> None:
        """Wait for the run's end, but not beyond ``GRACE_S`` after it should have come."""
        over_since: float | None = None
        try:
            while not ended.wait(POLL_S if over_since is None else POLL_S / 5):
                now = time.perf_counter()
                if over_since is None:
                    over_since = now if watch.is_over() else None
                elif now - over_since > GRACE_S:
                    raise AbandonedError
        finally:
            watch.left_behind = not ended.is_set()

    def load_watched(self) -> bool:
        """Put the last incumbent that the run told of into the model's variables; False where there was none."""
        values = None if self.watch is None else self.watch.values
        if values is None:
            return False
        for key, column in self._pyomo_var_to_solver_var_map.items():
            self._vars[key][0].set_value(float(values[column]), skip_validation=True)
        return True
