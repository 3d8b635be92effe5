"""SESSION windows: rows of a key that are at most a gap apart belong together.

A row opens the window [t, t + gap). It is merged with the open sessions it overlaps or touches, so a row between
two sessions makes them one:

    sessions    [---A---)      [--B--)
    row                 [----)
    after       [------------A-------)

A session is closed once the watermark has passed its end: rows that come then do not see it any more. A row that
touches no open session is late if its own window is closed too, and begins another session if it is not.

State per key is the list of its sessions, closed ones too until their timer fires. A session has a timer at or
before its end; one that fires too early, because the session has grown, is moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.errors import ValidationError
from penstock.common.typeinfo import Types
from penstock.delta.base import Batch, DeltaContext, DeltaOperator, Row
from penstock.delta.kept import WINDOW_ENDS, Kept, every_row
from penstock.delta.rows import identities, keys_of
from penstock.delta.time.clock import (
    LATE_RECORDS_DROPPED,
    WindowClock,
    due_in_order,
    times_of,
    watermarks_of,
)
from penstock.delta.time.windows import WINDOW_END, WINDOW_START, WINDOW_TIME, window_columns
from penstock.state.descriptors import ValueStateDescriptor

Session = list[Any]
"""[start, end, its changes as (row, kind)]; times of the wall clock."""


class SessionRows(DeltaOperator):
    """The SESSION table function: rows with the columns of their session, put out when it has ended.

    Output row: the input row, window_start, window_end, window_time.

    Args:
        key_columns: What the sessions are partitioned by.
        time_column: The row time; None for processing time.
        gap_ms: Rows that far apart, or nearer, are in one session.
        zone: The session zone if the time column is TIMESTAMP_LTZ, else None.
    """

    def __init__(
        self, key_columns: Sequence[int], time_column: int | None, gap_ms: int, *, zone: str | None = None
    ) -> None:
        if gap_ms <= 0:
            raise ValidationError(f"the gap of a session must be positive, got {gap_ms} ms")
        self._key_columns = tuple(key_columns)
        self._time_column = time_column
        self._gap_ms = gap_ms
        self._clock = WindowClock(zone)

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._key_columns

    def kept(self) -> tuple[Kept, ...]:
        return every_row(until=(WINDOW_ENDS,))

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        state = context.keyed_state
        self._sessions = state.get_partitioned_state(
            ValueStateDescriptor("sessions", Types.PICKLED_BYTE_ARRAY())
        )
        self._timers = state.processing_timers if self._time_column is None else state.event_timers

    # --- rows ---------------------------------------------------------------------------------------------

    def process(self, input_index: int, batch: Batch) -> None:
        keys = keys_of(batch.rows, self._key_columns)
        groups: dict[Any, list[int]] = {}
        for index, ident in enumerate(identities(keys)):
            groups.setdefault(ident, []).append(index)
        times, watermarks = self._times(batch), self._closed_until(batch)
        for indexes in groups.values():
            self.context.keyed_state.set_current_key(keys[indexes[0]])
            sessions: list[Session] = self._sessions.value() or []
            for index in indexes:
                self._take(sessions, batch.rows[index], batch.kinds[index], times[index], watermarks[index])
            if sessions:
                self._sessions.update(sessions)

    def _times(self, batch: Batch) -> list[int]:
        if self._time_column is None:
            return [self._clock.wall(self.context.processing_time_ms)] * len(batch)
        return [self._clock.wall(time_ms) for time_ms in times_of(batch, self._time_column)]

    def _closed_until(self, batch: Batch) -> Sequence[int]:
        """Up to when sessions were closed before each row; by processing time, up to the epoch's moment."""
        if self._time_column is None:
            return [self.context.processing_time_ms - 1] * len(batch)
        return watermarks_of(batch)

    def _emits_behind(self, end: int) -> int:
        """The watermark before what a session puts out."""
        return self.context.watermark if self._time_column is None else self._clock.fires_at(end) - 1

    def _take(self, sessions: list[Session], row: Row, kind: int, time_ms: int, watermark: int) -> None:
        fires_at = self._clock.fires_at
        start, end = time_ms, time_ms + self._gap_ms
        touched = [s for s in sessions if s[0] <= end and start <= s[1] and fires_at(s[1]) > watermark]
        if touched:
            session = touched[0] if len(touched) == 1 else self._join(sessions, touched)
            session[0] = min(session[0], start)
            session[1] = max(session[1], end)
            session[2].append((row, kind))
        elif fires_at(end) > watermark:
            sessions.append([start, end, [(row, kind)]])
            self._timers.register(fires_at(end))
        else:
            self.context.count(LATE_RECORDS_DROPPED)

    def _join(self, sessions: list[Session], touched: list[Session]) -> Session:
        """Replaces several sessions by one that holds them all."""
        touched.sort(key=lambda session: session[:2])
        changes = [change for session in touched for change in session[2]]
        merged = [touched[0][0], max(s[1] for s in touched), changes]
        sessions[:] = [s for s in sessions if not any(s is old for old in touched)]
        sessions.append(merged)
        return merged

    # --- time ---------------------------------------------------------------------------------------------

    def advance(self, watermark: int) -> None:
        if self._time_column is not None:
            self._close_until(watermark)

    def end_epoch(self) -> None:
        if self._time_column is None:
            self._close_until(self.context.processing_time_ms)

    def _close_until(self, time_ms: int) -> None:
        for timer in due_in_order(self._timers, time_ms):
            self.context.keyed_state.set_current_key(timer.key)
            sessions: list[Session] = self._sessions.value() or []
            due = [s for s in sessions if self._clock.fires_at(s[1]) <= timer.time_ms]
            left = [s for s in sessions if self._clock.fires_at(s[1]) > timer.time_ms]
            for start, end, changes in sorted(due, key=lambda session: session[:2]):
                self._emit(start, end, changes)
            for session in left:
                self._timers.register(self._clock.fires_at(session[1]))
            if left:
                self._sessions.update(left)
            else:
                self._sessions.clear()

    def _emit(self, start: int, end: int, changes: list[tuple[Row, int]]) -> None:
        columns = window_columns((WINDOW_START, WINDOW_END, WINDOW_TIME), start, end, self._clock)
        for row, kind in changes:
            self.output.append(row + columns, kind, self._emits_behind(end))
