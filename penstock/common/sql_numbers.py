"""Times and moments as the numbers that PyFlink's types give for them: microseconds.

A time without a zone belongs to this machine's zone, as in PyFlink. Nothing in penstock computes with these numbers;
they are for programs that call `to_sql_type` and `from_sql_type` themselves.
"""

from __future__ import annotations

import calendar
import datetime as dt
import time

SECOND = 1_000_000
LOCAL_EPOCH = calendar.timegm(time.localtime(0)) * SECOND
"""What a clock of this machine's zone showed in the first moment of 1970."""


def micros_of_time(value: dt.time) -> int:
    """Microseconds since midnight, in UTC.

    >>> micros_of_time(dt.time(1, 0, 0, 5, dt.timezone.utc))
    3600000005
    """
    offset = LOCAL_EPOCH if value.tzinfo is None else (value.utcoffset() or dt.timedelta()) // _MICRO
    return ((value.hour * 60 + value.minute) * 60 + value.second) * SECOND + value.microsecond - offset


def time_of_micros(micros: int) -> dt.time:
    """The other way round, as the machine's clocks show it."""
    seconds, micros = divmod(micros + LOCAL_EPOCH, SECOND)
    return dt.time(seconds // 3600, seconds // 60 % 60, seconds % 60, micros)


def micros_of_moment(value: dt.datetime) -> int:
    """Microseconds since 1970.

    >>> micros_of_moment(dt.datetime(1970, 1, 1, 0, 0, 1, 7, dt.timezone.utc))
    1000007
    """
    whole = calendar.timegm(value.utctimetuple()) if value.tzinfo else time.mktime(value.timetuple())
    return int(whole) * SECOND + value.microsecond


def moment_of_micros(micros: int, zone: dt.tzinfo | None = None) -> dt.datetime:
    """The moment as clocks of a zone show it, or those of this machine."""
    seconds, micros = divmod(micros, SECOND)
    return dt.datetime.fromtimestamp(seconds, zone).replace(microsecond=micros)


def zoned_micros(value: dt.datetime) -> tuple[int, int]:
    """What the clock shows, in microseconds since 1970, and how many seconds the clock is ahead of UTC."""
    offset = value.astimezone().utcoffset() if value.tzinfo is None else value.utcoffset()
    seconds = int((offset or dt.timedelta()).total_seconds())
    return micros_of_moment(value) + seconds * SECOND, seconds


def moment_of_zoned(micros: int, offset_seconds: int) -> dt.datetime:
    """The other way round.

    >>> moment_of_zoned(*zoned_micros(dt.datetime(2020, 1, 1, 8, tzinfo=dt.timezone(dt.timedelta(hours=2))))).hour
    8
    """
    zone = dt.timezone(dt.timedelta(seconds=offset_seconds))
    return moment_of_micros(micros - offset_seconds * SECOND, zone)


_MICRO = dt.timedelta(microseconds=1)
