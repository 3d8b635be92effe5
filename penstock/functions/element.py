"""Functions of one element: map, flat_map, filter, reduce, aggregate, and what finds keys and partitions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from penstock.functions.base import Function

__all__ = [
    "AggregateFunction",
    "FilterFunction",
    "FlatMapFunction",
    "KeySelector",
    "MapFunction",
    "NullByteKeySelector",
    "Partitioner",
    "ReduceFunction",
]


class MapFunction(Function):
    """One element in, one element out."""

    @abstractmethod
    def map(self, value: Any) -> Any:
        """Called for every element; the returned value goes on."""


class FlatMapFunction(Function):
    """One element in, any number out."""

    @abstractmethod
    def flat_map(self, value: Any) -> Iterable[Any] | None:
        """Called for every element; a generator, a list, or None for nothing."""


class FilterFunction(Function):
    """Keeps the elements for which it answers true."""

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """Called for every element; must not change it."""


class ReduceFunction(Function):
    """Combines two elements into one of the same type; has to be associative for windows and batch."""

    @abstractmethod
    def reduce(self, value1: Any, value2: Any) -> Any:
        """`value1` is what was combined so far, `value2` the next element."""


class AggregateFunction(Function):
    """Adds elements to an accumulator, from which the result is read.

    Accumulators may be changed in place: `add` and `merge` return the one to keep.
    """

    @abstractmethod
    def create_accumulator(self) -> Any:
        """A new accumulator, for a new key or window."""

    @abstractmethod
    def add(self, value: Any, accumulator: Any) -> Any:
        """The accumulator with `value` in it."""

    @abstractmethod
    def get_result(self, accumulator: Any) -> Any:
        """The aggregate so far; may be called often."""

    @abstractmethod
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """Both accumulators as one; called when session windows merge."""


class KeySelector(Function):
    """Finds the key of an element.

    It has to be deterministic: sender and receiver both ask for the key.
    """

    @abstractmethod
    def get_key(self, value: Any) -> Any:
        """The key; hashable, and equal for elements that belong together."""


class NullByteKeySelector(KeySelector):
    """The same key for every element: what `window_all` is keyed by."""

    def get_key(self, value: Any) -> int:
        """The same key for every element."""
        return 0


class Partitioner(Function):
    """Chooses the subtask that gets an element, by its key."""

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """An index from 0 to `num_partitions` - 1."""
