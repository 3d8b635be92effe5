"""MIN and MAX.

Over rows that only come the accumulator is the value. When rows may go, all values are counted, and the
extreme is kept beside them so that the counts are searched only after it was taken back itself.
"""

from __future__ import annotations

from typing import Any

from penstock.delta.aggregates.base import AggregateLogic, CountingAggregate
from penstock.delta.rows import identity, value_sort_key


class Extreme(AggregateLogic):
    """MIN or MAX of rows that only come. Accumulator: the value, None at first."""

    def __init__(self, smallest: bool) -> None:
        self._smallest = smallest

    def create(self) -> Any:
        return None

    def accumulate(self, acc: Any, value: Any) -> Any:
        return value if acc is None or is_better(value, acc, self._smallest) else acc

    def retract(self, acc: Any, value: Any) -> Any:
        raise AssertionError("MIN and MAX were built for rows that only come")

    def merge(self, acc: Any, other: Any) -> Any:
        return acc if other is None else self.accumulate(acc, other)

    def result(self, acc: Any) -> Any:
        return acc

    def from_partial(self, values: tuple[Any, ...]) -> Any:
        return values[0]


def is_better(value: Any, than: Any, smallest: bool) -> bool:
    """Whether a value replaces the extreme; NaN is the largest number."""
    if type(value) is float or type(value) is tuple:
        value, than = value_sort_key(value), value_sort_key(than)
    return bool(value < than) if smallest else bool(value > than)


class RetractableExtreme(CountingAggregate):
    """MIN or MAX of rows that come and go. Accumulator: [the extreme or None, counts]."""

    def __init__(self, smallest: bool) -> None:
        self._smallest = smallest

    def accumulate(self, acc: Any, value: Any) -> Any:
        if acc[1].add(value, 1) > 0 and (acc[0] is None or is_better(value, acc[0], self._smallest)):
            acc[0] = value
        return acc

    def retract(self, acc: Any, value: Any) -> Any:
        if acc[1].add(value, -1) <= 0 and acc[0] is not None and identity(value) == identity(acc[0]):
            acc[0] = self._search(acc[1])
        return acc

    def result(self, acc: Any) -> Any:
        return acc[0]

    def _search(self, counts: Any) -> Any:
        present = [value for value, count in counts.items() if count > 0]
        if not present:
            return None
        return min(present, key=value_sort_key) if self._smallest else max(present, key=value_sort_key)
