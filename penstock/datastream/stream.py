"""`DataStream`: a stream without keys. Each method adds a step to the program; see `data_stream.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.common.typeinfo import ExternalTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation
from penstock.connectors.sink import Sink
from penstock.datastream.builder import (
    call_site,
    checked_parallelism,
    deprecated,
    key_selector_of,
    operator_step,
)
from penstock.datastream.legacy_stream import LegacyStream
from penstock.datastream.settings import OperatorSettings
from penstock.functions.element import FilterFunction, FlatMapFunction, MapFunction
from penstock.functions.output_tag import OutputTag
from penstock.functions.process import KeyedProcessFunction, ProcessFunction
from penstock.functions.wrap import as_function, as_partitioner
from penstock.graph.transformations import (
    Partitioner,
    PartitionerKind,
    PartitionTransformation,
    SideOutputTransformation,
    SinkTransformation,
    Transformation,
    UnionTransformation,
)
from penstock.operators.map import FilterOperator, FlatMapOperator, MapOperator
from penstock.operators.process import ProcessOperator
from penstock.state.descriptors import MapStateDescriptor

if TYPE_CHECKING:
    from penstock.common.execution_config import ExecutionConfig
    from penstock.common.watermark_strategy import WatermarkStrategy
    from penstock.datastream.cached_stream import CachedDataStream
    from penstock.datastream.connected_streams import (
        BroadcastConnectedStream,
        BroadcastStream,
        ConnectedStreams,
    )
    from penstock.datastream.data_stream_sink import DataStreamSink
    from penstock.datastream.joined_streams import CoGroupedStreams, JoinedStreams
    from penstock.datastream.keyed_stream import KeyedStream
    from penstock.datastream.partition_window import PartitionWindowedStream
    from penstock.datastream.result_iterator import CloseableIterator
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
    from penstock.datastream.windowed_stream import AllWindowedStream
    from penstock.operators.base import Operator
    from penstock.windowing.assigner import WindowAssigner

__all__ = ["DataStream"]


class DataStream(OperatorSettings, LegacyStream):
    """A stream of elements of one type."""

    def __init__(self, environment: StreamExecutionEnvironment, transformation: Transformation) -> None:
        self._environment = environment
        self._transformation = transformation

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment this stream belongs to."""
        return self._environment

    def get_execution_config(self) -> ExecutionConfig:
        """The execution configuration of the environment."""
        return self._environment.get_config()

    def get_type(self) -> TypeInformation | None:
        """The declared type of the elements; None if none was declared."""
        return self._transformation.output_type

    def get_parallelism(self) -> int:
        """Parallelism of the operator that produces this stream."""
        return self._transformation.parallelism or self._environment.get_parallelism()

    def get_id(self) -> int:
        """Id of this step in the program."""
        return self._transformation.id

    # -- elements --------------------------------------------------------------------------------------

    def map(
        self, func: Callable[[Any], Any] | MapFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """One element for each element.

        Example:
            ```python
            env.from_collection([1, 2]).map(lambda n: n + 1, output_type=Types.INT()).print()  # 2, 3
            ```
        """
        function = as_function(func, MapFunction, where=call_site())
        return self._then("Map", lambda: MapOperator(function), output_type)

    def flat_map(
        self, func: Callable[[Any], Any] | FlatMapFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Any number of elements for each element.

        Example:
            ```python
            lines.flat_map(lambda line: line.split(), output_type=Types.STRING())  # one element a word
            ```
        """
        function = as_function(func, FlatMapFunction, where=call_site())
        return self._then("FlatMap", lambda: FlatMapOperator(function), output_type)

    def filter(self, func: Callable[[Any], bool] | FilterFunction) -> DataStream:
        """The elements for which the function answers true.

        Example:
            ```python
            orders.filter(lambda order: order.amount > 100)
            ```
        """
        function = as_function(func, FilterFunction, where=call_site())
        return self._then("Filter", lambda: FilterOperator(function), self.get_type())

    def process(self, func: ProcessFunction, output_type: TypeInformation | None = None) -> DataStream:
        """Any number of elements, with access to timestamps and side outputs.

        Example:
            ```python
            late = OutputTag("late", Types.STRING())

            class Split(ProcessFunction):
                def process_element(self, value, ctx):
                    if value.startswith("late"):
                        yield late, value
                    else:
                        yield value

            split = lines.process(Split(), output_type=Types.STRING())
            split.get_side_output(late).print()
            ```
        """
        if isinstance(func, KeyedProcessFunction):
            raise TypeMismatchError(
                f"{type(func).__name__} is a KeyedProcessFunction but the stream has no keys",
                where=call_site(),
                do="call key_by(...) before process(...)",
            )
        function = as_function(func, ProcessFunction, where=call_site())
        return self._then("PROCESS", lambda: ProcessOperator(function), output_type)

    def project(self, *field_indexes: int) -> DataStream:
        """Tuples of the chosen fields."""
        types = _field_types(self.get_type())
        for index in field_indexes:
            if not isinstance(index, int) or not 0 <= index < len(types):
                raise ValidationError(
                    f"project({index!r}) on elements with {len(types)} fields", where=call_site()
                )
        indexes = tuple(field_indexes)
        if not indexes:
            raise ValidationError("project needs at least one field", where=call_site(), do="project(0, 2)")
        output_type = TupleTypeInfo([types[index] for index in indexes])
        projected = self.map(lambda value: tuple([value[index] for index in indexes]), output_type)
        return projected.name("Projection")

    def transform(
        self,
        operator_name: str,
        output_type: TypeInformation | None,
        operator_factory: Callable[[], Operator],
    ) -> DataStream:
        """Runs an operator of the program's own; see `penstock.operators.base.Operator`."""
        return self._then(operator_name, operator_factory, output_type)

    # -- several streams -------------------------------------------------------------------------------

    def union(self, *streams: DataStream) -> DataStream:
        """All elements of this and the other streams, which have the same type.

        Example:
            ```python
            everything = web_orders.union(shop_orders, phone_orders)
            ```
        """
        for stream in streams:
            if not isinstance(stream, DataStream):
                raise TypeMismatchError(f"union takes DataStreams, got {stream!r}", where=call_site())
            self._check_same_environment(stream)
            if self.get_type() is not None and stream.get_type() not in (None, self.get_type()):
                raise TypeMismatchError(
                    f"cannot union streams of different types: {self.get_type()} and {stream.get_type()}",
                    where=call_site(),
                    do="map both to one type first, or connect() them",
                )
        inputs = [stream._plain_transformation() for stream in (self, *streams)]
        types = [transformation.output_type for transformation in inputs]
        output_type = types[0] if all(one == types[0] for one in types) else None
        union = UnionTransformation("Union", inputs, output_type, call_site=call_site())
        return DataStream(self._environment, union)

    @overload
    def connect(self, ds: DataStream) -> ConnectedStreams: ...
    @overload
    def connect(self, ds: BroadcastStream) -> BroadcastConnectedStream: ...
    def connect(self, ds: DataStream | BroadcastStream) -> ConnectedStreams | BroadcastConnectedStream:
        """This stream and another one, of whatever type, for functions with two inputs.

        Example:
            ```python
            alerts = orders.connect(limits).key_by(lambda o: o.user, lambda l: l.user).process(CheckLimit())
            ```
        """
        from penstock.datastream.connected_streams import (
            BroadcastConnectedStream,
            BroadcastStream,
            ConnectedStreams,
        )

        if isinstance(ds, BroadcastStream):
            self._check_same_environment(ds.input_stream)
            return BroadcastConnectedStream(self, ds)
        if not isinstance(ds, DataStream):
            raise TypeMismatchError(
                f"connect takes a DataStream or BroadcastStream, got {ds!r}", where=call_site()
            )
        self._check_same_environment(ds)
        return ConnectedStreams(self, ds)

    def join(self, other_stream: DataStream) -> JoinedStreams:
        """Pairs of elements with the same key in the same window: `.where().equal_to().window().apply()`."""
        from penstock.datastream.joined_streams import JoinedStreams

        return JoinedStreams(self, other_stream)

    def co_group(self, other_stream: DataStream) -> CoGroupedStreams:
        """All elements of two streams with the same key in the same window."""
        from penstock.datastream.joined_streams import CoGroupedStreams

        return CoGroupedStreams(self, other_stream)

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """The elements that the operator of this stream emitted with `output_tag`.

        Example:
            ```python
            late_orders = windowed.get_side_output(OutputTag("late", Types.STRING()))
            ```
        """
        if not isinstance(output_tag, OutputTag):
            raise TypeMismatchError(f"expected an OutputTag, got {output_tag!r}", where=call_site())
        side = SideOutputTransformation(
            f"Side output {output_tag.tag_id}",
            [self._operator("get_side_output")],
            output_tag.type_info,
            call_site=call_site(),
            tag_id=output_tag.tag_id,
        )
        return DataStream(self._environment, side)

    # -- keys, partitions, time and windows ------------------------------------------------------------

    def key_by(
        self,
        key_selector: Callable[[Any], Any] | Any,
        key_type: TypeInformation | None = None,
        *,
        key_type_info: TypeInformation | None = None,
    ) -> KeyedStream:
        """Elements with the same key go to the same subtask, where functions have state per key.

        Example:
            ```python
            totals = orders.key_by(lambda order: order.customer, key_type=Types.STRING()).sum("amount")
            ```
        """
        from penstock.datastream.keyed_stream import KeyedStream

        if key_type_info is not None:
            deprecated("key_by(key_type_info=...)", "key_by(key_type=...)")
            key_type = key_type_info
        return KeyedStream(self, key_selector_of(key_selector), key_type)

    def forward(self) -> DataStream:
        """Elements stay with their subtask: the next operator has the same parallelism."""
        return self._partition(PartitionerKind.FORWARD)

    def rebalance(self) -> DataStream:
        """Elements go round-robin to all subtasks of the next operator."""
        return self._partition(PartitionerKind.REBALANCE)

    def rescale(self) -> DataStream:
        """Elements go round-robin to a part of the subtasks of the next operator."""
        return self._partition(PartitionerKind.RESCALE)

    def shuffle(self) -> DataStream:
        """Elements go to random subtasks of the next operator."""
        return self._partition(PartitionerKind.SHUFFLE)

    def global_(self) -> DataStream:
        """All elements go to the first subtask of the next operator (Java API: `global()`)."""
        return self._partition(PartitionerKind.GLOBAL)

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> DataStream | BroadcastStream:
        """Every element goes to every subtask of the next operator.

        With descriptors the result is a `BroadcastStream`, to be connected with another stream.

        Example:
            ```python
            rules = MapStateDescriptor("rules", Types.STRING(), Types.STRING())
            matched = orders.connect(changes.broadcast(rules)).process(ApplyRules(), output_type=Types.STRING())
            ```
        """
        if broadcast_state_descriptor is None:
            return self._partition(PartitionerKind.BROADCAST)
        from penstock.datastream.connected_streams import BroadcastStream

        descriptors = (broadcast_state_descriptor, *other_broadcast_state_descriptors)
        for descriptor in descriptors:
            if not isinstance(descriptor, MapStateDescriptor):
                raise TypeMismatchError(
                    f"broadcast takes MapStateDescriptors, got {descriptor!r}", where=call_site()
                )
        return BroadcastStream(self._partition(PartitionerKind.BROADCAST), *descriptors)

    def partition_custom(self, partitioner: Any, key_selector: Any) -> DataStream:
        """A function of the key and the number of subtasks chooses the subtask of each element."""
        function = as_partitioner(partitioner, where=call_site())
        selector = key_selector_of(key_selector, "partition_custom")
        return self._partition(PartitionerKind.CUSTOM, key_selector=selector, function=function)

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        """Gives elements event time, and the stream watermarks.

        Example:
            ```python
            class OrderTime(TimestampAssigner):
                def extract_timestamp(self, value, record_timestamp):
                    return value.created_ms

            strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
            timed = orders.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(OrderTime()))
            ```
        """
        from penstock.common.watermark_strategy import WatermarkStrategy
        from penstock.operators.timestamps import TimestampsAndWatermarksOperator

        if not isinstance(watermark_strategy, WatermarkStrategy):
            raise TypeMismatchError(
                f"expected a WatermarkStrategy, got {watermark_strategy!r}",
                where=call_site(),
                do="WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))"
                ".with_timestamp_assigner(...)",
            )
        environment = self._environment

        def make() -> Operator:
            return TimestampsAndWatermarksOperator(
                watermark_strategy, environment.auto_watermark_interval_ms()
            )

        return self._then("Timestamps/Watermarks", make, self.get_type())

    def window_all(self, window_assigner: WindowAssigner) -> AllWindowedStream:
        """Windows over the whole stream; evaluated by one subtask.

        Example:
            ```python
            per_minute = orders.window_all(TumblingEventTimeWindows.of(Time.minutes(1))).reduce(add)
            ```
        """
        from penstock.datastream.windowed_stream import AllWindowedStream

        return AllWindowedStream(self, window_assigner)

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream:
        """Windows of `size` elements over the whole stream; with `slide`, a window every `slide` elements."""
        from penstock.datastream.windowed_stream import AllWindowedStream, count_window_assigner

        return AllWindowedStream(self, count_window_assigner(size, slide))

    def full_window_partition(self) -> PartitionWindowedStream:
        """Each partition of a bounded stream as a whole: a subtask's elements, or a key's (Java API)."""
        from penstock.datastream.partition_window import PartitionWindowedStream

        return PartitionWindowedStream(self)

    # -- the end of a stream ---------------------------------------------------------------------------

    def sink_to(self, sink: Sink) -> DataStreamSink:
        """Writes the elements to a sink.

        Example:
            ```python
            lines.sink_to(FileSink.for_row_format("/tmp/out", Encoder.simple_string_encoder()).build())
            ```
        """
        if not isinstance(sink, Sink):
            raise TypeMismatchError(
                f"sink_to takes a Sink, got {sink!r}",
                where=call_site(),
                do="see penstock.datastream.connectors",
            )
        return self._add_sink("Writer", sink)

    def add_sink(self, sink_func: Any) -> DataStreamSink:
        """Flink 1.x's spelling: takes a Sink, a SinkFunction, or a callable called with every element."""
        from penstock.datastream.data_stream_sink import DataStreamSink
        from penstock.datastream.function_sink import sink_caller, sink_or_function

        sink = sink_or_function(sink_func)
        if isinstance(sink, Sink):
            return self._add_sink("Unnamed", sink)
        step = self._then("Unnamed", lambda: ProcessOperator(sink_caller(sink)), None)
        return DataStreamSink(self._environment, step.transformation)

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Prints the elements to the standard output of the program.

        Example:
            ```python
            orders.print("order")  # order> ..., with the subtask's number where there are several
            ```
        """
        from penstock.connectors.print import PrintSink

        return self._add_sink("Print to Std. Out", PrintSink(sink_identifier))

    def print_to_err(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Prints the elements to the standard error stream of the program (Java API)."""
        from penstock.connectors.print import PrintSink

        return self._add_sink("Print to Std. Err", PrintSink(sink_identifier, to_stderr=True))

    @overload
    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: None = None
    ) -> CloseableIterator: ...
    @overload
    def execute_and_collect(self, job_execution_name: str | None = None, *, limit: int) -> list[Any]: ...
    @overload
    def execute_and_collect(self, job_execution_name: str | None, limit: int) -> list[Any]: ...
    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Runs the program and brings this stream's elements here.

        Args:
            job_execution_name: Name of the job.
            limit: Stop after so many elements and return them as a list; the job is cancelled then.

        Example:
            ```python
            with env.from_collection([1, 2, 3]).execute_and_collect() as results:
                print(list(results))
            ```
        """
        from penstock.datastream.result_iterator import CloseableIterator, take

        if limit is not None:
            checked_parallelism(limit, "limit")
        sink = self._collect_sink()
        job = self._environment.submit(job_execution_name or "DataStream Collect")
        iterator = CloseableIterator(sink.iterator(job))
        return iterator if limit is None else take(iterator, limit)

    def collect_async(self) -> CloseableIterator:
        """An iterator over this stream's elements that starts to work when `env.execute_async()` is called."""
        from penstock.datastream.result_iterator import DeferredIterator

        iterator = DeferredIterator(self._collect_sink())
        self._environment.on_next_submission(iterator.attach)
        return iterator

    def cache(self) -> CachedDataStream:
        """Keeps the elements after the first job that computes them, for later jobs (FLIP-205)."""
        from penstock.datastream.cached_stream import CachedDataStream

        return CachedDataStream.of(self)

    # -- building blocks -------------------------------------------------------------------------------

    def _then(
        self, name: str, factory: Callable[[], Operator], output_type: TypeInformation | None
    ) -> DataStream:
        step = operator_step(self._environment, name, [self._transformation], factory, output_type)
        return DataStream(self._environment, step)

    def _partition(self, kind: PartitionerKind, **details: Any) -> DataStream:
        partition = PartitionTransformation(
            name=kind.value.lower(),
            inputs=[self._plain_transformation()],
            output_type=self.get_type(),
            call_site=call_site(),
            partitioner=Partitioner(kind, **details),
        )
        return DataStream(self._environment, partition)

    def _plain_transformation(self) -> Transformation:
        """What follows this stream without its keys (a KeyedStream gives what it was made of)."""
        return self._transformation

    def _add_sink(self, name: str, sink: Sink, parallelism: int | None = None) -> DataStreamSink:
        from penstock.datastream.data_stream_sink import DataStreamSink

        transformation = SinkTransformation(
            name=name,
            inputs=[self._transformation],
            output_type=self.get_type(),
            parallelism=parallelism or self._environment.configured_parallelism(),
            call_site=call_site(),
            sink=sink,
        )
        self._environment.register_transformation(transformation)
        return DataStreamSink(self._environment, transformation)

    def _collect_sink(self) -> Any:
        """Adds a sink that brings the elements here, where they are produced: no exchange in between."""
        from penstock.connectors.collect import CollectSink

        sink = CollectSink(self.get_type())
        self._add_sink("Collect Sink", sink, self._transformation.parallelism)
        return sink

    def _check_same_environment(self, other: DataStream) -> None:
        if other._environment is not self._environment:
            raise ValidationError(
                "the two streams belong to different environments",
                where=call_site(),
                do="make both from one StreamExecutionEnvironment",
            )


def _field_types(type_info: TypeInformation | None) -> list[TypeInformation]:
    if isinstance(type_info, ExternalTypeInfo):
        type_info = type_info.type_info
    if isinstance(type_info, (TupleTypeInfo, RowTypeInfo)):
        return type_info.get_field_types()
    raise TypeMismatchError(
        f"only streams of tuples can be projected, this one has type {type_info}",
        where=call_site(),
        do="declare the type: from_collection(..., type_info=Types.TUPLE([...]))",
    )
