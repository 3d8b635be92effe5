"""Events in the order of time, one automaton per key, and what it remembers in keyed state.

In event time an event waits until the watermark passes it, so that events that came out of order meet the
automaton in order. A watermark drains one key after the other:

    for each time with events ≤ watermark:   time passes to it; then its events, in order
    time passes to the watermark             what is out of time goes

Events of the running epoch wait in memory. What still waits when the epoch ends goes to keyed state, with a timer for
its time. A second kind of timer stands at the end of the time limit of each match that began.

In processing time an event is handled when it comes, unless events of the same millisecond are to be ordered; then
they wait until that millisecond is over.

State per key: `matches` (`nfa/match_state.py`), gone when nothing has begun, and `waiting`, events by time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import Any

from penstock.cep.nfa.heap import NOT_STARTED, PartialMatch
from penstock.cep.nfa.match_state import MatchState
from penstock.cep.nfa.nfa import NFA, FoundMatch, TimedOut
from penstock.cep.nfa.predicates import Look
from penstock.common.typeinfo import TypeInformation, Types
from penstock.state.descriptors import MapStateDescriptor, StateDescriptor, ValueStateDescriptor
from penstock.state.keyed import StoredKeyedBackend

PARTIAL_MATCHES, BUFFER_ENTRIES = "numPartialMatches", "numBufferEntries"
TIMED_OUT = "numPartialMatchesTimedOut"

_WAITING = "waiting"
"""Namespace of timers at which events wait; the others are ends of time limits."""

_NOTHING: tuple[Any, ...] = ()

EventOrder = Callable[[Any], Any]
"""A key for `sorted`, for events of the same time."""


class Lane(ABC):
    """An automaton, and where its partial matches of the current key are kept."""

    def __init__(self, nfa: NFA, may_start: bool = True) -> None:
        self.nfa = nfa
        self.may_start = may_start
        """Whether new matches may begin, or only those that have begun may end."""

    @abstractmethod
    def load(self) -> MatchState | None:
        """None: nothing has begun."""

    @abstractmethod
    def save(self, state: MatchState | None) -> None:
        """None: nothing has begun."""


class ValueLane(Lane):
    """The only automaton of an operator: a value per key."""

    def __init__(self, nfa: NFA, matches: Any) -> None:
        super().__init__(nfa)
        self._matches = matches

    def load(self) -> MatchState | None:
        state: MatchState | None = self._matches.value()
        return state

    def save(self, state: MatchState | None) -> None:
        if state is None:
            self._matches.clear()
        else:
            self._matches.update(state)


class KeyedMatcher:
    """Runs automata for each key of a backend. Whoever hosts it says what becomes of matches.

    Args:
        nfa: The automaton; None: `lanes` will be given.
        backend: Has the current key, and timers.
        state_of: Gives the state of a descriptor.
        emit: Called with matches that leave together, and their time.
        emit_timeouts: Called with partial matches that ran out of time.
        count: Called with the name of a metric and by how much it changed.
        order: Orders events of the same time; None: as they came.
        in_processing_time: Whether time is the clock rather than that of the events.
        event_type: Type of the events; None: any.
    """

    def __init__(
        self,
        nfa: NFA | None,
        backend: StoredKeyedBackend,
        state_of: Callable[[StateDescriptor], Any],
        *,
        emit: Callable[[list[FoundMatch], int], None],
        emit_timeouts: Callable[[list[TimedOut]], None],
        count: Callable[[str, int], None],
        order: EventOrder | None = None,
        in_processing_time: bool = False,
        event_type: TypeInformation | None = None,
    ) -> None:
        self._backend = backend
        self._emit = emit
        self._emit_timeouts = emit_timeouts
        self._count = count
        self._order = order
        self._in_processing_time = in_processing_time
        self.lanes: Sequence[Lane] = ()
        self.lane: Lane
        """The one at work."""
        self.before_drain: Callable[[], None] | None = None
        """Called for each key before its automata are at work."""
        if nfa is not None:
            matches = state_of(ValueStateDescriptor("matches", Types.PICKLED_BYTE_ARRAY()))
            self.lanes = (ValueLane(nfa, matches),)
        events = Types.PICKLED_BYTE_ARRAY() if event_type is None else Types.LIST(event_type)
        self._waiting = state_of(MapStateDescriptor(_WAITING, Types.LONG(), events))
        self._arrived = _Arrived()

    def begin_epoch(self) -> None:
        """Forgets what an epoch that was given up has left."""
        self._arrived = _Arrived()

    def end_epoch(self) -> None:
        """Events that still wait go to keyed state, each time with a timer."""
        for entry, events in self._arrived.all():
            self._backend.set_current_entry(entry)
            for time_ms, values in _by_time(events):
                self._waiting.put(time_ms, [*(self._waiting.get(time_ms) or ()), *values])
                self._backend.event_timers.register(time_ms, _WAITING)
        self._arrived = _Arrived()

    # -- event time -----------------------------------------------------------------------------------------

    def let_wait(self, key: Any, time_ms: int, value: Any) -> None:
        """An event that the watermark has not passed."""
        try:
            entry = self._backend.live_entries[key]
        except (KeyError, TypeError):
            entry = self._backend.find_entry(key)
        if entry.key_type is not type(key) or entry.shape is not None:
            entry = self._backend.find_entry(key)
        self._arrived.add(entry, time_ms, value)

    def advance(self, watermark: int, now_ms: int) -> None:
        """Drains the keys that have something to do: events up to the watermark, or the end of a time limit."""
        due = self._due_by_timers(watermark)
        self._arrived.move_due(watermark, due)
        for entry, events in due.items():
            self._backend.set_current_entry(entry)
            events.sort(key=_time_of)
            self._drain(events, watermark, now_ms)

    def _due_by_timers(self, watermark: int) -> dict[Any, list[tuple[int, Any]]]:
        """Keys with a timer up to the watermark, and their events that have waited since an earlier epoch."""
        due: dict[Any, list[tuple[int, Any]]] = {}
        queue = self._backend.event_timers
        first = queue.next_time()
        if first is None or first > watermark:
            return due
        for timer in queue.pop_due(watermark):
            entry = self._backend.find_entry(timer.key)
            events = due.setdefault(entry, [])
            if timer.namespace == _WAITING:
                self._backend.set_current_entry(entry)
                events.extend((timer.time_ms, value) for value in self._waiting.get(timer.time_ms) or ())
                self._waiting.remove(timer.time_ms)
        return due

    # -- processing time ------------------------------------------------------------------------------------

    def take(self, value: Any, now_ms: int) -> None:
        """An event of the current key that comes now."""
        if self._order is None:
            self._drain([(now_ms, value)], now_ms, now_ms)
        else:
            self._waiting.put(now_ms, [*(self._waiting.get(now_ms) or ()), value])
            self._backend.processing_timers.register(now_ms)

    def on_processing_timer(self, now_ms: int) -> None:
        """A millisecond with events of the current key is over, or a time limit."""
        events = [(time_ms, value) for time_ms, values in self._waiting.items() for value in values]
        if events:
            self._waiting.clear()
            events.sort(key=_time_of)
        self._drain(events, now_ms, now_ms)

    # -- both -----------------------------------------------------------------------------------------------

    def _drain(self, events: list[tuple[int, Any]], up_to_ms: int, now_ms: int) -> None:
        """Lets the current key's events meet its automata, in order, and time pass to `up_to_ms`."""
        if self.before_drain is not None:
            self.before_drain()
        ordered = self._ordered(events)
        for lane in self.lanes:
            self.lane = lane
            self._drain_lane(lane, ordered, up_to_ms, now_ms)

    def _drain_lane(self, lane: Lane, events: list[tuple[int, Any]], up_to_ms: int, now_ms: int) -> None:
        nfa, state = lane.nfa, lane.load()
        if not lane.may_start:
            if state is None:
                return
            state.partial.remove_if(_has_not_begun)
        before = _size(state)
        last: int | None = None
        can_start, process, window_ms = nfa.can_start, nfa.process, nfa.window_ms
        for time_ms, value in events:
            look = Look(value, time_ms, now_ms)
            if state is None:
                if not can_start(look):
                    continue
                state = nfa.initial_state()
            if time_ms != last:
                self._pass_time(nfa, state, time_ms)
                last = time_ms
            found = process(state, look)
            if window_ms > 0 and state.started:
                self._watch(time_ms + window_ms, up_to_ms)
            if found:
                self._emit(found, time_ms)
        if state is not None:
            self._pass_time(nfa, state, up_to_ms)
            self._keep(lane, state, before)

    def _ordered(self, events: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
        if self._order is None or len(events) < 2:
            return events
        return [
            (time_ms, value)
            for time_ms, values in _by_time(events)
            for value in sorted(values, key=self._order)
        ]

    def _pass_time(self, nfa: NFA, state: MatchState, time_ms: int) -> None:
        found, timed_out = nfa.advance_time(state, time_ms)
        if found:
            self._emit(found, time_ms)
        if timed_out:
            self._count(TIMED_OUT, len(timed_out))
            self._emit_timeouts(timed_out)

    def _watch(self, limit_ms: int, up_to_ms: int) -> None:
        """A timer for the end of a time limit. The drain that is going on passes time to `up_to_ms` anyway."""
        if self._in_processing_time:
            self._backend.processing_timers.register(limit_ms)
        elif limit_ms > up_to_ms:
            self._backend.event_timers.register(limit_ms)

    def _keep(self, lane: Lane, state: MatchState, before: tuple[int, int]) -> None:
        state.started = False
        if not state.changed:
            return
        state.changed = False
        idle = state.is_idle and not state.buffer
        lane.save(None if idle else state)  # so a key takes no room between matches
        partial, entries = _size(state)
        self._count(PARTIAL_MATCHES, partial - before[0])
        self._count(BUFFER_ENTRIES, entries - before[1])


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
    return (0, 0) if state is None else (state.begun, len(state.buffer.nodes))


def _has_not_begun(match: PartialMatch) -> bool:
    return match.start == NOT_STARTED
