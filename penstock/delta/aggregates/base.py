"""The contract of aggregate functions, and the counted values that several of them keep.

A function is stateless; what it knows of a group is the accumulator it is handed:

    acc = function.create()
    acc = function.accumulate(acc, value)      a row came
    acc = function.retract(acc, value)         a row went; only if it was built for retractions
    acc = function.merge(acc, other)           two accumulators, or one and a pre-aggregated one
    function.result(acc)

`value` is the call's argument; a tuple of them if it has several, None if it has none. Methods may change
the accumulator in place and always return the one to keep. Accumulators are plain Python: numbers, strings,
lists, dicts. They can be pickled, and what `result` returns never shares anything mutable with them.

Functions with `uses_counts` have to remember every value (MAX when the maximum may be taken back, anything
DISTINCT). Their accumulator is a list `[small, counts]`. An operator may keep `counts` in map state, a record
per value, instead of inside the accumulator: it passes an object with the methods of `ValueCounts`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Protocol

from penstock.delta.rows import identity


class Counts(Protocol):
    """How often each value is there."""

    def add(self, value: Any, weight: int) -> int:
        """Changes the count of a value and returns the new one. Counts may be negative for a while."""

    def items(self) -> Iterable[tuple[Any, int]]:
        """Values with their counts, none of them zero."""

    def clear(self) -> None:
        """Forgets all."""


class ValueCounts:
    """Counted values in a dict, in order of first appearance."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[Any, list[Any]] = {}

    def add(self, value: Any, weight: int) -> int:
        ident = identity(value)
        known = self._counts.get(ident)
        if known is None:
            self._counts[ident] = [value, weight]
            return weight
        known[1] += weight
        count: int = known[1]
        if count == 0:
            del self._counts[ident]
        return count

    def items(self) -> Iterator[tuple[Any, int]]:
        return ((value, count) for value, count in self._counts.values())

    def clear(self) -> None:
        self._counts.clear()

    def __getstate__(self) -> dict[Any, list[Any]]:
        return self._counts

    def __setstate__(self, counts: dict[Any, list[Any]]) -> None:
        self._counts = counts


class AggregateLogic(ABC):
    """An aggregate function for one result type; see the module for the contract."""

    uses_counts: ClassVar[bool] = False
    skips_nulls: ClassVar[bool] = True
    """Whether rows whose (first) argument is NULL do not reach the function. The caller filters them."""

    def open(self, function_context: Any) -> None:
        """Once per task, before anything else; functions of users want to know."""

    def close(self) -> None:
        """Once per task, at the end of the job."""

    @abstractmethod
    def create(self) -> Any: ...

    @abstractmethod
    def accumulate(self, acc: Any, value: Any) -> Any: ...

    @abstractmethod
    def retract(self, acc: Any, value: Any) -> Any: ...

    @abstractmethod
    def merge(self, acc: Any, other: Any) -> Any: ...

    @abstractmethod
    def result(self, acc: Any) -> Any: ...

    def accumulate_many(self, acc: Any, values: Sequence[Any]) -> Any:
        """`accumulate` for each value; functions override it where there is a faster way."""
        accumulate = self.accumulate
        for value in values:
            acc = accumulate(acc, value)
        return acc

    def from_partial(self, values: tuple[Any, ...]) -> Any:
        """The accumulator that a pre-aggregated row stands for."""
        raise NotImplementedError(f"{type(self).__name__} has no partial form")


class CountingAggregate(AggregateLogic):
    """Base of the functions that remember every value: creating and merging `[small, counts]`."""

    uses_counts = True

    def initial(self) -> Any:
        """The small part of a new accumulator."""
        return None

    def create(self) -> Any:
        return [self.initial(), ValueCounts()]

    def merge(self, acc: Any, other: Any) -> Any:
        for value, count in list(other[1].items()):
            step = self.accumulate if count > 0 else self.retract
            for _ in range(abs(count)):
                acc = step(acc, value)
        return acc
