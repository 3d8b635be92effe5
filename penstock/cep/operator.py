"""The operator of the pattern library: elements in, what the user makes of matches out.

`matcher.py` has the order of time, timers and state. Here are the user's function and conditions, their lifecycle,
late elements, and errors that say where they happened.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

from penstock.cep.functions import PatternProcessFunction, TimedOutPartialMatchHandler
from penstock.cep.matcher import KeyedMatcher
from penstock.cep.nfa.found import FoundMatch, TimedOut
from penstock.cep.nfa.nfa import NFA
from penstock.cep.pattern.conditions import RichIterativeCondition
from penstock.cep.pattern.pattern import Pattern
from penstock.common.errors import ValidationError
from penstock.common.typeinfo import TypeInformation
from penstock.functions.base import RuntimeContext
from penstock.functions.output_tag import OutputTag
from penstock.functions.timers import TimeDomain
from penstock.operators.failures import raise_user_error
from penstock.operators.keyed import KeyedOperator
from penstock.operators.runtime_context import StatelessRuntimeContext
from penstock.state.backend import Timer
from penstock.state.keyed import StoredKeyedBackend


class CepOperator(KeyedOperator):
    """Runs a pattern on a keyed stream.

    Args:
        function: Handles matches; if it is a TimedOutPartialMatchHandler, timeouts too.
        pattern: The pattern, by its last step; None in a subclass that has others.
        key_selector: value -> key.
        comparator: (a, b) -> int, orders events of the same time; None: as they came.
        in_processing_time: Whether time is the clock rather than the events' timestamps.
        late_tag: Side output for events behind the watermark; None: they are counted and dropped.
        event_type: Type of the events; None: any.
    """

    backend: StoredKeyedBackend

    def __init__(
        self,
        function: PatternProcessFunction,
        pattern: Pattern | None,
        key_selector: Any,
        *,
        comparator: Callable[[Any, Any], int] | None = None,
        in_processing_time: bool = False,
        late_tag: OutputTag | None = None,
        event_type: TypeInformation | None = None,
    ) -> None:
        super().__init__(function, key_selector)
        self.pattern = pattern
        self.comparator = comparator
        self.in_processing_time = in_processing_time
        self.late_tag = late_tag
        self.event_type = event_type

    # -- lifecycle ------------------------------------------------------------------------------------------

    def functions(self) -> dict[str, Any]:
        leaves = () if self._nfa is None else self._nfa.conditions
        conditions = [c for c in leaves if isinstance(c, RichIterativeCondition)]
        return {"function": self.function, **{f"condition-{n}": c for n, c in enumerate(conditions)}}

    def context_for(self, name: str) -> RuntimeContext:
        return CepRuntimeContext(self.context, self.runtime_context.accumulators)

    def open(self) -> None:
        super().open()
        self.matcher = self.open_matcher()
        self._match_context = self.make_context()
        self._late_dropped = self.context.metrics.counter("numLateRecordsDropped")

    def open_matcher(self) -> KeyedMatcher:
        """The matcher, on this operator's keyed state."""
        context, metrics = self.runtime_context, self.context.metrics
        assert self.key_selectors[0] is not None
        return KeyedMatcher(
            self._nfa,
            self.backend,
            context._keyed_state,
            self.key_selectors[0],
            emit=self._emit_matches,
            emit_timeouts=self._emit_timeouts,
            count=lambda name, n: metrics.counter(name).inc(n),
            order=None if self.comparator is None else functools.cmp_to_key(self.comparator),
            in_processing_time=self.in_processing_time,
            event_type=self.event_type,
        )

    def make_context(self) -> MatchContext:
        """What functions get with a match."""
        return MatchContext(self)

    @functools.cached_property
    def _nfa(self) -> NFA | None:
        if self.pattern is None:
            return None
        return NFA(self.pattern, isinstance(self.function, TimedOutPartialMatchHandler))

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self.matcher.begin_epoch()

    def end_epoch(self) -> None:
        self.matcher.end_epoch()
        super().end_epoch()

    # -- elements and time ----------------------------------------------------------------------------------

    def process_elements(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        if self.in_processing_time:
            self._process_now(values)
        elif timestamps is not None:
            self._let_wait(values, timestamps)
        elif values:
            raise ValidationError(
                "a pattern in event time over elements without timestamps",
                where=f"operator {self.context.name!r}",
                do="call assign_timestamps_and_watermarks(...) before CEP.pattern(...), or in_processing_time()",
            )

    def _let_wait(self, values: list[Any], timestamps: list[int]) -> None:
        select, watermark = self.key_selectors[0], self.current_watermark
        assert select is not None
        if timestamps and min(timestamps) <= watermark:
            values, timestamps = self._without_late(values, timestamps, watermark)
        self.matcher.let_wait(map(select, values), timestamps, values)
        self.results.flush()

    def _without_late(
        self, values: list[Any], timestamps: list[int], watermark: int
    ) -> tuple[list[Any], list[int]]:
        kept = []
        for value, time_ms in zip(values, timestamps, strict=True):
            if time_ms > watermark:
                kept.append((value, time_ms))
            elif self.late_tag is None:
                self._late_dropped.inc()
            else:
                self.results.add_side(self.late_tag.tag_id, value, time_ms)
        return [value for value, _ in kept], [time_ms for _, time_ms in kept]

    def _process_now(self, values: list[Any]) -> None:
        select, now_ms = self.key_selectors[0], self.context.clock.processing_time_ms
        assert select is not None
        value = None
        try:
            for value in values:
                self.backend.set_current_key(select(value))
                self.matcher.take(value, now_ms)
        except Exception as error:
            self._raise(error, value)
        self.results.flush(timestamped=False)

    def advance(self, watermark: int) -> None:
        try:
            self.matcher.advance(watermark, self.context.clock.processing_time_ms)
        except Exception as error:
            self._raise(error)
        self.results.flush()

    def on_timer(self, timer: Timer, domain: TimeDomain) -> None:
        """Processing time only: the matcher takes timers of event time out itself."""
        self.matcher.on_processing_timer(self.context.clock.processing_time_ms)

    def _raise(self, error: Exception, *value: Any) -> NoReturn:
        """With the place; an error of a condition has told its step and event, and keeps its cause."""
        raise_user_error(error, self.context, self.function, *value)

    # -- results --------------------------------------------------------------------------------------------

    def _emit_matches(self, found: list[FoundMatch], time_ms: int) -> None:
        context, process, results = self._match_context, self.function.process_match, self.results
        context.timestamp_ms = time_ms
        for match in found:
            results.add_all(process(match, context), time_ms)

    def _emit_timeouts(self, timed_out: list[TimedOut]) -> None:
        context, process = self._match_context, self.function.process_timed_out_match
        for match, time_ms in timed_out:
            context.timestamp_ms = time_ms
            self.results.add_all(process(match, context), time_ms)


class MatchContext(PatternProcessFunction.Context):
    """One for the operator, changed for every match."""

    def __init__(self, operator: CepOperator) -> None:
        self._operator = operator
        self.timestamp_ms = 0

    def timestamp(self) -> int:
        return self.timestamp_ms

    def current_processing_time(self) -> int:
        return self._operator.context.clock.processing_time_ms

    def output(self, output_tag: OutputTag, value: Any) -> None:
        self._operator.results.add_side(output_tag.tag_id, value, self.timestamp_ms)


class CepRuntimeContext(StatelessRuntimeContext):
    """What functions and conditions of a pattern get: everything but state, which belongs to the automaton."""

    def _no_state(self, what: str) -> ValidationError:
        return ValidationError(
            f"{what} in a function or condition of a pattern",
            where=f"operator {self._context.name!r}",
            do="keep state in a process function behind the pattern",
        )
