"""The operator: events in the order of time, one automaton per key, and what it remembers in keyed state.

In event time an event waits until the watermark passes it, so that events that came out of order meet the
automaton in order. A watermark drains one key after the other:

    for each time with events ≤ watermark:   time passes to it; then its events, in order
    time passes to the watermark             what is out of time goes

Events of the running epoch wait in memory. What still waits when the epoch ends goes to keyed state, with a timer for
its time. A second kind of timer stands at the end of the time limit of each match that began.

In processing time an event is handled when it comes, unless a comparator orders events of the same millisecond; then
they wait until that millisecond is over.

State per key: `matches` (`nfa/match_state.py`), gone when nothing has begun, and `waiting`, events by time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Any, NoReturn

from penstock.cep.functions import PatternProcessFunction, TimedOutPartialMatchHandler
from penstock.cep.nfa.match_state import MatchState
from penstock.cep.nfa.nfa import NFA, FoundMatch, TimedOut
from penstock.cep.nfa.predicates import Look
from penstock.cep.pattern.conditions import RichIterativeCondition
from penstock.cep.pattern.pattern import Pattern
from penstock.common.errors import ValidationError
from penstock.common.typeinfo import TypeInformation, Types
from penstock.functions.base import RuntimeContext
from penstock.functions.output_tag import OutputTag
from penstock.functions.timers import TimeDomain
from penstock.operators.failures import user_error
from penstock.operators.keyed import KeyedOperator
from penstock.operators.runtime_context import StreamingRuntimeContext
from penstock.state.backend import Timer
from penstock.state.descriptors import MapStateDescriptor, StateDescriptor, ValueStateDescriptor
from penstock.state.keyed import StoredKeyedBackend

_WAITING = "waiting"
"""Namespace of timers at which events wait; the others are ends of time limits."""

_NOTHING: tuple[Any, ...] = ()


class CepOperator(KeyedOperator):
    """Runs a pattern on a keyed stream.

    Args:
        function: Handles matches; if it is a TimedOutPartialMatchHandler, timeouts too.
        pattern: The pattern, by its last step.
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
        pattern: Pattern,
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
        conditions = [c for c in self._nfa.conditions if isinstance(c, RichIterativeCondition)]
        return {"function": self.function, **{f"condition-{n}": c for n, c in enumerate(conditions)}}

    def context_for(self, name: str) -> RuntimeContext:
        return self._user_context

    def open(self) -> None:
        handles_timeouts = isinstance(self.function, TimedOutPartialMatchHandler)
        self._nfa = NFA(self.pattern, handles_timeouts)
        self._user_context = CepRuntimeContext(self.context)
        super().open()
        self._matches = self.runtime_context.get_state(
            ValueStateDescriptor("matches", Types.PICKLED_BYTE_ARRAY())
        )
        events = Types.PICKLED_BYTE_ARRAY() if self.event_type is None else Types.LIST(self.event_type)
        self._waiting = self.runtime_context.get_map_state(MapStateDescriptor(_WAITING, Types.LONG(), events))
        self._order = None if self.comparator is None else functools.cmp_to_key(self.comparator)
        self._match_context = _MatchContext(self)
        metrics = self.context.metrics
        self._late_dropped = metrics.counter("numLateRecordsDropped")
        self._partial_matches = metrics.counter("numPartialMatches")
        self._buffer_entries = metrics.counter("numBufferEntries")
        self._timed_out = metrics.counter("numPartialMatchesTimedOut")
        self._arrived = _Arrived()

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._arrived = _Arrived()

    def end_epoch(self) -> None:
        """Events that still wait go to keyed state, each time with a timer."""
        for entry, events in self._arrived.all():
            self.backend.set_current_entry(entry)
            for time_ms, values in _by_time(events):
                self._waiting.put(time_ms, [*(self._waiting.get(time_ms) or ()), *values])
                self.backend.event_timers.register(time_ms, _WAITING)
        self._arrived = _Arrived()
        super().end_epoch()

    # -- events ---------------------------------------------------------------------------------------------

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
        entries, find, add = self.backend.live_entries, self.backend.find_entry, self._arrived.add
        for value, time_ms in zip(values, timestamps, strict=True):
            if time_ms <= watermark:
                self._drop_late(value, time_ms)
                continue
            key = select(value)
            try:
                entry = entries[key]
            except (KeyError, TypeError):
                entry = find(key)
            if entry.key_type is not type(key) or entry.shape is not None:
                entry = find(key)
            add(entry, time_ms, value)
        self.results.flush()

    def _drop_late(self, value: Any, time_ms: int) -> None:
        if self.late_tag is None:
            self._late_dropped.inc()
        else:
            self.results.add_side(self.late_tag.tag_id, value, time_ms)

    def _process_now(self, values: list[Any]) -> None:
        select, now = self.key_selectors[0], self.context.clock.processing_time_ms
        assert select is not None
        value = None
        try:
            for value in values:
                self.backend.set_current_key(select(value))
                if self._order is None:
                    self._drain([(now, value)], now)
                else:
                    self._waiting.put(now, [*(self._waiting.get(now) or ()), value])
                    self.backend.processing_timers.register(now)
        except Exception as error:
            self._raise(error, value)
        self.results.flush(timestamped=False)

    # -- time -----------------------------------------------------------------------------------------------

    def advance(self, watermark: int) -> None:
        """Drains the keys that have something to do: events up to the watermark, or the end of a time limit."""
        due = self._due_by_timers(watermark)
        self._arrived.move_due(watermark, due)
        try:
            for entry, events in due.items():
                self.backend.set_current_entry(entry)
                events.sort(key=_time_of)
                self._drain(events, watermark)
        except Exception as error:
            self._raise(error)
        self.results.flush()

    def _due_by_timers(self, watermark: int) -> dict[Any, list[tuple[int, Any]]]:
        """Keys with a timer up to the watermark, and their events that have waited since an earlier epoch."""
        due: dict[Any, list[tuple[int, Any]]] = {}
        queue = self.backend.event_timers
        first = queue.next_time()
        if first is None or first > watermark:
            return due
        for timer in queue.pop_due(watermark):
            entry = self.backend.find_entry(timer.key)
            events = due.setdefault(entry, [])
            if timer.namespace == _WAITING:
                self.backend.set_current_entry(entry)
                events.extend((timer.time_ms, value) for value in self._waiting.get(timer.time_ms) or ())
                self._waiting.remove(timer.time_ms)
        return due

    def on_timer(self, timer: Timer, domain: TimeDomain) -> None:
        """Processing time only: events of a millisecond that is over, or the end of a time limit."""
        events = [(time_ms, value) for time_ms, values in self._waiting.items() for value in values]
        if events:
            self._waiting.clear()
            events.sort(key=_time_of)
        self._drain(events, self.context.clock.processing_time_ms)

    def _drain(self, events: list[tuple[int, Any]], up_to_ms: int) -> None:
        """Lets the current key's events meet its automaton, in order, and time pass to `up_to_ms`."""
        nfa, now = self._nfa, self.context.clock.processing_time_ms
        state: MatchState | None = self._matches.value()
        before = _size(state)
        last: int | None = None
        for time_ms, value in self._ordered(events):
            look = Look(value, time_ms, now)
            if state is None:
                if not nfa.can_start(look):
                    continue
                state = nfa.initial_state()
            if time_ms != last:
                self._pass_time(state, time_ms)
                last = time_ms
            found = nfa.process(state, look)
            if state.started and nfa.window_ms > 0:
                self._watch(time_ms + nfa.window_ms, up_to_ms)
            if found:
                self._emit_matches(found, time_ms)
        if state is not None:
            self._pass_time(state, up_to_ms)
            self._keep(state, before)

    def _ordered(self, events: list[tuple[int, Any]]) -> Iterable[tuple[int, Any]]:
        if self._order is None or len(events) < 2:
            return events
        return [
            (time_ms, value)
            for time_ms, values in _by_time(events)
            for value in sorted(values, key=self._order)
        ]

    def _pass_time(self, state: MatchState, time_ms: int) -> None:
        found, timed_out = self._nfa.advance_time(state, time_ms)
        if found:
            self._emit_matches(found, time_ms)
        if timed_out:
            self._emit_timeouts(timed_out)

    def _watch(self, limit_ms: int, up_to_ms: int) -> None:
        """A timer for the end of a time limit. The drain that is going on passes time to `up_to_ms` anyway."""
        if self.in_processing_time:
            self.backend.processing_timers.register(limit_ms)
        elif limit_ms > up_to_ms:
            self.backend.event_timers.register(limit_ms)

    def _keep(self, state: MatchState, before: tuple[int, int]) -> None:
        state.started = False
        if not state.changed:
            return
        state.changed = False
        if state.is_idle and not state.buffer:
            self._matches.clear()  # so a key takes no room between matches
        else:
            self._matches.update(state)
        partial, entries = _size(state)
        self._partial_matches.inc(partial - before[0])
        self._buffer_entries.inc(entries - before[1])

    def _raise(self, error: Exception, *value: Any) -> NoReturn:
        """With the place; an error of a condition, which has told its step and event, keeps its cause."""
        told = user_error(error, self.context, self.function, *value)
        if told is error:
            raise error
        raise told from error

    # -- results --------------------------------------------------------------------------------------------

    def _emit_matches(self, found: list[FoundMatch], time_ms: int) -> None:
        context, process, results = self._match_context, self.function.process_match, self.results
        context.timestamp_ms = time_ms
        for match in found:
            results.add_all(process(match, context), time_ms)

    def _emit_timeouts(self, timed_out: list[TimedOut]) -> None:
        context, process = self._match_context, self.function.process_timed_out_match
        self._timed_out.inc(len(timed_out))
        for match, time_ms in timed_out:
            context.timestamp_ms = time_ms
            self.results.add_all(process(match, context), time_ms)


