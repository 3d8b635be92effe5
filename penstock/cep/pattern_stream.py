"""`PatternStream`: a stream and a pattern, waiting for what to do with the matches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.cep.adapters import (
    CallableProcessAdapter,
    FlatSelectAdapter,
    SelectAdapter,
    TimeoutFlatSelectAdapter,
    TimeoutSelectAdapter,
)
from penstock.cep.functions import (
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
)
from penstock.cep.nfa.compiler import compile_pattern
from penstock.cep.operator import CepOperator
from penstock.cep.pattern.pattern import Pattern
from penstock.cep.rules.operator import DynamicCepOperator
from penstock.common.errors import TypeMismatchError
from penstock.common.typeinfo import TypeInformation, Types
from penstock.datastream.builder import call_site, operator_step
from penstock.datastream.keyed_stream import KeyedStream
from penstock.datastream.stream import DataStream
from penstock.functions.base import Function
from penstock.functions.element import NullByteKeySelector
from penstock.functions.output_tag import OutputTag

if TYPE_CHECKING:
    from penstock.operators.base import Operator

__all__ = ["DynamicPatternStream", "PatternStream"]


class PatternStream:
    """Made by `CEP.pattern`. On a stream without keys one subtask looks at all events.

    Methods that set something return the stream itself. Event time is the default.
    """

    def __init__(
        self,
        input_stream: DataStream,
        pattern: Pattern | None,
        comparator: Callable[[Any, Any], int] | None = None,
    ) -> None:
        if pattern is not None:
            compile_pattern(pattern)  # so that what cannot work is told here
        self._stream = input_stream
        self._pattern = pattern
        self._comparator = comparator
        self._in_processing_time = False
        self._late_tag: OutputTag | None = None

    def in_event_time(self) -> PatternStream:
        """Events are matched in the order of their timestamps, when the watermark has passed them."""
        self._in_processing_time = False
        return self

    def in_processing_time(self) -> PatternStream:
        """Events are matched as they come; time is the clock."""
        self._in_processing_time = True
        return self

    def side_output_late_data(self, late_data_output_tag: OutputTag) -> PatternStream:
        """Events at or behind the watermark go to this side output instead of being dropped."""
        self._late_tag = _checked_tag(late_data_output_tag)
        return self

    def process(
        self,
        pattern_process_function: PatternProcessFunction | Callable[..., Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Calls the function for every match, and for timeouts if it is a `TimedOutPartialMatchHandler`."""
        function = pattern_process_function
        if not isinstance(function, PatternProcessFunction):
            function = CallableProcessAdapter(_checked(function, PatternProcessFunction))
        return self._build(function, output_type)

    def select(self, *arguments: Any, output_type: TypeInformation | None = None) -> DataStream:
        """`select(function)`, or `select(tag, timeout_function, function)` for timeouts in a side output.

        The output type may also be given as the last argument.
        """
        tag, timeout, select, output_type = _select_arguments("select", arguments, output_type)
        select = _checked(select, PatternSelectFunction)
        if tag is None:
            return self._build(SelectAdapter(select), output_type)
        timeout = _checked(timeout, PatternTimeoutFunction)
        return self._build(TimeoutSelectAdapter(select, timeout, tag), output_type)

    def flat_select(self, *arguments: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Like `select`, with functions that give any number of results."""
        tag, timeout, select, output_type = _select_arguments("flat_select", arguments, output_type)
        select = _checked(select, PatternFlatSelectFunction)
        if tag is None:
            return self._build(FlatSelectAdapter(select), output_type)
        timeout = _checked(timeout, PatternFlatTimeoutFunction)
        return self._build(TimeoutFlatSelectAdapter(select, timeout, tag), output_type)

    def _build(self, function: PatternProcessFunction, output_type: TypeInformation | None) -> DataStream:
        pattern, keyed, settings = self._pattern, self._keyed(), self._settings()

        def make() -> Operator:
            return CepOperator(function, pattern, keyed.key_selector, **settings)

        return self._step(keyed, make, output_type)

    def _settings(self) -> dict[str, Any]:
        return {
            "comparator": self._comparator,
            "in_processing_time": self._in_processing_time,
            "late_tag": self._late_tag,
            "event_type": self._stream.get_type(),
        }

    def _step(
        self,
        keyed: KeyedStream,
        make: Callable[[], Operator],
        output_type: TypeInformation | None,
        rules: DataStream | None = None,
    ) -> DataStream:
        environment = self._stream.get_execution_environment()
        one = None if isinstance(self._stream, KeyedStream) else 1
        inputs, selectors = [keyed.transformation], [keyed.key_selector]
        step = operator_step(
            environment,
            "CepOperator" if one is None else "GlobalCepOperator",
            inputs if rules is None else [*inputs, rules.transformation],
            make,
            output_type,
            key_selectors=selectors if rules is None else [*selectors, None],
            key_type=keyed.key_type,
            parallelism=one,
            max_parallelism=one,
            requires_broadcast_first=None if rules is None else 1,
        )
        return DataStream(environment, step)

    def _keyed(self) -> KeyedStream:
        if isinstance(self._stream, KeyedStream):
            return self._stream
        return KeyedStream(self._stream, NullByteKeySelector().get_key, Types.BYTE())


class DynamicPatternStream(PatternStream):
    """Made by `CEP.dynamic_patterns`: the patterns come as a stream of rules (`rules/rule.py`)."""

    def __init__(
        self,
        input_stream: DataStream,
        rules: DataStream,
        comparator: Callable[[Any, Any], int] | None = None,
    ) -> None:
        super().__init__(input_stream, None, comparator)
        self._rules = rules
        self._refused_tag: OutputTag | None = None

    def side_output_refused_rules(self, output_tag: OutputTag) -> DynamicPatternStream:
        """Rules that mean nothing go to this side output, each as a pair with what is wrong."""
        self._refused_tag = _checked_tag(output_tag)
        return self

    def _build(self, function: PatternProcessFunction, output_type: TypeInformation | None) -> DataStream:
        keyed, settings, refused_tag = self._keyed(), self._settings(), self._refused_tag

        def make() -> Operator:
            return DynamicCepOperator(function, keyed.key_selector, refused_tag=refused_tag, **settings)

        everywhere = self._rules.broadcast()
        assert isinstance(everywhere, DataStream)
        return self._step(keyed, make, output_type, everywhere)


def _select_arguments(
    method: str, arguments: tuple[Any, ...], output_type: TypeInformation | None
) -> tuple[OutputTag | None, Any, Any, TypeInformation | None]:
    rest = list(arguments)
    if rest and isinstance(rest[-1], TypeInformation):
        output_type = rest.pop()
    if len(rest) == 1:
        return None, None, rest[0], output_type
    if len(rest) == 3 and isinstance(rest[0], OutputTag):
        return rest[0], rest[1], rest[2], output_type
    raise TypeMismatchError(
        f"{method} takes a function, or an OutputTag, a timeout function and a function",
        where=call_site(),
        do=f"{method}(lambda match: ...) or {method}(tag, lambda match, timestamp: ..., lambda match: ...)",
    )


def _checked(function: Any, interface: type[Function]) -> Any:
    if isinstance(function, interface) or (callable(function) and not isinstance(function, (type, Function))):
        return function
    raise TypeMismatchError(
        f"expected a {interface.__name__} or a callable, got {function!r}", where=call_site()
    )


def _checked_tag(output_tag: Any) -> OutputTag:
    if not isinstance(output_tag, OutputTag):
        raise TypeMismatchError(f"expected an OutputTag, got {output_tag!r}", where=call_site())
    return output_tag
