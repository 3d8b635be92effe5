"""Events in the order of time, one automaton per key, and what it remembers in keyed state.

In event time an event waits until the watermark passes it (`waiting.py`). A watermark drains one key after the other:

    for each time with events ≤ watermark:   time passes to it; then its events, in order
    time passes to the watermark             what is out of time goes

Most events change nothing: no partial match of their key takes them or ends by them, and they begin none. Of these
the automaton sees nothing but the answers of the conditions that say so (`NFA.calm_of`). A key in which nothing has
begun has no state at all. A key with partial matches has a timer at the end of the time limit of the oldest one.

In processing time an event is handled when it comes, unless events of the same millisecond are to be ordered; then
they wait until that millisecond is over.

State per key: `matches` (`nfa/match_state.py`), gone when nothing has begun.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from penstock.cep.nfa.found import FoundMatch, TimedOut
from penstock.cep.nfa.heap import NOT_STARTED, PartialMatch
from penstock.cep.nfa.match_state import MatchState
from penstock.cep.nfa.nfa import NEVER_MS, NFA
from penstock.cep.nfa.predicates import Look, answers_of
from penstock.cep.waiting import Event, WaitingEvents
from penstock.common.typeinfo import TypeInformation, Types
from penstock.state.descriptors import MapStateDescriptor, StateDescriptor, ValueStateDescriptor
from penstock.state.keyed import StoredKeyedBackend

PARTIAL_MATCHES, BUFFER_ENTRIES = "numPartialMatches", "numBufferEntries"
TIMED_OUT, PRUNED = "numPartialMatchesTimedOut", "numPartialMatchesPruned"

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
        key_of: event -> key.
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
        key_of: Callable[[Any], Any],
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
        self._waiting = WaitingEvents(backend, state_of, key_of, event_type)
        if in_processing_time and order is not None:
            events = Types.PICKLED_BYTE_ARRAY() if event_type is None else Types.LIST(event_type)
            self._unordered = state_of(MapStateDescriptor("unordered", Types.LONG(), events))
        self._forget_counts()

    def begin_epoch(self) -> None:
        """Forgets what an epoch that was given up has left."""
        self._waiting.begin_epoch()
        self._forget_counts()

    def end_epoch(self) -> None:
        """Events that still wait go to keyed state."""
        self._waiting.end_epoch()
        self._count(PARTIAL_MATCHES, self._partial)
        self._count(BUFFER_ENTRIES, self._entries)
        self._count(TIMED_OUT, self._timed_out)
        self._count(PRUNED, self._pruned)
        self._forget_counts()

    def _forget_counts(self) -> None:
        self._partial = self._entries = self._timed_out = self._pruned = 0

    # -- event time -----------------------------------------------------------------------------------------

    def let_wait(self, keys: Iterable[Any], times_ms: Iterable[int], values: Iterable[Any]) -> None:
        """Events that the watermark has not passed."""
        self._waiting.add_all(keys, times_ms, values)

    def advance(self, watermark: int, now_ms: int) -> None:
        """Drains the keys that have something to do: events up to the watermark, or the end of a time limit."""
        for entry, events in self._waiting.take_due(watermark).items():
            self._backend.set_current_entry(entry)
            self._drain(events, watermark, now_ms)

    # -- processing time ------------------------------------------------------------------------------------

    def take(self, value: Any, now_ms: int) -> None:
        """An event of the current key that comes now."""
        if self._order is None:
            self._drain([(now_ms, value)], now_ms, now_ms)
        else:
            self._unordered.put(now_ms, [*(self._unordered.get(now_ms) or ()), value])
            self._backend.processing_timers.register(now_ms)

    def on_processing_timer(self, now_ms: int) -> None:
        """A millisecond with events of the current key is over, or a time limit."""
        events: list[Event] = []
        if self._order is not None:
            events = [(time_ms, value) for time_ms, values in self._unordered.items() for value in values]
            if events:
                self._unordered.clear()
                events.sort(key=_time_of)
        self._drain(events, now_ms, now_ms)

    # -- both -----------------------------------------------------------------------------------------------

    def _drain(self, events: list[Event], up_to_ms: int, now_ms: int) -> None:
        """Lets the current key's events meet its automata, in order, and time pass to `up_to_ms`."""
        if self.before_drain is not None:
            self.before_drain()
        ordered = self._ordered(events)
        for lane in self.lanes:
            self.lane = lane
            state = lane.load()
            if state is not None or (lane.may_start and events):
                self._drain_lane(lane, state, ordered, up_to_ms, now_ms)

    def _drain_lane(
        self, lane: Lane, state: MatchState | None, events: list[Event], up_to_ms: int, now_ms: int
    ) -> None:
        nfa = lane.nfa
        if state is not None and not lane.may_start:
            state.partial.remove_if(_has_not_begun)
        before = _size(state)
        questions, calm_until_ms = nfa.calm_at_start if state is None else nfa.calm_of(state)
        for time_ms, value in events:
            if time_ms >= calm_until_ms and state is not None:
                self._pass_time(nfa, state, time_ms)
                questions, calm_until_ms = nfa.calm_of(state)
            answers = None
            if questions is not None:
                answers = answers_of(questions, value)
                if answers is None:
                    continue
            look = Look(value, time_ms, now_ms, answers)
            if state is None:
                if not nfa.can_start(look):
                    continue
                state = nfa.initial_state()
            self._process(nfa, state, look, up_to_ms)
            questions, calm_until_ms = nfa.calm_of(state)
        if state is not None:
            if up_to_ms >= calm_until_ms:
                self._pass_time(nfa, state, up_to_ms)
            self._keep(lane, state, before, up_to_ms)

    def _process(self, nfa: NFA, state: MatchState, look: Look, up_to_ms: int) -> None:
        found = nfa.process(state, look)
        if state.started:
            state.started = False
            if nfa.wakes_for_each(state):
                self._wake_at(look.timestamp_ms + nfa.window_ms, up_to_ms)
        if found:
            self._emit(found, look.timestamp_ms)

    def _ordered(self, events: list[Event]) -> list[Event]:
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
            self._emit_timeouts(timed_out)

    def _wake_at(self, limit_ms: int, up_to_ms: int) -> None:
        """A timer for the end of a time limit. The drain that is going on passes time to `up_to_ms` anyway."""
        if self._in_processing_time:
            self._backend.processing_timers.register(limit_ms)
        elif limit_ms > up_to_ms:
            self._backend.event_timers.register(limit_ms)

    def _keep(self, lane: Lane, state: MatchState, before: tuple[int, int], up_to_ms: int) -> None:
        limit_ms = lane.nfa.calm_of(state).until_ms
        is_awaited = up_to_ms < state.wakes_ms <= limit_ms
        if up_to_ms < limit_ms < NEVER_MS and not is_awaited and not lane.nfa.wakes_for_each(state):
            state.wakes_ms = limit_ms
            self._wake_at(limit_ms, up_to_ms)
        if not state.changed:
            return
        state.changed = False
        idle = state.is_idle and not state.buffer
        lane.save(None if idle else state)  # so a key takes no room between matches
        partial, entries = _size(state)
        self._partial += partial - before[0]
        self._entries += entries - before[1]
        self._timed_out += state.timed_out
        self._pruned += state.pruned
        state.timed_out = state.pruned = 0


def _by_time(events: list[Event]) -> list[tuple[int, list[Any]]]:
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


def _time_of(event: Event) -> int:
    return event[0]
