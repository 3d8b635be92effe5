"""Values as Flink's clients show them: by their type, as a CAST to STRING for people would.

    TIMESTAMP(6)    2024-01-02 03:04:05.000000     as many digits as the type has
    TIMESTAMP_LTZ   2024-01-02 11:04:05.123        the clock of the session's time zone
    DOUBLE          1.23456789E7                   Java's digits
    INTERVAL        +0-02   +1 02:03:04.000
    ARRAY, MAP, ROW [a, NULL]   {a=1, b=NULL}   (1, q, NULL)

`tableau.py`, the SQL client and the SQL gateway all take their texts from here.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

from penstock.common.datatypes import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
    VarBinaryType,
    YearMonthIntervalType,
)
from penstock.common.java_time import zone_of
from penstock.common.time import Instant
from penstock.formats.values import format_double, format_single

__all__ = ["ShownText", "at_zone", "milliseconds", "text_of", "texts_of"]


class ShownText(str):
    """A value of any type that somebody else has made a text of: it is shown as it is."""

    __slots__ = ()


ToText = Callable[[Any], str]
_NULL = "NULL"


def texts_of(types: Sequence[DataType], zone: str = "UTC") -> list[ToText]:
    """One function per column, for values that are not NULL; `zone` is where TIMESTAMP_LTZ is looked at."""
    return [text_of(data_type, zone) for data_type in types]


def text_of(data_type: DataType, zone: str = "UTC") -> ToText:
    """How values of the type are shown.

    >>> from penstock.common.datatypes import DataTypes
    >>> text_of(DataTypes.ARRAY(DataTypes.DOUBLE()))([1e10, None])
    '[1.0E10, NULL]'
    """
    for kinds, make in _MAKERS:
        if isinstance(data_type, kinds):
            return make(data_type, zone)
    return str


def at_zone(value: Any, zone: str) -> dt.datetime:
    """What clocks show in the zone at a point in time."""
    moment = value.to_datetime() if isinstance(value, Instant) else value
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.timezone.utc)
    local: dt.datetime = moment.astimezone(zone_of(zone)).replace(tzinfo=None)
    return local


def _boolean(data_type: Any, zone: str) -> ToText:
    return lambda value: "TRUE" if value else "FALSE"


def _decimal(data_type: Any, zone: str) -> ToText:
    return lambda value: f"{value:.{data_type.scale}f}"


def _binary(data_type: Any, zone: str) -> ToText:
    return lambda value: f"x'{bytes(value).hex()}'"


def _timestamp(data_type: Any, zone: str) -> ToText:
    return lambda value: _moment(value, data_type.precision)


def _local_timestamp(data_type: Any, zone: str) -> ToText:
    return lambda value: _moment(at_zone(value, zone), data_type.precision)


def _moment(value: dt.datetime, precision: int) -> str:
    text = value.replace(tzinfo=None).isoformat(sep=" ", timespec="seconds")
    return f"{text}.{_fraction(value.microsecond)[:precision]}" if precision else text


def _fraction(microseconds: int) -> str:
    return f"{microseconds:06d}000"


def _time(data_type: Any, zone: str) -> ToText:
    """At least one digit behind the point where the type has any, and no zeros at the end."""

    def text(value: dt.time) -> str:
        shown = value.isoformat(timespec="seconds")
        digits = _fraction(value.microsecond)[: data_type.precision].rstrip("0") or "0"
        return f"{shown}.{digits}" if data_type.precision else shown

    return text


def _months(data_type: Any, zone: str) -> ToText:
    def text(value: int) -> str:
        years, months = divmod(abs(int(value)), 12)
        return f"{'-' if value < 0 else '+'}{years}-{months:02d}"

    return text


def _day_time(data_type: Any, zone: str) -> ToText:
    def text(value: Any) -> str:
        millis = milliseconds(value)
        seconds, rest = divmod(abs(millis), 1000)
        minutes, second = divmod(seconds, 60)
        hours, minute = divmod(minutes, 60)
        days, hour = divmod(hours, 24)
        return f"{'-' if millis < 0 else '+'}{days} {hour:02d}:{minute:02d}:{second:02d}.{rest:03d}"

    return text


def milliseconds(value: Any) -> int:
    """The length of an INTERVAL DAY TO SECOND."""
    return value // dt.timedelta(milliseconds=1) if isinstance(value, dt.timedelta) else int(value)


def _array(data_type: Any, zone: str) -> ToText:
    element = _or_null(text_of(data_type.element_type, zone))
    return lambda value: "[" + ", ".join(map(element, value)) + "]"


def _map(data_type: Any, zone: str) -> ToText:
    key, item = _or_null(text_of(data_type.key_type, zone)), _or_null(text_of(data_type.value_type, zone))
    return lambda value: _pairs(value, key, item)


def _multiset(data_type: Any, zone: str) -> ToText:
    element = _or_null(text_of(data_type.element_type, zone))
    return lambda value: _pairs(value, element, str)


def _pairs(value: Any, key: ToText, item: ToText) -> str:
    return "{" + ", ".join(f"{key(k)}={item(x)}" for k, x in value.items()) + "}"


def _row(data_type: Any, zone: str) -> ToText:
    texts = [_or_null(text_of(f.data_type, zone)) for f in data_type.fields]
    return lambda row: "(" + ", ".join(text(x) for text, x in zip(texts, row, strict=True)) + ")"


def _or_null(text: ToText) -> ToText:
    return lambda value: _NULL if value is None else text(value)


_MAKERS: tuple[tuple[Any, Callable[[Any, str], ToText]], ...] = (
    (BooleanType, _boolean),
    (FloatType, lambda data_type, zone: format_single),
    (DoubleType, lambda data_type, zone: format_double),
    (DecimalType, _decimal),
    ((BinaryType, VarBinaryType), _binary),
    (TimestampType, _timestamp),
    (LocalZonedTimestampType, _local_timestamp),
    (TimeType, _time),
    (YearMonthIntervalType, _months),
    (DayTimeIntervalType, _day_time),
    (ArrayType, _array),
    (MapType, _map),
    (MultisetType, _multiset),
    (RowType, _row),
)