class _Arrived:
    """Events of the running epoch that wait for the watermark, by key.

    `_first` has each key once for each time that was the smallest of its events, so that a watermark finds the keys
    with something to do without a look at the others.
    """

    def __init__(self) -> None:
        self._events: dict[Any, list[tuple[int, Any]]] = {}
        self._smallest: dict[Any, int] = {}
        self._first: list[tuple[int, int, Any]] = []
        self._number = 0

    def add(self, entry: Any, time_ms: int, value: Any) -> None:
        events = self._events.get(entry)
        if events is None:
            self._events[entry] = [(time_ms, value)]
        else:
            events.append((time_ms, value))
            if time_ms >= self._smallest[entry]:
                return
        self._note(entry, time_ms)

    def move_due(self, watermark: int, due: dict[Any, list[tuple[int, Any]]]) -> None:
        """Moves the events up to the watermark behind those that `due` has for their keys."""
        first = self._first
        while first and first[0][0] <= watermark:
            entry = heappop(first)[2]
            events = self._events.pop(entry, _NOTHING)
            if not events:
                continue
            del self._smallest[entry]
            later = [event for event in events if event[0] > watermark]
            due.setdefault(entry, []).extend(event for event in events if event[0] <= watermark)
            if later:
                self._events[entry] = later
                self._note(entry, min(time_ms for time_ms, _ in later))

    def all(self) -> Iterable[tuple[Any, list[tuple[int, Any]]]]:
        for entry, events in self._events.items():
            yield entry, sorted(events, key=_time_of)

    def _note(self, entry: Any, time_ms: int) -> None:
        self._smallest[entry] = time_ms
        self._number += 1
        heappush(self._first, (time_ms, self._number, entry))


class _MatchContext(PatternProcessFunction.Context):
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


class CepRuntimeContext(StreamingRuntimeContext):
    """What functions and conditions of a pattern get: everything but state, which belongs to the automaton."""

    def get_operator_state_store(self) -> Any:
        raise self._no_state("operator state")

    def _keyed_state(self, descriptor: StateDescriptor) -> Any:
        raise self._no_state(f"state {descriptor.name!r}")

    def _no_state(self, what: str) -> ValidationError:
        return ValidationError(
            f"{what} in a function or condition of a pattern",
            where=f"operator {self._context.name!r}",
            do="keep state in a process function behind the pattern",
        )


def _time_of(event: tuple[int, Any]) -> int:
    return event[0]


def _by_time(events: list[tuple[int, Any]]) -> list[tuple[int, list[Any]]]:
    """Events that are sorted by time, as lists of each time."""
    grouped: dict[int, list[Any]] = {}
    for time_ms, value in events:
        grouped.setdefault(time_ms, []).append(value)
    return list(grouped.items())


def _size(state: MatchState | None) -> tuple[int, int]:
    """Partial matches that have begun, and nodes in the buffer."""
    return (0, 0) if state is None else (len(state.partial) - 1, len(state.buffer.nodes))
