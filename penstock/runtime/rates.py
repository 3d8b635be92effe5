"""How fast counters move: remembered every few seconds, compared with now.

Nothing is counted per record. An epoch ends, its totals are there, and if the last look was some seconds ago they are
copied. A rate is the difference to an older copy, as Flink's meters have it over a minute and its time shares over
seconds.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Hashable, Mapping

EVERY_SECONDS = 2.0
KEPT_SECONDS = 60.0

Totals = Mapping[Hashable, tuple[float, ...]]


class Rates:
    """Copies of totals of the last minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._copies: deque[tuple[float, Totals]] = deque()

    def observe(self, totals: Callable[[], Totals]) -> None:
        """Calls `totals` if the last copy is old enough."""
        now = self._clock()
        if self._copies and now - self._copies[-1][0] < EVERY_SECONDS:
            return
        self._copies.append((now, totals()))
        while len(self._copies) > 2 and now - self._copies[1][0] > KEPT_SECONDS:
            self._copies.popleft()

    def per_second(self, key: Hashable, index: int, value: float, seconds: float = KEPT_SECONDS) -> float:
        """How much number `index` of `key`, now `value`, has grown per second over the last `seconds`.

        What a copy does not have yet began at nothing behind it.
        """
        now = self._clock()
        old = [copy for copy in list(self._copies) if now - copy[0] >= min(seconds, EVERY_SECONDS)]
        if not old:
            return 0.0
        recent = [copy for copy in old if now - copy[0] <= seconds] or old[-1:]
        having = next((i for i, (_, totals) in enumerate(recent) if key in totals), len(recent))
        then, totals = recent[max(0, having - 1)]
        before = totals[key][index] if key in totals else 0.0
        return max(0.0, value - before) / (now - then)
