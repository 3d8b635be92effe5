"""Two streams for one function: connected streams, and streams connected with a broadcast one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.common.typeinfo import TypeInformation
from penstock.datastream.builder import call_site, key_selector_of, operator_step
from penstock.datastream.keyed_stream import KeyedStream
from penstock.datastream.stream import DataStream
from penstock.functions.broadcast import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from penstock.functions.process import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from penstock.functions.wrap import as_function
from penstock.operators.broadcast import BroadcastProcessOperator, KeyedBroadcastProcessOperator
from penstock.operators.co import (
    CoFlatMapOperator,
    CoMapOperator,
    CoProcessOperator,
    KeyedCoFlatMapOperator,
    KeyedCoMapOperator,
    KeyedCoProcessOperator,
)

if TYPE_CHECKING:
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
    from penstock.operators.base import Operator
    from penstock.state.descriptors import MapStateDescriptor

__all__ = ["BroadcastConnectedStream", "BroadcastStream", "ConnectedStreams"]


class ConnectedStreams:
    """Two streams, of whatever types, that one function handles; they share state if both are keyed."""

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        self.stream1 = stream1
        self.stream2 = stream2

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment of both streams (Java API)."""
        return self.stream1.get_execution_environment()

    def get_type1(self) -> TypeInformation | None:
        """The declared type of the first stream (Java API)."""
        return self.stream1.get_type()

    def get_type2(self) -> TypeInformation | None:
        """The declared type of the second stream (Java API)."""
        return self.stream2.get_type()

    def get_first_input(self) -> DataStream:
        """The first stream (Java API)."""
        return self.stream1

    def get_second_input(self) -> DataStream:
        """The second stream (Java API)."""
        return self.stream2

    def key_by(
        self, key_selector1: Any, key_selector2: Any, key_type: TypeInformation | None = None
    ) -> ConnectedStreams:
        """Keys both streams; the keys have to be of one type."""
        first = KeyedStream(self.stream1, key_selector_of(key_selector1), key_type)
        second = KeyedStream(self.stream2, key_selector_of(key_selector2), key_type)
        return ConnectedStreams(first, second)

    def map(self, func: CoMapFunction, output_type: TypeInformation | None = None) -> DataStream:
        """At most one element for each element of either stream."""
        function = as_function(func, CoMapFunction, where=call_site())
        return self._then("Co-Map", function, CoMapOperator, KeyedCoMapOperator, output_type)

    def flat_map(self, func: CoFlatMapFunction, output_type: TypeInformation | None = None) -> DataStream:
        """Any number of elements for each element of either stream."""
        function = as_function(func, CoFlatMapFunction, where=call_site())
        return self._then("Co-Flat Map", function, CoFlatMapOperator, KeyedCoFlatMapOperator, output_type)

    def process(
        self, func: CoProcessFunction | KeyedCoProcessFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Any number of elements, with timestamps and side outputs; keyed streams also have state and timers.

        Example:
            ```python
            class CheckLimit(KeyedCoProcessFunction):
                def open(self, runtime_context):
                    self.limit = runtime_context.get_state(ValueStateDescriptor("limit", Types.LONG()))

                def process_element1(self, value, ctx):
                    if value.amount > (self.limit.value() or 0):
                        yield value

                def process_element2(self, value, ctx):
                    self.limit.update(value.limit)

            orders.connect(limits).key_by(lambda o: o.user, lambda l: l.user).process(CheckLimit())
            ```
        """
        function = as_function(func, CoProcessFunction, KeyedCoProcessFunction, where=call_site())
        if isinstance(function, KeyedCoProcessFunction) and not self._is_keyed():
            raise TypeMismatchError(
                f"{type(function).__name__} is a KeyedCoProcessFunction but the streams have no keys",
                where=call_site(),
                do="call key_by(selector1, selector2) on the connected streams",
            )
        name = "Keyed Co-Process" if self._is_keyed() else "Co-Process"
        return self._then(name, function, CoProcessOperator, KeyedCoProcessOperator, output_type)

    def transform(
        self,
        operator_name: str,
        output_type: TypeInformation | None,
        operator_factory: Callable[[], Operator],
    ) -> DataStream:
        """Runs an operator of the program's own with two inputs; see `penstock.operators.base.Operator`."""
        return self._build(operator_name, operator_factory, output_type)

    def _is_keyed(self) -> bool:
        return isinstance(self.stream1, KeyedStream) and isinstance(self.stream2, KeyedStream)

    def _then(
        self,
        name: str,
        function: Any,
        plain: Callable[[Any], Operator],
        keyed: Callable[[Any, Any, Any], Operator],
        output_type: TypeInformation | None,
    ) -> DataStream:
        if not self._is_keyed():
            return self._build(name, lambda: plain(function), output_type)
        selectors = self._selectors()
        return self._build(name, lambda: keyed(function, *selectors), output_type)

    def _selectors(self) -> tuple[Any, Any]:
        if isinstance(self.stream1, KeyedStream) and isinstance(self.stream2, KeyedStream):
            return self.stream1.key_selector, self.stream2.key_selector
        return None, None

    def _build(
        self, name: str, factory: Callable[[], Operator], output_type: TypeInformation | None
    ) -> DataStream:
        keyed = self.stream1 if isinstance(self.stream1, KeyedStream) and self._is_keyed() else None
        if keyed is not None and isinstance(self.stream2, KeyedStream):
            _check_key_types(keyed, self.stream2)
        environment = self.stream1.get_execution_environment()
        step = operator_step(
            environment,
            name,
            [self.stream1.transformation, self.stream2.transformation],
            factory,
            output_type,
            key_selectors=self._selectors(),
            key_type=keyed.key_type if keyed is not None else None,
        )
        return DataStream(environment, step)


class BroadcastStream:
    """A stream that reaches every subtask, with the state its elements are kept in."""

    def __init__(self, input_stream: DataStream, *broadcast_state_descriptors: MapStateDescriptor) -> None:
        self.input_stream = input_stream
        self.broadcast_state_descriptors = broadcast_state_descriptors


class BroadcastConnectedStream:
    """A stream, keyed or not, connected with a broadcast stream."""

    def __init__(self, non_broadcast_stream: DataStream, broadcast_stream: BroadcastStream) -> None:
        self.non_broadcast_stream = non_broadcast_stream
        self.broadcast_stream = broadcast_stream
        self.broadcast_state_descriptors = broadcast_stream.broadcast_state_descriptors

    def process(
        self,
        func: BroadcastProcessFunction | KeyedBroadcastProcessFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Handles the elements of both streams; those of the broadcast one come to every subtask.

        Example:
            ```python
            class ApplyRules(BroadcastProcessFunction):
                def process_element(self, value, ctx):
                    yield value, ctx.get_broadcast_state(rules).get(value.kind)

                def process_broadcast_element(self, value, ctx):
                    ctx.get_broadcast_state(rules).put(value.kind, value.rule)

            orders.connect(changes.broadcast(rules)).process(ApplyRules())
            ```
        """
        stream = self.non_broadcast_stream
        descriptors = self.broadcast_state_descriptors
        selector: Any = None
        if isinstance(stream, KeyedStream):
            function = as_function(func, KeyedBroadcastProcessFunction, where=call_site())
            name, selector = "Keyed-Co-Process-Broadcast", stream.key_selector
        else:
            function = as_function(func, BroadcastProcessFunction, where=call_site())
            name = "Co-Process-Broadcast"

        def make() -> Operator:
            if selector is not None:
                return KeyedBroadcastProcessOperator(function, descriptors, selector)
            return BroadcastProcessOperator(function, descriptors)

        environment = stream.get_execution_environment()
        step = operator_step(
            environment,
            name,
            [stream.transformation, self.broadcast_stream.input_stream.transformation],
            make,
            output_type,
            key_selectors=[selector, None],
            key_type=stream.key_type if isinstance(stream, KeyedStream) else None,
            requires_broadcast_first=1,
        )
        return DataStream(environment, step)


def _check_key_types(first: KeyedStream, second: KeyedStream) -> None:
    if first.key_type != second.key_type:
        raise ValidationError(
            f"connected streams have keys of different types: {first.key_type} and {second.key_type}",
            where=call_site(),
            do="give both key_by(...) calls the same key_type",
        )
