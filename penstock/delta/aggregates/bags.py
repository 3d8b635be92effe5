"""COLLECT, PERCENTILE, counts of distinct values, SINGLE_VALUE, and BOOL_AND / BOOL_OR."""

from __future__ import annotations

from typing import Any

from penstock.common.errors import PenstockError
from penstock.delta.aggregates.base import AggregateLogic, CountingAggregate
from penstock.delta.rows import value_sort_key


class Collect(CountingAggregate):
    """COLLECT: a multiset, as a dict from value to count; a list of such pairs if no dict takes the values."""

    def accumulate(self, acc: Any, value: Any) -> Any:
        acc[1].add(value, 1)
        return acc

    def retract(self, acc: Any, value: Any) -> Any:
        acc[1].add(value, -1)
        return acc

    def result(self, acc: Any) -> dict[Any, int] | list[tuple[Any, int]]:
        pairs = [(value, count) for value, count in acc[1].items() if count > 0]
        try:
            return dict(pairs)
        except TypeError:  # lists and maps
            return pairs


class DistinctCount(CountingAggregate):
    """APPROX_COUNT_DISTINCT, and COUNT(DISTINCT x): how many values are there, exactly."""

    def initial(self) -> int:
        return 0

    def accumulate(self, acc: Any, value: Any) -> Any:
        if acc[1].add(value, 1) == 1:
            acc[0] += 1
        return acc

    def retract(self, acc: Any, value: Any) -> Any:
        if acc[1].add(value, -1) == 0:
            acc[0] -= 1
        return acc

    def result(self, acc: Any) -> int:
        return int(acc[0])


class Percentile(CountingAggregate):
    """PERCENTILE(x, p[, frequency]), interpolated between neighbours. Small part: p as last seen."""

    def accumulate(self, acc: Any, value: Any) -> Any:
        return self._add(acc, value, 1)

    def retract(self, acc: Any, value: Any) -> Any:
        return self._add(acc, value, -1)

    def merge(self, acc: Any, other: Any) -> Any:
        for value, count in list(other[1].items()):
            acc[1].add(value, count)
        if other[0] is not None:
            acc[0] = other[0]
        return acc

    def result(self, acc: Any) -> Any:
        wanted, counts = acc
        pairs = sorted(((v, n) for v, n in counts.items() if n > 0), key=lambda pair: value_sort_key(pair[0]))
        if not pairs or wanted is None:
            return None
        if isinstance(wanted, (list, tuple)):
            return [_percentile(pairs, float(p)) for p in wanted]
        return _percentile(pairs, float(wanted))

    def _add(self, acc: Any, value: Any, sign: int) -> Any:
        frequency = value[2] if len(value) > 2 else 1
        if frequency:
            acc[1].add(value[0], sign * int(frequency))
        acc[0] = value[1]
        return acc


def _percentile(pairs: list[tuple[Any, int]], p: float) -> float:
    position = p * (sum(count for _, count in pairs) - 1)
    lower = int(position)
    low, high = _at(pairs, lower), _at(pairs, lower + (position > lower))
    return float(low) + (position - lower) * (float(high) - float(low))


def _at(pairs: list[tuple[Any, int]], index: int) -> Any:
    for value, count in pairs:
        index -= count
        if index < 0:
            return value
    return pairs[-1][0]


class SingleValue(AggregateLogic):
    """SINGLE_VALUE, of a scalar subquery: more than one row at the end of an epoch is an error."""

    skips_nulls = False

    def create(self) -> list[Any]:
        return []

    def accumulate(self, acc: list[Any], value: Any) -> list[Any]:
        acc.append(value)
        return acc

    def retract(self, acc: list[Any], value: Any) -> list[Any]:
        if value in acc:
            acc.remove(value)
        return acc

    def merge(self, acc: list[Any], other: list[Any]) -> list[Any]:
        return acc + other

    def result(self, acc: list[Any]) -> Any:
        if len(acc) > 1:
            raise PenstockError(
                f"a scalar subquery gave {len(acc)} rows",
                do="aggregate it, or limit it to one row",
            )
        return acc[0] if acc else None


class Every(AggregateLogic):
    """BOOL_AND (and BOOL_OR, when `any_of`). Accumulator: [how many are true, how many are false]."""

    def __init__(self, any_of: bool = False) -> None:
        self._any_of = any_of

    def create(self) -> list[int]:
        return [0, 0]

    def accumulate(self, acc: list[int], value: Any) -> list[int]:
        acc[0 if value else 1] += 1
        return acc

    def retract(self, acc: list[int], value: Any) -> list[int]:
        acc[0 if value else 1] -= 1
        return acc

    def merge(self, acc: list[int], other: list[int]) -> list[int]:
        return [acc[0] + other[0], acc[1] + other[1]]

    def result(self, acc: list[int]) -> bool | None:
        if acc[0] + acc[1] == 0:
            return None
        return acc[0] > 0 if self._any_of else acc[1] == 0
