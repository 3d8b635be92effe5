"""`KeyedStream`: a stream whose elements are grouped by a key, so that functions have state per key."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.common.typeinfo import TypeInformation
from penstock.datastream.builder import call_site, checked_type, deprecated, operator_step
from penstock.datastream.stream import DataStream
from penstock.functions.element import FilterFunction, FlatMapFunction, MapFunction, ReduceFunction
from penstock.functions.process import KeyedProcessFunction, ProcessFunction
from penstock.functions.rolling import RollingFunction, check_field
from penstock.functions.wrap import as_function
from penstock.graph.transformations import (
    Partitioner,
    PartitionerKind,
    PartitionTransformation,
    Transformation,
)
from penstock.operators.keyed_map import KeyedFilterOperator, KeyedFlatMapOperator, KeyedMapOperator
from penstock.operators.process import KeyedProcessOperator
from penstock.operators.reduce import ReduceOperator

if TYPE_CHECKING:
    from penstock.datastream.interval_join import IntervalJoin
    from penstock.datastream.windowed_stream import WindowedStream
    from penstock.operators.base import Operator
    from penstock.windowing.assigner import WindowAssigner

__all__ = ["KeyedStream"]


class KeyedStream(DataStream):
    """A stream partitioned by key; made by `key_by`."""

    class AccumulateType(enum.Enum):
        """Kinds of rolling aggregates, as PyFlink lists them."""

        MIN = 1
        MAX = 2
        MIN_BY = 3
        MAX_BY = 4
        SUM = 5

    def __init__(
        self, stream: DataStream, key_selector: Callable[[Any], Any], key_type: TypeInformation | None
    ) -> None:
        self.origin_stream = stream
        self.key_selector = key_selector
        self.key_type = checked_type(key_type)
        partition = PartitionTransformation(
            name="key_by",
            inputs=[stream._plain_transformation()],
            output_type=stream.get_type(),
            call_site=call_site(),
            partitioner=Partitioner(PartitionerKind.HASH, key_selector, self.key_type),
        )
        super().__init__(stream.get_execution_environment(), partition)

    def get_key_type(self) -> TypeInformation | None:
        """The declared type of the key; None if none was declared."""
        return self.key_type

    def get_key_selector(self) -> Callable[[Any], Any]:
        """The function from element to key (Java API)."""
        return self.key_selector

    # -- functions with state per key ------------------------------------------------------------------

    def map(
        self, func: Callable[[Any], Any] | MapFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Applies a function to every element; the function may use keyed state.

        Args:
            func: A `MapFunction`, or a function of one argument.
            output_type: The type of the results; pickled Python objects if it is not given.

        Example:
            ```python
            counts = words.key_by(lambda w: w[0]).map(CountingFunction(), output_type=Types.INT())
            ```
        """
        function = as_function(func, MapFunction, where=call_site())
        return self._keyed("Map", lambda: KeyedMapOperator(function, self.key_selector), output_type)

    def flat_map(
        self, func: Callable[[Any], Any] | FlatMapFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Applies a function that gives none, one or several results; it may use keyed state.

        Args:
            func: A `FlatMapFunction`, or a function of one argument that yields its results.
            output_type: The type of the results; pickled Python objects if it is not given.
        """
        function = as_function(func, FlatMapFunction, where=call_site())
        return self._keyed("FlatMap", lambda: KeyedFlatMapOperator(function, self.key_selector), output_type)

    def filter(self, func: Callable[[Any], bool] | FilterFunction) -> DataStream:
        """Keeps the elements for which the function says True; it may use keyed state.

        Example:
            ```python
            first_seen = orders.key_by(lambda o: o.id).filter(NotSeenBefore())
            ```
        """
        function = as_function(func, FilterFunction, where=call_site())
        return self._keyed(
            "Filter", lambda: KeyedFilterOperator(function, self.key_selector), self.get_type()
        )

    def process(
        self, func: KeyedProcessFunction | ProcessFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Any number of elements, with state and timers per key, timestamps and side outputs.

        Example:
            ```python
            class Count(KeyedProcessFunction):
                def open(self, runtime_context):
                    self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

                def process_element(self, value, ctx):
                    seen = (self.seen.value() or 0) + 1
                    self.seen.update(seen)
                    yield ctx.get_current_key(), seen

            counts = orders.key_by(lambda order: order.customer).process(Count())
            ```
        """
        function = as_function(func, KeyedProcessFunction, ProcessFunction, where=call_site())
        return self._keyed(
            "KEYED PROCESS", lambda: KeyedProcessOperator(function, self.key_selector), output_type
        )

    def reduce(self, func: Callable[[Any, Any], Any] | ReduceFunction) -> DataStream:
        """What the elements of a key reduce to so far, for each element; in batch mode once per key.

        Example:
            ```python
            largest = orders.key_by(lambda o: o.customer).reduce(lambda a, b: a if a.amount >= b.amount else b)
            ```
        """
        function = as_function(func, ReduceFunction, where=call_site())
        type_info = self.get_type()
        return self._keyed(
            "Reduce", lambda: ReduceOperator(function, self.key_selector, type_info), type_info
        )

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """The running sum of a field, by position or name; of the element itself if it is a plain number.

        Example:
            ```python
            env.from_collection([("a", 1), ("a", 2)]).key_by(lambda t: t[0]).sum(1).print()  # ('a', 1), ('a', 3)
            ```
        """
        return self._rolling("sum", position_to_sum)

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """The running minimum of a field; other fields stay those of the first element."""
        return self._rolling("min", position_to_min)

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """The running maximum of a field; other fields stay those of the first element."""
        return self._rolling("max", position_to_max)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream:
        """The element with the smallest value of a field so far; the first one on ties."""
        return self._rolling("min_by", position_to_min_by)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream:
        """The element with the largest value of a field so far; the first one on ties."""
        return self._rolling("max_by", position_to_max_by)

    # -- windows and joins -----------------------------------------------------------------------------

    def window(self, window_assigner: WindowAssigner) -> WindowedStream:
        """Windows per key.

        Example:
            ```python
            per_minute = (
                orders.key_by(lambda o: o.customer)
                .window(TumblingEventTimeWindows.of(Time.minutes(1)))
                .aggregate(Total(), output_type=Types.LONG())
            )
            ```
        """
        from penstock.datastream.windowed_stream import WindowedStream

        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Windows of `size` elements per key; with `slide`, a window every `slide` elements.

        Example:
            ```python
            orders.key_by(lambda o: o.customer).count_window(100).reduce(add)  # a result for every 100 of a customer
            ```
        """
        from penstock.datastream.windowed_stream import WindowedStream, count_window_assigner

        return WindowedStream(self, count_window_assigner(size, slide))

    def time_window(self, size: Any, slide: Any = None) -> WindowedStream:
        """Flink 1.x's spelling of `window` with event-time windows."""
        from penstock.datastream.windowed_stream import time_window_assigner

        deprecated("time_window(...)", "window(TumblingEventTimeWindows.of(size))")
        return self.window(time_window_assigner(self._environment, size, slide))

    def interval_join(self, other_stream: KeyedStream) -> IntervalJoin:
        """Pairs of elements with the same key whose timestamps are close: `.between(...).process(...)`.

        Example:
            ```python
            paid = (
                orders.key_by(lambda o: o.id)
                .interval_join(payments.key_by(lambda p: p.order))
                .between(Time.minutes(0), Time.minutes(10))
                .process(Pair())
            )
            ```
        """
        from penstock.datastream.interval_join import IntervalJoin

        if not isinstance(other_stream, KeyedStream):
            raise TypeMismatchError(
                f"interval_join takes a KeyedStream, got {other_stream!r}",
                where=call_site(),
                do="call key_by(...) on the other stream",
            )
        self._check_same_environment(other_stream)
        return IntervalJoin(self, other_stream)

    # -- what a keyed stream does not have -------------------------------------------------------------

    def _partition(self, kind: PartitionerKind, **details: Any) -> NoReturn:
        raise ValidationError(
            f"{kind.value.lower()} would undo the partitioning by key",
            where=call_site(),
            do="partition the stream before key_by(...)",
        )

    def broadcast(self, *args: Any) -> NoReturn:
        """Refused: a keyed stream has its partitioning already."""
        self._partition(PartitionerKind.BROADCAST)

    def cache(self) -> NoReturn:
        """Refused: cache the stream before `key_by`."""
        self._operator("cache")

    def get_name(self) -> NoReturn:
        """Refused: `key_by` is not an operator."""
        self._operator("get_name")

    def _operator(self, setting: str) -> NoReturn:
        raise ValidationError(
            f"{setting} of a keyed stream: key_by is not an operator",
            where=call_site(),
            do=f"call {setting}(...) on the operator before key_by(...) or after it",
        )

    # -- building blocks -------------------------------------------------------------------------------

    def _plain_transformation(self) -> Transformation:
        return self._transformation.inputs[0]

    def _rolling(self, kind: str, position: int | str) -> DataStream:
        check_field(kind, position, self.get_type(), call_site())
        return self.reduce(RollingFunction(kind, position)).name(f"Keyed Aggregation {kind}")

    def _keyed(
        self, name: str, factory: Callable[[], Operator], output_type: TypeInformation | None
    ) -> DataStream:
        step = operator_step(
            self._environment,
            name,
            [self._transformation],
            factory,
            output_type,
            key_selectors=[self.key_selector],
            key_type=self.key_type,
        )
        return DataStream(self._environment, step)
