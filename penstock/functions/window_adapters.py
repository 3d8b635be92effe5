"""Functions that the API puts around a user's function so that one window operator serves all cases.

Windows with an evictor keep every element, so a reduce or aggregate on them happens when the window fires;
joins and co-groups are windows over a union of tagged elements. Each adapter calls the user's `open`,
`close` and `clear`, and points at the user's function as `user_callable`, for names and carried attributes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from penstock.functions.base import RuntimeContext
from penstock.functions.element import AggregateFunction, ReduceFunction
from penstock.functions.join import CoGroupFunction, FlatJoinFunction, JoinFunction
from penstock.functions.window import ProcessAllWindowFunction, ProcessWindowFunction, WindowFunction

__all__ = [
    "CoGroupWindowFunction",
    "FoldingAllWindowFunction",
    "FoldingWindowFunction",
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
        return self.user_callable.co_group(first, second)


class JoinWindowFunction(_SplittingWindowFunction):
    """Gives every pair of a window to a `JoinFunction` or `FlatJoinFunction`."""

    user_callable: JoinFunction | FlatJoinFunction

    def evaluate(self, first: list[Any], second: list[Any]) -> Iterable[Any]:
        join = self.user_callable.join
        pairs = ((left, right) for left in first for right in second)
        if isinstance(self.user_callable, JoinFunction):
            return [join(left, right) for left, right in pairs]
        return (result for left, right in pairs for result in join(left, right) or ())


def fold_elements(fold: ReduceFunction | AggregateFunction, elements: Iterable[Any]) -> Any:
    """Reduces or aggregates all elements at once."""
    if isinstance(fold, ReduceFunction):
        iterator = iter(elements)
        result = next(iterator)
        for element in iterator:
            result = fold.reduce(result, element)
        return result
    accumulator = fold.create_accumulator()
    for element in elements:
        accumulator = fold.add(element, accumulator)
    return fold.get_result(accumulator)


class FoldingWindowFunction(ProcessWindowFunction):
    """Folds the elements of an evicting window when it fires, then calls the window function, if any."""

    def __init__(self, fold: Any, window_function: Any = None) -> None:
        self.user_callable = fold
        self.window_function = window_function

    def open(self, runtime_context: RuntimeContext) -> None:
        self.user_callable.open(runtime_context)
        if self.window_function is not None:
            self.window_function.open(runtime_context)

    def close(self) -> None:
        self.user_callable.close()
        if self.window_function is not None:
            self.window_function.close()

    def process(
        self, key: Any, context: ProcessWindowFunction.Context, elements: Iterable[Any]
    ) -> Iterable[Any] | None:
        elements = list(elements)
        if not elements:
            return None
        result = fold_elements(self.user_callable, elements)
        if self.window_function is None:
            return [result]
        return self._evaluate(key, context, result)

    def _evaluate(self, key: Any, context: Any, result: Any) -> Iterable[Any] | None:
        if isinstance(self.window_function, ProcessWindowFunction):
            return self.window_function.process(key, context, [result])
        return self.window_function.apply(key, context.window(), [result])  # type: ignore[no-any-return]

    def clear(self, context: ProcessWindowFunction.Context) -> None:
        if isinstance(self.window_function, ProcessWindowFunction):
            self.window_function.clear(context)


class FoldingAllWindowFunction(ProcessAllWindowFunction):
    """`FoldingWindowFunction` for windows of a stream without keys."""

    def __init__(self, fold: Any, window_function: Any = None) -> None:
        self.user_callable = fold
        self.window_function = window_function

    def open(self, runtime_context: RuntimeContext) -> None:
        self.user_callable.open(runtime_context)
        if self.window_function is not None:
            self.window_function.open(runtime_context)

    def close(self) -> None:
        self.user_callable.close()
        if self.window_function is not None:
            self.window_function.close()

    def process(
        self, context: ProcessAllWindowFunction.Context, elements: Iterable[Any]
    ) -> Iterable[Any] | None:
        elements = list(elements)
        if not elements:
            return None
        result = fold_elements(self.user_callable, elements)
        if self.window_function is None:
            return [result]
        if isinstance(self.window_function, ProcessAllWindowFunction):
            return self.window_function.process(context, [result])
        return self.window_function.apply(context.window(), [result])  # type: ignore[no-any-return]

    def clear(self, context: ProcessAllWindowFunction.Context) -> None:
        if isinstance(self.window_function, ProcessAllWindowFunction):
            self.window_function.clear(context)
