"""Values as Java prints them: what stands in the names of partition folders and in printed rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from penstock.common.datatypes import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
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
)
from penstock.formats import values as v


def value_text(value: Any) -> str:
    """As Java's toString."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return v.format_double(value)
    if isinstance(value, dt.datetime):
        return _java_moment(value)
    if isinstance(value, dt.time):
        return _java_time(value)
    if isinstance(value, dt.date):
        return value.isoformat()
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _java_moment(value: dt.datetime) -> str:
    """LocalDateTime.toString, and Instant's where there is a zone."""
    return f"{value:%Y-%m-%d}T{_java_time(value)}" + ("Z" if value.tzinfo else "")


def _java_time(value: dt.time | dt.datetime) -> str:
    """LocalTime.toString leaves out seconds that are zero and prints fractions in groups of three digits.

    >>> _java_time(dt.time(1)), _java_time(dt.time(1, 2, 3)), _java_time(dt.time(1, 2, 3, 4000))
    ('01:00', '01:02:03', '01:02:03.004')
    """
    text = value.strftime("%H:%M")
    if value.second or value.microsecond:
        text += value.strftime(":%S")
    if value.microsecond:
        text += (
            f".{value.microsecond:06d}" if value.microsecond % 1000 else f".{value.microsecond // 1000:03d}"
        )
    return text


def text_of(data_type: DataType) -> Callable[[Any], str]:
    """How Java prints a value of the type."""
    if isinstance(data_type, FloatType):
        return v.format_single
    if isinstance(data_type, DoubleType):
        return v.format_double
    if isinstance(data_type, DecimalType):
        return lambda value: format(value, "f")
    if isinstance(data_type, (BooleanType, TimeType, TimestampType, LocalZonedTimestampType)):
        return value_text
    if isinstance(data_type, (BinaryType, VarBinaryType)):
        return lambda value: "[" + ", ".join(str(b - 256 if b > 127 else b) for b in value) + "]"
    if isinstance(data_type, ArrayType):
        element = _or_null(text_of(data_type.element_type))
        return lambda value: "[" + ", ".join(map(element, value)) + "]"
    if isinstance(data_type, (MapType, MultisetType)):
        return _map_text(data_type)
    if isinstance(data_type, RowType):
        text = row_text(data_type)
        return lambda row: "+I" + text(row)
    return str


def row_text(row_type: RowType) -> Callable[[Any], str]:
    """How the fields of a row are shown, without its kind: `[1, x]`."""
    texts = [_or_null(text_of(f.data_type)) for f in row_type.fields]
    return lambda row: "[" + ", ".join(t(x) for t, x in zip(texts, row, strict=True)) + "]"


def _map_text(data_type: MapType | MultisetType) -> Callable[[Any], str]:
    if isinstance(data_type, MapType):
        key, item = text_of(data_type.key_type), text_of(data_type.value_type)
    else:
        key, item = text_of(data_type.element_type), str
    to_key, to_item = _or_null(key), _or_null(item)
    return lambda value: "{" + ", ".join(f"{to_key(k)}={to_item(x)}" for k, x in value.items()) + "}"


def _or_null(text: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda value: "null" if value is None else text(value)
