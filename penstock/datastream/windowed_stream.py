"""Windowed streams: what happens to the elements of each window, and when.

A windowed stream collects settings (trigger, lateness, evictor) and becomes an operator when it is told what
to compute: `reduce`, `aggregate`, `apply` or `process`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.common.typeinfo import TypeInformation, Types
from penstock.datastream.builder import (
    call_site,
    checked_millis,
    checked_parallelism,
    deprecated,
    operator_step,
)
from penstock.datastream.keyed_stream import KeyedStream
from penstock.datastream.stream import DataStream
from penstock.datastream.time_characteristic import TimeCharacteristic
from penstock.functions.element import AggregateFunction, NullByteKeySelector, ReduceFunction
from penstock.functions.output_tag import OutputTag
from penstock.functions.rolling import RollingFunction
from penstock.functions.window import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from penstock.functions.wrap import as_function

if TYPE_CHECKING:
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
    from penstock.operators.base import Operator
    from penstock.windowing.assigner import WindowAssigner
    from penstock.windowing.evictors import Evictor
    from penstock.windowing.trigger import Trigger

__all__ = ["AllWindowedStream", "WindowedStream", "count_window_assigner", "time_window_assigner"]

Self = TypeVar("Self", bound="_Windows")


class _Windows:
    """Settings and building that windows with and without keys share."""

    _window_function: type
    _process_function: type
    _operator_name: str
    _all_windows: bool

    def __init__(self, keyed_stream: KeyedStream, window_assigner: WindowAssigner) -> None:
        from penstock.windowing.assigner import WindowAssigner

        if not isinstance(window_assigner, WindowAssigner):
            raise TypeMismatchError(
                f"expected a WindowAssigner, got {window_assigner!r}",
                where=call_site(),
                do="window(TumblingEventTimeWindows.of(Duration.of_minutes(1)))",
            )
        self._keyed_stream = keyed_stream
        self._assigner = window_assigner
        self._trigger: Trigger | None = None
        self._evictor: Evictor | None = None
        self._allowed_lateness_ms = 0
        self._late_tag: OutputTag | None = None

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment of the stream."""
        return self._keyed_stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation | None:
        """The declared type of the elements."""
        return self._keyed_stream.get_type()

    def trigger(self: Self, trigger: Trigger) -> Self:
        """Replaces the assigner's own trigger: when a window fires.

        Example:
            ```python
            windowed.trigger(PurgingTrigger.of(CountTrigger.of(100)))
            ```
        """
        from penstock.windowing.trigger import Trigger

        if not isinstance(trigger, Trigger):
            raise TypeMismatchError(f"expected a Trigger, got {trigger!r}", where=call_site())
        self._check_trigger(trigger)
        self._trigger = trigger
        return self

    def allowed_lateness(self: Self, time_ms: Any) -> Self:
        """How long after its end a window still takes elements; zero unless set. Event time only.

        Example:
            ```python
            windowed.allowed_lateness(60_000)  # an element that is a minute late changes the result once more
            ```
        """
        self._allowed_lateness_ms = checked_millis(time_ms, "allowed lateness")
        return self

    def side_output_late_data(self: Self, output_tag: OutputTag) -> Self:
        """Elements that are too late go to this side output instead of being dropped.

        Example:
            ```python
            late = OutputTag("late", Types.STRING())
            totals = windowed.side_output_late_data(late).reduce(add)
            totals.get_side_output(late).print()
            ```
        """
        if not isinstance(output_tag, OutputTag):
            raise TypeMismatchError(f"expected an OutputTag, got {output_tag!r}", where=call_site())
        self._late_tag = output_tag
        return self

    def evictor(self: Self, evictor: Evictor) -> Self:
        """Removes elements before or after the function sees them; every element is kept then (Java API)."""
        from penstock.windowing.evictors import Evictor

        if not isinstance(evictor, Evictor):
            raise TypeMismatchError(f"expected an Evictor, got {evictor!r}", where=call_site())
        self._evictor = evictor
        return self

    # -- what to compute -------------------------------------------------------------------------------

    def reduce(
        self,
        reduce_function: Callable[[Any, Any], Any] | ReduceFunction,
        window_function: Any = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Reduces elements as they come; the window function, if any, sees the one result.

        Example:
            ```python
            windowed.reduce(lambda a, b: (a[0], a[1] + b[1]))
            ```
        """
        function = as_function(reduce_function, ReduceFunction, where=call_site())
        if window_function is None and output_type is None:
            output_type = self.get_input_type()
        return self._fold(output_type, window_function, reduce=function)

    def aggregate(
        self,
        aggregate_function: AggregateFunction,
        window_function: Any = None,
        accumulator_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Aggregates elements as they come; the window function, if any, sees the one result.

        Example:
            ```python
            class Average(AggregateFunction):
                def create_accumulator(self):
                    return 0, 0

                def add(self, value, accumulator):
                    return accumulator[0] + value[1], accumulator[1] + 1

                def get_result(self, accumulator):
                    return accumulator[0] / accumulator[1]

                def merge(self, a, b):
                    return a[0] + b[0], a[1] + b[1]

            windowed.aggregate(Average(), output_type=Types.DOUBLE())
            ```
        """
        function = as_function(aggregate_function, AggregateFunction, where=call_site())
        return self._fold(output_type, window_function, aggregate=function, accumulator_type=accumulator_type)

    def apply(
        self,
        window_function: Any,
        output_type: TypeInformation | None = None,
        *,
        result_type: TypeInformation | None = None,
    ) -> DataStream:
        """Calls the function with all elements of a window."""
        function = as_function(window_function, self._window_function, where=call_site())
        return self._build(_output_type(output_type, result_type), window_function=function)

    def process(
        self,
        process_window_function: Any,
        output_type: TypeInformation | None = None,
        *,
        result_type: TypeInformation | None = None,
    ) -> DataStream:
        """Calls the function with all elements of a window; it has access to state and time.

        Example:
            ```python
            class Describe(ProcessWindowFunction):
                def process(self, key, context, elements):
                    yield key, context.window().start, len(list(elements))

            windowed.process(Describe())
            ```
        """
        function = as_function(process_window_function, self._process_function, where=call_site())
        return self._build(_output_type(output_type, result_type), process_function=function)

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """The sum of a field over each window (Java API)."""
        return self.reduce(RollingFunction("sum", position_to_sum))

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """The minimum of a field over each window; other fields are the first element's (Java API)."""
        return self.reduce(RollingFunction("min", position_to_min))

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """The maximum of a field over each window; other fields are the first element's (Java API)."""
        return self.reduce(RollingFunction("max", position_to_max))

    def min_by(self, position_to_min_by: int | str = 0, first: bool = True) -> DataStream:
        """The element of each window with the smallest value of a field; on ties the first, or last (Java API)."""
        return self.reduce(RollingFunction("min_by", position_to_min_by, first))

    def max_by(self, position_to_max_by: int | str = 0, first: bool = True) -> DataStream:
        """The element of each window with the largest value of a field; on ties the first, or last (Java API)."""
        return self.reduce(RollingFunction("max_by", position_to_max_by, first))

    # -- building blocks -------------------------------------------------------------------------------

    def _fold(self, output_type: TypeInformation | None, window_function: Any, **fold: Any) -> DataStream:
        """reduce or aggregate, with a window function of either kind or none."""
        after: dict[str, Any] = {}
        if window_function is not None:
            function = as_function(
                window_function, self._window_function, self._process_function, where=call_site()
            )
            is_process = isinstance(function, self._process_function)
            after = {"process_function" if is_process else "window_function": function}
        return self._build(output_type, **fold, **after)

    def _build(self, output_type: TypeInformation | None, **computation: Any) -> DataStream:
        stream = self._keyed_stream
        settings: dict[str, Any] = {
            "assigner": self._assigner,
            "trigger": self._trigger,
            "evictor": self._evictor,
            "allowed_lateness_ms": self._allowed_lateness_ms,
            "late_tag": self._late_tag,
            "element_type": self.get_input_type(),
            "result_type": output_type,
            "key_selector": stream.key_selector,
            "all_windows": self._all_windows,
            **computation,
        }
        single = 1 if self._all_windows else None

        def make() -> Operator:
            from penstock.operators.window_factory import build_window_operator

            return build_window_operator(**settings)

        environment = self.get_execution_environment()
        step = operator_step(
            environment,
            self._operator_name,
            [stream.transformation],
            make,
            output_type,
            key_selectors=[stream.key_selector],
            key_type=stream.key_type,
            parallelism=single,
            max_parallelism=single,
        )
        return DataStream(environment, step)

    def _check_trigger(self, trigger: Trigger) -> None:
        from penstock.windowing.assigner import MergingWindowAssigner

        if isinstance(self._assigner, MergingWindowAssigner) and not trigger.can_merge():
            raise TypeMismatchError(
                f"{type(self._assigner).__name__} merges windows but {type(trigger).__name__} cannot merge",
                where=call_site(),
                do="use a trigger whose can_merge() is true and that implements on_merge()",
            )


class WindowedStream(_Windows):
    """Windows per key; made by `KeyedStream.window`."""

    _window_function = WindowFunction
    _process_function = ProcessWindowFunction
    _operator_name = "Window"
    _all_windows = False


class AllWindowedStream(_Windows):
    """Windows over a stream without keys, evaluated by one subtask; made by `DataStream.window_all`."""

    _window_function = AllWindowFunction
    _process_function = ProcessAllWindowFunction
    _operator_name = "AllWindow"
    _all_windows = True

    def __init__(self, stream: DataStream, window_assigner: WindowAssigner) -> None:
        keyed = KeyedStream(stream, NullByteKeySelector().get_key, Types.BYTE())
        super().__init__(keyed, window_assigner)


def count_window_assigner(size: int, slide: int) -> WindowAssigner:
    """Windows of `size` elements, one after the other or one every `slide` elements."""
    from penstock.windowing.count import CountSlidingWindowAssigner, CountTumblingWindowAssigner

    checked_parallelism(size, "the size of a count window")
    if slide == 0:
        return CountTumblingWindowAssigner(size)
    checked_parallelism(slide, "the slide of a count window")
    return CountSlidingWindowAssigner(size, slide)


def time_window_assigner(env: StreamExecutionEnvironment, size: Any, slide: Any) -> WindowAssigner:
    """What `time_window(size, slide)` meant in Flink 1.x: windows of the environment's time."""
    from penstock.windowing.sliding import SlidingEventTimeWindows, SlidingProcessingTimeWindows
    from penstock.windowing.tumbling import TumblingEventTimeWindows, TumblingProcessingTimeWindows

    if env.get_stream_time_characteristic() is TimeCharacteristic.EventTime:
        if slide is None:
            return TumblingEventTimeWindows.of(size)
        return SlidingEventTimeWindows.of(size, slide)
    if slide is None:
        return TumblingProcessingTimeWindows.of(size)
    return SlidingProcessingTimeWindows.of(size, slide)


def _output_type(
    output_type: TypeInformation | None, result_type: TypeInformation | None
) -> TypeInformation | None:
    if result_type is None:
        return output_type
    deprecated("result_type=...", "output_type=...")
    if output_type is not None:
        raise ValidationError("both output_type and result_type are given", where=call_site())
    return result_type
