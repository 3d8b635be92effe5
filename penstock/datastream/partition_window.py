"""Whole partitions as one window (FLIP-380, Java API).

    stream.full_window_partition().map_partition(f)          f sees all elements of a subtask, at the end
    keyed.full_window_partition().sort_partition(1, Order.ASCENDING)

The input has to be bounded: a partition is complete when the input has ended. Both are global windows that
fire at the end of the input, keyed by the stream's key or by the number of the subtask that had the element.
"""

from __future__ import annotations

import enum
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from penstock.common.errors import TypeMismatchError
from penstock.common.typeinfo import TypeInformation
from penstock.datastream.builder import FieldSelector, call_site, key_selector_of
from penstock.datastream.keyed_stream import KeyedStream
from penstock.functions.base import Function, RuntimeContext
from penstock.functions.element import AggregateFunction, MapFunction, ReduceFunction
from penstock.functions.window import WindowFunction
from penstock.functions.window_adapters import fold_elements
from penstock.functions.wrap import as_function

if TYPE_CHECKING:
    from penstock.datastream.stream import DataStream

__all__ = ["MapPartitionFunction", "Order", "PartitionWindowedStream"]


class Order(enum.Enum):
    """How `sort_partition` sorts."""

    ASCENDING = 0
    DESCENDING = 1


class MapPartitionFunction(Function):
    """Sees all elements of a partition at once."""

    @abstractmethod
    def map_partition(self, values: Iterable[Any]) -> Iterable[Any] | None:
        """Called once per partition, when the input has ended."""


class PartitionWindowedStream:
    """Made by `full_window_partition`."""

    def __init__(self, stream: DataStream) -> None:
        self._type = stream.get_type()
        self._tagged = not isinstance(stream, KeyedStream)
        if isinstance(stream, KeyedStream):
            self._keyed = stream
        else:
            tagged = stream.map(_SubtaskTag()).name("Tag partition")
            self._keyed = KeyedStream(tagged, FieldSelector(0), None)

    def map_partition(
        self,
        map_partition_function: MapPartitionFunction | Callable[[Iterable[Any]], Iterable[Any]],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Calls the function with all elements of each partition."""
        function: Any = map_partition_function
        if not isinstance(function, MapPartitionFunction):
            if not callable(function) or isinstance(function, (type, Function)):
                raise TypeMismatchError(
                    f"expected a MapPartitionFunction or a callable, got {function!r}", where=call_site()
                )
            function = _CallableMapPartition(function)
        return self._apply("MapPartition", function, function.map_partition, output_type)

    def sort_partition(self, field_or_selector: Any, order: Order = Order.ASCENDING) -> DataStream:
        """The elements of each partition in the order of a field, a position or a key."""
        selector: Any = field_or_selector
        key = FieldSelector(selector) if isinstance(selector, (int, str)) else key_selector_of(selector)
        descending = order is Order.DESCENDING

        def sort(values: Iterable[Any]) -> list[Any]:
            return sorted(values, key=key, reverse=descending)

        return self._apply("SortPartition", None, sort, self._type)

    def reduce(self, reduce_function: Callable[[Any, Any], Any] | ReduceFunction) -> DataStream:
        """One element per partition."""
        function = as_function(reduce_function, ReduceFunction, where=call_site())
        return self._apply(
            "PartitionReduce", function, lambda values: [fold_elements(function, values)], self._type
        )

    def aggregate(
        self, aggregate_function: AggregateFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """One result per partition."""
        function = as_function(aggregate_function, AggregateFunction, where=call_site())
        return self._apply(
            "PartitionAggregate", function, lambda values: [fold_elements(function, values)], output_type
        )

    def _apply(
        self,
        name: str,
        function: Function | None,
        compute: Callable[[Iterable[Any]], Iterable[Any] | None],
        output_type: TypeInformation | None,
    ) -> DataStream:
        from penstock.windowing import GlobalWindows

        windows = self._keyed.window(GlobalWindows.create_with_end_of_stream_trigger())
        return windows.apply(_WholePartition(function, compute, self._tagged), output_type).name(name)


class _SubtaskTag(MapFunction):
    """Pairs each element with the number of its subtask."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value: Any) -> Any:
        return self._subtask, value


class _CallableMapPartition(MapPartitionFunction):
    def __init__(self, user_callable: Callable[[Iterable[Any]], Iterable[Any]]) -> None:
        self.user_callable = user_callable

    def map_partition(self, values: Iterable[Any]) -> Iterable[Any] | None:
        return self.user_callable(values)


class _WholePartition(WindowFunction):
    """Gives the elements of a partition, without their tags, to a computation."""

    def __init__(self, function: Function | None, compute: Callable[..., Any], tagged: bool) -> None:
        self.user_callable = compute if function is None else function
        self._function = function
        self._compute = compute
        self._tagged = tagged

    def open(self, runtime_context: RuntimeContext) -> None:
        if self._function is not None:
            self._function.open(runtime_context)

    def close(self) -> None:
        if self._function is not None:
            self._function.close()

    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any] | None:
        values = [value for _, value in inputs] if self._tagged else list(inputs)
        return self._compute(values)  # type: ignore[no-any-return]
