"""The time of a partition, read from its values: `dt=2024-05-06/hr=7` is 2024-05-06 07:00:00.

`timestamp-pattern` puts the values together ('$dt $hr:00:00'; without one the first value is the text), and
`timestamp-formatter`, a Java pattern, says how the text is read. Without a formatter it is read leniently, as Flink
does: numbers of one digit, no time of day, and fields that roll over are all fine.
"""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from penstock.common.errors import MalformedRecordError
from penstock.common.java_time import parse, tokens

_LENIENT = re.compile(
    r"(-?\d{1,10})-(-?\d{1,2})-(-?\d{1,2})(?: (-?\d{1,2}):(-?\d{1,2}):(-?\d{1,2})(?:\.(\d{1,9}))?)?", re.ASCII
)
_OPTIONAL = re.compile(r"\[[^\[\]]*\]")


@dataclass(frozen=True)
class PartitionTime:
    """Reads the time of partitions; `keys` are the partition columns in the order of their folders."""

    keys: tuple[str, ...]
    pattern: str | None = None
    formatter: str | None = None

    def of(self, folder: str) -> dt.datetime:
        """The wall-clock time that a partition's folder names.

        >>> PartitionTime(("day", "hour"), "$day $hour:00:00").of("day=2024-05-06/hour=7")
        datetime.datetime(2024, 5, 6, 7, 0)
        """
        text = self._text(partition_texts(folder))
        try:
            found = lenient_time(text) if self.formatter is None else _formatted(text, self.formatter)
        except (ValueError, OverflowError):
            found = None
        if found is None:
            how = self.formatter or "yyyy-MM-dd HH:mm:ss"
            raise MalformedRecordError(
                f"the time of partition '{folder}' cannot be read: {text!r} is not a '{how}'",
                do="'partition.time-extractor.timestamp-pattern' says how the text is made of the partition's "
                "values, 'partition.time-extractor.timestamp-formatter' how it is read",
            )
        return found

    def _text(self, values: Sequence[str]) -> str:
        if self.pattern is None:
            return values[0]
        text = self.pattern
        for key, value in zip(self.keys, values, strict=True):
            text = text.replace(f"${key}", value)
        return text


def partition_texts(folder: str) -> list[str]:
    """The values in a partition's folder, as text.

    >>> partition_texts("day=2024-05-06/at=7%3A30")
    ['2024-05-06', '7:30']
    """
    return [unquote(part.partition("=")[2]) for part in folder.split("/")]


def lenient_time(text: str) -> dt.datetime | None:
    """The time in a text such as '2024-5-6 7:0:0' or '2024-05-06'; what is too large for a field rolls over.

    >>> lenient_time("2024-13-1 24:00:00")
    datetime.datetime(2025, 1, 2, 0, 0)
    """
    found = _LENIENT.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(group or 0) for group in found.groups()[:6])
    first = dt.datetime(year + (month - 1) // 12, (month - 1) % 12 + 1, 1)
    micros = int((found[7] or "0").ljust(9, "0")) // 1000
    return first + dt.timedelta(days=day - 1, hours=hour, minutes=minute, seconds=second, microseconds=micros)


def _formatted(text: str, formatter: str) -> dt.datetime | None:
    return parse(text, formatter) or parse(text, _OPTIONAL.sub("", formatter))


def check_formatter(text: str) -> str:
    """The pattern, if it is one that gives a date.

    Raises:
        ValueError: It is not.
    """
    letters = {token.letter for token in tokens(text)}
    has_day = "D" in letters or ("d" in letters and letters & set("ML"))
    if not has_day or not letters & set("yu"):
        raise ValueError("expected a date pattern with year, month and day, such as 'yyyy-MM-dd HH:mm:ss'")
    return text


def zone(text: str) -> dt.tzinfo:
    """The time zone of an option's text: a name, or a distance such as 'GMT+03:00'.

    Raises:
        ValueError: There is no such zone.
    """
    found = re.fullmatch(r"GMT([+-])(\d{1,2})(?::?(\d{2}))?", text)
    if found is not None and int(found[2]) < 24:
        distance = dt.timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
        return dt.timezone(distance if found[1] == "+" else -distance)
    try:
        return zoneinfo.ZoneInfo(text)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("expected a time zone such as 'America/Los_Angeles', 'GMT-03:00' or 'UTC'") from None


def epoch_millis(local: dt.datetime, time_zone: dt.tzinfo) -> int:
    """The moment of a wall-clock time. An hour that the clocks repeat is its first, one they skip comes later.

    >>> epoch_millis(dt.datetime(1970, 1, 1, 3), zone("GMT+03:00"))
    0
    """
    offset = local.replace(tzinfo=time_zone).utcoffset() or dt.timedelta()
    return (local - dt.datetime(1970, 1, 1) - offset) // dt.timedelta(milliseconds=1)
