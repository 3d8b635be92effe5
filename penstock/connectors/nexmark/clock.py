"""Event time: which moment an event has, by its number, and how many events there are before a moment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class EventClock:
    """Events at changing rates, each for `step_s` seconds, over and over.

    >>> EventClock(0, (2, 4), 1).times_ms(np.arange(9)).tolist()
    [0, 500, 1000, 1250, 1500, 1750, 2000, 2500, 3000]

    Attributes:
        base_ms: The moment of event 0.
        rates: Events per second.
    """

    base_ms: int
    rates: tuple[int, ...]
    step_s: int

    @cached_property
    def _begins(self) -> Integers:
        """The number of events before each step of a period, and in the whole of it."""
        return np.cumsum([0, *(rate * self.step_s for rate in self.rates)], dtype=np.int64)

    def times_ms(self, numbers: Integers) -> Integers:
        """The moments of events, in milliseconds since 1970; they never decrease."""
        if len(self.rates) == 1:
            constant: Integers = self.base_ms + numbers * 1000 // self.rates[0]
            return constant
        periods, rest = np.divmod(numbers, self._begins[-1])
        steps = np.searchsorted(self._begins, rest, side="right") - 1
        rates = np.asarray(self.rates, np.int64)[steps]
        begins = (periods * len(self.rates) + steps) * (self.step_s * 1000)
        times: Integers = self.base_ms + begins + (rest - self._begins[steps]) * 1000 // rates
        return times

    def events_before(self, time_ms: int) -> int:
        """How many events have an earlier moment.

        >>> EventClock(0, (2, 4), 1).events_before(1001)
        3
        """
        steps, rest = divmod(time_ms - self.base_ms, self.step_s * 1000)
        if steps < 0:
            return 0
        periods, step = divmod(steps, len(self.rates))
        return int(periods * self._begins[-1] + self._begins[step]) - (-rest * self.rates[step] // 1000)
