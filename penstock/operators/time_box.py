"""How long a subtask may work in an epoch, and in which portions it takes its input meanwhile.

An epoch's output is seen when the epoch ends, and an epoch is what a failure repeats, so an epoch must end even where
a function takes a second for each element. What a subtask has received and not processed in its time waits, as part
of its state, for the next epoch; sources read nothing while something waits.

Portions begin with one element and grow while they take next to no time. So fast functions are called with whole
batches soon, and a slow one is not called with more than it can do in `_PORTION_MS`.

A portion that has begun is finished. So a function that turns slow in the middle of one, say because its cache lacks
what comes now, holds its epoch for `_PORTION_MS` times the factor by which it became slower: 3 s for a factor of
600. Portions of 50 ms held it ten times as long and were not faster: 2 million elements through a small map function
took 0.126 s of CPU time with them and 0.131 s with these (medians of 5, single runs between 0.119 and 0.141).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

_PORTION_MS = 5.0
_GROWTH = 16


class TimeBox:
    """The time of one subtask; kept from epoch to epoch, because it knows how fast the subtask is."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._end: float | None = None
        self._portion = 1
        self._given = 0
        self._started = 0.0

    def open(self, limit_ms: float | None) -> None:
        """Time runs from here; None: there is as much as is needed."""
        self._end = None if limit_ms is None else self._now() + limit_ms / 1000
        self._given = 0

    @property
    def over(self) -> bool:
        return self._end is not None and self._now() >= self._end

    def portion(self, wanted: int) -> int:
        """How many elements to take next, of `wanted`; 0 when the time is over.

        The caller has processed the portion before when it asks for the next.
        """
        if self._end is None:
            return wanted
        now = self._now()
        if self._given:
            self._learn((now - self._started) * 1000)
        if now >= self._end:
            self._given = 0
            return 0
        self._started = now
        share = min(1.0, (self._end - now) * 1000 / _PORTION_MS)
        self._given = min(wanted, max(1, int(self._portion * share)))
        return self._given

    def _learn(self, took_ms: float) -> None:
        fitting = int(self._given * _PORTION_MS / max(took_ms, 1e-6))
        if self._given >= self._portion or fitting < self._portion:
            self._portion = max(1, min(fitting, self._portion * _GROWTH))


def cut(
    values: Sequence[Any], timestamps: Sequence[int] | None, start: int, end: int
) -> tuple[list[Any], list[int] | None]:
    """A stretch of a batch; the whole of it as it is."""
    if start == 0 and end == len(values) and isinstance(values, list):
        return values, timestamps  # type: ignore[return-value]
    return list(values[start:end]), None if timestamps is None else list(timestamps[start:end])
