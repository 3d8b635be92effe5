"""Spans and points of time as Flink's programs write them.

`Duration` is Java's: an exact number of nanoseconds. `Time` is Flink 1.x's window length in milliseconds;
windows take either. `Instant` is a point on the time line, seconds and nanoseconds since 1970 (UTC).
"""

from __future__ import annotations

import datetime
from functools import total_ordering

__all__ = ["Duration", "Instant", "Time"]

_NANOS_PER_MILLI = 1_000_000
_NANOS_PER_SECOND = 1_000_000_000


@total_ordering
class Duration:
    """An amount of time, made by `Duration.of_seconds(5)` and its siblings."""

    __slots__ = ("_nanos",)

    def __init__(self, nanos: int) -> None:
        self._nanos = int(nanos)

    @staticmethod
    def of_days(days: int) -> Duration:
        """So many days of 24 hours."""
        return Duration(days * 86_400 * _NANOS_PER_SECOND)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """So many hours."""
        return Duration(hours * 3_600 * _NANOS_PER_SECOND)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """So many minutes."""
        return Duration(minutes * 60 * _NANOS_PER_SECOND)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """So many seconds."""
        return Duration(seconds * _NANOS_PER_SECOND)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """So many milliseconds."""
        return Duration(millis * _NANOS_PER_MILLI)

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """So many nanoseconds."""
        return Duration(nanos)

    def to_millis(self) -> int:
        """Whole milliseconds, rounded down as in Java."""
        return self._nanos // _NANOS_PER_MILLI

    def to_nanos(self) -> int:
        """The length in nanoseconds."""
        return self._nanos

    def to_timedelta(self) -> datetime.timedelta:
        """The length as Python's timedelta, cut to microseconds."""
        return datetime.timedelta(microseconds=self._nanos // 1_000)

    def is_zero(self) -> bool:
        """Whether it has no length."""
        return self._nanos == 0

    def is_negative(self) -> bool:
        """Whether it is less than zero."""
        return self._nanos < 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self._nanos == other._nanos

    def __lt__(self, other: Duration) -> bool:
        return self._nanos < other._nanos

    def __hash__(self) -> int:
        return hash(("Duration", self._nanos))

    def __repr__(self) -> str:
        if self._nanos % _NANOS_PER_MILLI:
            return f"Duration({self._nanos} ns)"
        return f"Duration({self._nanos // _NANOS_PER_MILLI} ms)"


@total_ordering
class Instant:
    """A point on the time line: `seconds` since 1970-01-01T00:00Z plus `nanos` (0 to 999,999,999)."""

    __slots__ = ("nanos", "seconds")

    def __init__(self, seconds: int, nanos: int) -> None:
        self.seconds = seconds
        self.nanos = nanos

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        """The moment so many milliseconds after 1970-01-01 00:00:00 UTC."""
        seconds, millis = divmod(epoch_milli, 1_000)
        return Instant(seconds, millis * _NANOS_PER_MILLI)

    def to_epoch_milli(self) -> int:
        """Milliseconds since 1970-01-01 00:00:00 UTC."""
        return self.seconds * 1_000 + self.nanos // _NANOS_PER_MILLI

    def to_datetime(self) -> datetime.datetime:
        """The same point as an aware datetime in UTC; nanoseconds are cut to microseconds."""
        epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        return epoch + datetime.timedelta(seconds=self.seconds, microseconds=self.nanos // 1_000)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Instant) and (self.seconds, self.nanos) == (other.seconds, other.nanos)

    def __lt__(self, other: Instant) -> bool:
        return (self.seconds, self.nanos) < (other.seconds, other.nanos)

    def __hash__(self) -> int:
        return hash((self.seconds, self.nanos))

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"


@total_ordering
class Time:
    """A length of time in milliseconds: `Time.seconds(10)`."""

    __slots__ = ("_milliseconds",)

    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = milliseconds

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """So many milliseconds."""
        return Time(milliseconds)

    @staticmethod
    def seconds(seconds: int) -> Time:
        """So many seconds."""
        return Time(seconds * 1_000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """So many minutes."""
        return Time(minutes * 60_000)

    @staticmethod
    def hours(hours: int) -> Time:
        """So many hours."""
        return Time(hours * 3_600_000)

    @staticmethod
    def days(days: int) -> Time:
        """So many days of 24 hours."""
        return Time(days * 86_400_000)

    def to_milliseconds(self) -> int:
        """The length in milliseconds, which windows and timers count in."""
        return self._milliseconds

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Time) and self._milliseconds == other._milliseconds

    def __lt__(self, other: Time) -> bool:
        return self._milliseconds < other._milliseconds

    def __hash__(self) -> int:
        return hash(("Time", self._milliseconds))

    def __str__(self) -> str:
        return f"{self._milliseconds} ms"

    __repr__ = __str__


def to_millis(span: Duration | Time | datetime.timedelta | int) -> int:
    """Whole milliseconds of anything that means a length of time; a plain int already is milliseconds."""
    if isinstance(span, Time):
        return span.to_milliseconds()
    if isinstance(span, Duration):
        return span.to_millis()
    if isinstance(span, datetime.timedelta):
        return span // datetime.timedelta(milliseconds=1)
    if isinstance(span, int) and not isinstance(span, bool):
        return span
    raise TypeError(f"expected a Duration, Time, timedelta or milliseconds, got {span!r}")
