"""Keeps the garbage collector away from what lives on between tasks.

PySpark's daemon collects garbage after every task, before the worker takes the next one, and a full collection looks
at every object of the process: modules, functions and the state that operators hold. That took 30 ms and more per
task, once between the levels of an epoch and once between two epochs, and it grew with the state.

So whatever has survived the collection behind the last task is frozen when the next one begins. The daemon's
collection then sees only what the task itself has made. Cycles that become garbage later than in their first
task are found by a collection of everything, which comes so rarely that it takes at most a hundredth of the time.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

LEAST_SECONDS = 30.0
"""Between two collections of everything."""
_SHARE = 0.01
_THRESHOLDS = (50_000, 20, 50)
"""Of the collections inside a task. An epoch makes hundreds of thousands of tuples that live to its end. With those
of Python, 700 10 10, looking at them again and again took a sixth of the time of a pattern over 10,000 keys."""


class SurvivorsOfTasks:
    """Decides, before each task of this process, what the collector has to look at."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next_full = 0.0

    def before_task(self) -> None:
        """Freezes what is alive; every now and then only after a collection of everything."""
        if self._clock() >= self._next_full:
            self._collect_everything()
        gc.freeze()
        gc.set_threshold(*_THRESHOLDS)

    def expect_garbage(self) -> None:
        """Something large was given up, a stage with its state: it goes when the next task begins."""
        self._next_full = 0.0

    def _collect_everything(self) -> None:
        started = self._clock()
        gc.unfreeze()
        gc.collect()
        ended = self._clock()
        self._next_full = ended + max(LEAST_SECONDS, (ended - started) / _SHARE)


SURVIVORS = SurvivorsOfTasks()
