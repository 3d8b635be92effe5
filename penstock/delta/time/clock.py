"""From time columns to milliseconds and back, and the session zone in which windows are aligned.

A TIMESTAMP column is a naive datetime, a TIMESTAMP_LTZ column a naive datetime in UTC. Windows over TIMESTAMP_LTZ
are aligned to the wall clock of the session zone, so that a day begins at midnight there: window bounds are
*wall* milliseconds, the reading of that clock as if it were UTC; timers and watermarks are *epoch* milliseconds.

    winter -> summer     01:59:59 | 03:00:00       wall times in between do not exist
    summer -> winter     02:59:59 | 02:00:00       wall times in between exist twice; a window waits for the second
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from penstock.common.errors import MalformedRecordError
from penstock.common.ids import MIN_WATERMARK
from penstock.delta.base import Batch
from penstock.state.backend import Timer, TimerQueue

EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_UTC = EPOCH.replace(tzinfo=dt.timezone.utc)
_MS = dt.timedelta(milliseconds=1)
_HOUR_MS = 3_600_000
_QUARTER_MS = 900_000
"""Zones change their offset at whole quarters of an hour of UTC."""
_CACHED_TIMES = 10_000

LATE_RECORDS_DROPPED = "numLateRecordsDropped"


def to_ms(value: dt.datetime | None) -> int:
    """Milliseconds since 1970 of a time column."""
    if value is None:
        raise MalformedRecordError(
            "rowtime must not be null",
            do="filter such rows out before they reach the watermark, or give the column a default",
        )
    if value.tzinfo is not None:
        return (value - _EPOCH_UTC) // _MS
    return (value - EPOCH) // _MS


def from_ms(time_ms: int) -> dt.datetime:
    return EPOCH + time_ms * _MS


def times_of(batch: Batch, column: int) -> list[int]:
    """The time column of a batch in milliseconds."""
    return [to_ms(row[column]) for row in batch.rows]


def watermarks_of(batch: Batch) -> Sequence[int]:
    """The watermark before each row; the least one where the input has no event time."""
    return batch.watermarks if batch.watermarks is not None else [MIN_WATERMARK] * len(batch)


def due_in_order(timers: TimerQueue, up_to_ms: int) -> Iterator[Timer]:
    """Takes the due timers out, in order of time, also those that are registered meanwhile."""
    while (time_ms := timers.next_time()) is not None and time_ms <= up_to_ms:
        yield from timers.pop_due(time_ms)


class WindowClock:
    """Translates between epoch and wall milliseconds of a zone; without one they are the same."""

    def __init__(self, zone: str | None = None) -> None:
        self._zone = None if zone is None or zone == "UTC" else ZoneInfo(zone)
        self.has_zone = self._zone is not None
        self._offsets: dict[int, int] = {}
        self._firing_times: dict[int, int] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return WindowClock, (None if self._zone is None else self._zone.key,)

    def wall(self, epoch_ms: int) -> int:
        """What the clock on the wall shows."""
        if self._zone is None:
            return epoch_ms
        quarter = epoch_ms // _QUARTER_MS
        offset = self._offsets.get(quarter)
        if offset is None:
            moment = _EPOCH_UTC + quarter * _QUARTER_MS * _MS
            offset = self._offsets[quarter] = (
                moment.astimezone(self._zone).utcoffset() or dt.timedelta()
            ) // _MS
        return epoch_ms + offset

    def epoch(self, wall_ms: int) -> int:
        """When the wall clock shows it: the first time; skipped readings count on from before the skip."""
        if self._zone is None:
            return wall_ms
        return (from_ms(wall_ms).replace(tzinfo=self._zone) - _EPOCH_UTC) // _MS

    def fires_at(self, window_end: int) -> int:
        """The watermark at which a window that ends at this wall time is complete."""
        if self._zone is None:
            return window_end - 1
        time_ms = self._firing_times.get(window_end)
        if time_ms is None:
            if len(self._firing_times) > _CACHED_TIMES:
                self._firing_times.clear()
            time_ms = self._firing_times[window_end] = self._end_of(window_end - 1)
        return time_ms

    def _end_of(self, last: int) -> int:
        """When the clock shows `last` for the last time, or jumps over it."""
        first = self.epoch(last)
        an_hour_on = self.epoch(last + _HOUR_MS)
        if first == an_hour_on:
            return first - first % _HOUR_MS
        return first + _HOUR_MS if an_hour_on - first > _HOUR_MS else first
