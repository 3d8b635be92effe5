"""Accumulators: values that every subtask adds to and the driver merges into the job's result (Java API).

def open(self, runtime_context):
    self.lines = IntCounter()
    runtime_context.add_accumulator("lines", self.lines)

result = env.execute()
result.get_accumulator_result("lines")
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

__all__ = [
    "Accumulator",
    "AverageAccumulator",
    "DoubleCounter",
    "DoubleMaximum",
    "DoubleMinimum",
    "Histogram",
    "IntCounter",
    "IntMaximum",
    "IntMinimum",
    "ListAccumulator",
    "LongCounter",
    "LongMaximum",
    "LongMinimum",
    "SimpleAccumulator",
    "merge_accumulators",
]


class Accumulator(ABC):
    """Something to which values are added and which can be merged with its like; picklable."""

    @abstractmethod
    def add(self, value: Any) -> None:
        """Takes a value in."""

    @abstractmethod
    def get_local_value(self) -> Any:
        """The result over what this subtask has added."""

    @abstractmethod
    def reset_local(self) -> None:
        """Starts from nothing again."""

    @abstractmethod
    def merge(self, other: Any) -> None:
        """Takes in what another accumulator of the same class holds."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.get_local_value()!r})"


class SimpleAccumulator(Accumulator):
    """An accumulator whose result is a single value, kept as it is."""

    _start: Any = 0

    def __init__(self, value: Any = None) -> None:
        self._value = self._start if value is None else value

    def get_local_value(self) -> Any:
        """The value so far."""
        return self._value

    def reset_local(self) -> None:
        """Begins anew."""
        self._value = self._start

    def merge(self, other: SimpleAccumulator) -> None:
        """Adds what another subtask has."""
        self.add(other._value)


class IntCounter(SimpleAccumulator):
    """A sum of integers."""

    def add(self, value: Any = 1) -> None:
        """Adds a number."""
        self._value += value


class LongCounter(IntCounter):
    """A sum of integers; Java's wider one."""


class DoubleCounter(IntCounter):
    """A sum of floating point numbers."""

    _start = 0.0


class IntMinimum(SimpleAccumulator):
    """The smallest value; None before the first."""

    _start = None

    def add(self, value: Any) -> None:
        """Keeps the number if it is the smallest so far; None is left out."""
        if value is not None and (self._value is None or value < self._value):
            self._value = value


class IntMaximum(SimpleAccumulator):
    """The largest value; None before the first."""

    _start = None

    def add(self, value: Any) -> None:
        """Keeps the number if it is the largest so far; None is left out."""
        if value is not None and (self._value is None or value > self._value):
            self._value = value


class LongMinimum(IntMinimum):
    """The smallest value."""


class DoubleMinimum(IntMinimum):
    """The smallest value."""


class LongMaximum(IntMaximum):
    """The largest value."""


class DoubleMaximum(IntMaximum):
    """The largest value."""


class AverageAccumulator(Accumulator):
    """The mean of the added numbers; 0.0 before the first."""

    def __init__(self) -> None:
        self._count = 0
        self._sum = 0.0

    def add(self, value: float) -> None:
        """Adds a number to the average."""
        self._count += 1
        self._sum += value

    def get_local_value(self) -> float:
        """The average so far, 0.0 before the first number."""
        return self._sum / self._count if self._count else 0.0

    def reset_local(self) -> None:
        """Begins anew."""
        self._count, self._sum = 0, 0.0

    def merge(self, other: AverageAccumulator) -> None:
        """Adds what another subtask has; the average is that of all numbers."""
        self._count += other._count
        self._sum += other._sum


class ListAccumulator(Accumulator):
    """All added values, in the order of each subtask."""

    def __init__(self) -> None:
        self._values: list[Any] = []

    def add(self, value: Any) -> None:
        """Appends a value."""
        self._values.append(value)

    def get_local_value(self) -> list[Any]:
        """All values so far."""
        return self._values

    def reset_local(self) -> None:
        """Begins anew."""
        self._values = []

    def merge(self, other: ListAccumulator) -> None:
        """Appends what another subtask has."""
        self._values.extend(other._values)


class Histogram(Accumulator):
    """How often each integer was added, as a dict in ascending order."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def add(self, value: int) -> None:
        """Counts a number."""
        self._counts[value] = self._counts.get(value, 0) + 1

    def get_local_value(self) -> dict[int, int]:
        """How often each number came, smallest number first."""
        return dict(sorted(self._counts.items()))

    def reset_local(self) -> None:
        """Begins anew."""
        self._counts = {}

    def merge(self, other: Histogram) -> None:
        """Adds what another subtask has counted."""
        for value, count in other._counts.items():
            self._counts[value] = self._counts.get(value, 0) + count


def merge_accumulators(per_subtask: Iterable[dict[str, Accumulator]]) -> dict[str, Any]:
    """Merges what the subtasks report into results by name; the reports themselves stay as they are.

    Raises:
        TypeError: Two subtasks use one name for accumulators of different classes.
    """
    merged: dict[str, Accumulator] = {}
    for accumulators in per_subtask:
        for name, accumulator in accumulators.items():
            if name not in merged:
                merged[name] = type(accumulator)()
            if type(merged[name]) is not type(accumulator):
                raise TypeError(
                    f"accumulator {name!r} is a {type(merged[name]).__name__} in one subtask "
                    f"and a {type(accumulator).__name__} in another"
                )
            merged[name].merge(accumulator)
    return {name: accumulator.get_local_value() for name, accumulator in merged.items()}
