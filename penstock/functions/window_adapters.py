"""Functions that the API puts around a user's function so that one window operator serves all cases.

Joins and co-groups are windows over a union of tagged elements. Each adapter calls the user's `open` and `close`,
and points at the user's function as `user_callable`, for names and carried attributes.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from penstock.functions.base import RuntimeContext
from penstock.functions.join import CoGroupFunction, FlatJoinFunction, JoinFunction
from penstock.functions.window import WindowFunction

__all__ = [
    "CoGroupWindowFunction",
    "JoinWindowFunction",
    "fold_elements",
    "tag_left",
    "tag_right",
]

LEFT, RIGHT = 0, 1


def tag_left(value: Any) -> tuple[int, Any]:
    """Marks an element as coming from the first stream."""
    return (LEFT, value)


def tag_right(value: Any) -> tuple[int, Any]:
    """Marks an element as coming from the second stream."""
    return (RIGHT, value)


class TaggedKeySelector:
    """The key of a tagged element, by the selector of the stream it comes from."""

    def __init__(self, left: Any, right: Any) -> None:
        self._selectors = (left, right)

    def __call__(self, tagged: tuple[int, Any]) -> Any:
        return self._selectors[tagged[0]](tagged[1])


class _SplittingWindowFunction(WindowFunction):
    """Separates tagged elements again."""

    def __init__(self, function: Any) -> None:
        self.user_callable = function

    def open(self, runtime_context: RuntimeContext) -> None:
        self.user_callable.open(runtime_context)

    def close(self) -> None:
        self.user_callable.close()

    def apply(self, key: Any, window: Any, inputs: Iterable[tuple[int, Any]]) -> Iterable[Any] | None:
        sides: tuple[list[Any], list[Any]] = ([], [])
        for side, value in inputs:
            sides[side].append(value)
        return self.evaluate(*sides)

    @abstractmethod
    def evaluate(self, first: list[Any], second: list[Any]) -> Iterable[Any] | None:
        """Called with both sides of a window."""


class CoGroupWindowFunction(_SplittingWindowFunction):
    """Gives both sides of a window to a `CoGroupFunction`."""

    user_callable: CoGroupFunction

    def evaluate(self, first: list[Any], second: list[Any]) -> Iterable[Any] | None:
        """The results of `co_group` for what both sides have in the window."""
        return self.user_callable.co_group(first, second)


class JoinWindowFunction(_SplittingWindowFunction):
    """Gives every pair of a window to a `JoinFunction` or `FlatJoinFunction`."""

    user_callable: JoinFunction | FlatJoinFunction

    def evaluate(self, first: list[Any], second: list[Any]) -> Iterable[Any]:
        """The results of `join` for every pair in the window."""
        join = self.user_callable.join
        pairs = ((left, right) for left in first for right in second)
        if isinstance(self.user_callable, JoinFunction):
            return [join(left, right) for left, right in pairs]
        return (result for left, right in pairs for result in join(left, right) or ())


def fold_elements(fold: Any, elements: Iterable[Any]) -> Any:
    """Aggregates all elements at once, or reduces them, of which there must be one then."""
    if not hasattr(fold, "create_accumulator"):
        return functools.reduce(getattr(fold, "reduce", fold), elements)
    accumulator = fold.create_accumulator()
    for element in elements:
        accumulator = fold.add(element, accumulator)
    return fold.get_result(accumulator)
