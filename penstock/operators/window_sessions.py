"""Event-time session windows with reduce or aggregate: the open sessions of a key are one small list.

The general operator keeps a window per session, a name for its contents, and a timer that moves with every element.
Here a key has the list of its open sessions, by start, and nearly every element belongs to the last one:

    sessions   [(start, end, accumulator), …]        they neither overlap nor touch
    element    time within the last session          its end moves, its accumulator grows: nothing else happens
               anything else                         a new session, or several become one

Timers do not move. A session's timer stands where its end was when the session was new; when it fires and the end
has moved on, the next one is registered for the earliest end of the key. So a key always has a timer at or before
the end of each of its sessions, and a busy session costs one timer per gap, not one per element.
"""

from __future__ import annotations

from typing import Any

from penstock.common.ids import MIN_TIMESTAMP
from penstock.common.typeinfo import Types
from penstock.operators.dead_letters import POISONED, bury
from penstock.operators.failures import raise_user_error
from penstock.operators.window import WindowOperator
from penstock.operators.window_contents import CombinedContents
from penstock.state.descriptors import ValueStateDescriptor
from penstock.state.keyed import StoredKeyedBackend
from penstock.state.overlay import UNLOADED, Entry
from penstock.state.value_state import KeyedValueState
from penstock.windowing.assigner import require_timestamp
from penstock.windowing.session import DynamicEventTimeSessionWindows, EventTimeSessionWindows
from penstock.windowing.windows import TimeWindow

_FLAT_KEYS = frozenset({str, bytes, int})

Session = tuple[int, int, Any]
"""Start, end, accumulator."""


class SessionWindowOperator(WindowOperator):
    """Event-time sessions, the default trigger, no evictor, no allowed lateness, combined contents."""

    assigner: EventTimeSessionWindows | DynamicEventTimeSessionWindows
    contents: CombinedContents
    backend: StoredKeyedBackend

    def open(self) -> None:
        super().open()
        kind = self.contents.accumulator_type
        sessions = Types.PICKLED_BYTE_ARRAY()
        if kind is not None:
            sessions = Types.LIST(Types.TUPLE([Types.LONG(), Types.LONG(), kind]))
        descriptor = ValueStateDescriptor("session-windows", sessions)
        self._state: KeyedValueState = self.backend.get_partitioned_state(descriptor)

    # -- elements ---------------------------------------------------------------------------------------------

    def process_elements(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        if timestamps is None:
            if values:
                require_timestamp(MIN_TIMESTAMP, self.assigner)
            return
        select, add, gap_of = self.key_selectors[0], self.contents.folder(), self.assigner.gap_of
        assert select is not None
        entries, find = self.backend.live_entries, self.backend.find_entry
        slot, dirty, read = self._state.index, self._state.dirty, self._state.read
        rest = zip(values, timestamps, strict=True)
        while True:
            try:
                for value, time in rest:
                    if time == MIN_TIMESTAMP:
                        require_timestamp(time, self.assigner)
                    key = select(value)
                    kind = key.__class__
                    entry = entries.get(key) if kind in _FLAT_KEYS else None
                    if entry is None or entry.key_type is not kind:
                        entry = find(key)
                    sessions = entry.slots[slot]
                    if sessions is UNLOADED:
                        sessions = read(entry)
                    end = time + gap_of(value)
                    if sessions:
                        start, last, accumulator = sessions[-1]
                        if start <= time <= last:
                            sessions[-1] = (start, end if end > last else last, add(value, accumulator))
                            dirty[entry] = None
                            continue
                    self._add(entry, sessions or [], time, end, value)
                break
            except Exception as error:
                bury(error, self.context, self.function, value, time)
        self.results.flush()

    def _add(self, entry: Entry, sessions: list[Session], time: int, end: int, value: Any) -> None:
        """An element that does not simply belong to the last session."""
        low = next((i for i, session in enumerate(sessions) if session[1] >= time), len(sessions))
        high = next((i for i in range(low, len(sessions)) if sessions[i][0] > end), len(sessions))
        if low == high:
            if end - 1 <= self.current_watermark:
                self.drop_late(value, time)
                return
            sessions.insert(low, (time, end, self.contents.first(value)))
            self.backend.event_timers.register_entries(end - 1, [entry])
        else:
            touched = sessions[low:high]
            accumulator = touched[0][2]
            for session in touched[1:]:
                accumulator = self.contents.combine(accumulator, session[2])
            accumulator = self.contents.folder()(value, accumulator)
            whole = (min(time, touched[0][0]), max(end, touched[-1][1]), accumulator)
            sessions[low:high] = [whole]
        self._keep(entry, sessions)

    def _keep(self, entry: Entry, sessions: list[Session]) -> None:
        entry.slots[self._state.index] = sessions or None
        self._state.dirty[entry] = None

    # -- firing -----------------------------------------------------------------------------------------------

    def advance(self, watermark: int) -> None:
        # One time after the other: where an end has moved on, the timer for it is registered on the way.
        queue = self.backend.event_timers
        due = queue.next_time()
        entry = None
        try:
            while due is not None and due <= watermark:
                for time_ms, entries in queue.pop_entries(due):
                    for entry in entries:
                        self._fire_sessions(entry, time_ms)
                due = queue.next_time()
        except Exception as error:
            at = f"a session of key {entry.key!r} at {due}" if entry else "a session"
            raise_user_error(error, self.context, self.function, during=at)
        self.results.flush()

    def _fire_sessions(self, entry: Entry, time_ms: int) -> None:
        """Fires what ends at this time, and sees to it that the rest has a timer."""
        sessions: list[Session] = self._state.read(entry) or []
        for session in sessions:
            if session[1] - 1 <= time_ms:
                self._emit(entry, session)
        still = [session for session in sessions if session[1] - 1 > time_ms]
        if len(still) < len(sessions):
            self._keep(entry, still)
        if still:
            earliest = min(session[1] for session in still)
            self.backend.event_timers.register_entries(earliest - 1, [entry])

    def _emit(self, entry: Entry, session: Session) -> None:
        start, end, accumulator = session
        self.backend.set_current_entry(entry)
        window = TimeWindow(start, end)
        result = self.evaluated(window, lambda: self.contents.result(accumulator))
        if result is not POISONED:
            self.emit_window(window, (result,))
        self.window_function.clear(self.window_context.at(window))

    def on_key_finished(self) -> None:
        self._state.clear()
