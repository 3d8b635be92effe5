"""Values between Spark or Arrow and users' functions: rows are Rows, bytes are bytes, results are of their type.

A TIMESTAMP_LTZ is what PyFlink's functions get: a datetime with the session's zone that shows the hour of UTC, so
00:00 UTC is 00:00+08:00 in a session of Asia/Shanghai. Of a result, the hour that it shows is taken for UTC, whatever
its zone, so a value that is handed back is the same moment.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from penstock.common.datatypes import (
    ArrayType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    LocalZonedTimestampType,
    MapType,
    RowType,
)
from penstock.common.types import make_row
from penstock.sql.functions.text import spark_type
from penstock.sql.pandas_values import plain

__all__ = ["from_spark", "results_to_spark", "to_spark"]

Convert = Callable[[Any], Any]

_PLAIN = {bool, int, str, bytes, dt.date, dt.time, dt.datetime, dt.timedelta}
"""Types of results that stay what they are where no rule changes them."""


def from_spark(data_type: DataType, zone: str) -> Convert | None:
    """How an argument changes, None if it stays as Spark gives it.

    Args:
        zone: Of the session. Moments without a zone are those of this process, as in Spark's rows.
    """
    if isinstance(data_type, LocalZonedTimestampType):
        home = ZoneInfo(zone)
        return lambda moment: moment.astimezone(dt.timezone.utc).replace(tzinfo=home)
    if isinstance(data_type, RowType):
        names = data_type.field_names()
        inner = [from_spark(f.data_type, zone) for f in data_type]
        return lambda row: make_row([_through(c, v) for c, v in zip(inner, row, strict=True)], names)
    if isinstance(data_type, ArrayType):
        element = from_spark(data_type.element_type, zone)
        return None if element is None else lambda items: [_through(element, v) for v in items]
    if isinstance(data_type, MapType):
        key, value = from_spark(data_type.key_type, zone), from_spark(data_type.value_type, zone)
        if key is None and value is None:
            return None
        return lambda pairs: {_through(key, k): _through(value, v) for k, v in pairs.items()}
    return bytes if spark_type(data_type) == "BINARY" else None


def to_spark(data_type: DataType) -> Convert:
    """How a result becomes what Spark takes: it gives NULL for a number of another kind."""
    if isinstance(data_type, (FloatType, DoubleType)):
        return float
    if isinstance(data_type, LocalZonedTimestampType):
        return _moment
    if isinstance(data_type, DecimalType):
        step = decimal.Decimal(1).scaleb(-data_type.scale)
        context = decimal.Context(prec=60)
        return lambda v: decimal.Decimal(plain(v)).quantize(step, decimal.ROUND_HALF_UP, context)
    if isinstance(data_type, RowType):
        inner = [to_spark(f.data_type) for f in data_type]
        return lambda row: tuple(_through(c, v) for c, v in zip(inner, row, strict=True))
    if isinstance(data_type, ArrayType):
        element = to_spark(data_type.element_type)
        return lambda items: [_through(element, v) for v in items]
    if isinstance(data_type, MapType):
        key, value = to_spark(data_type.key_type), to_spark(data_type.value_type)
        return lambda pairs: {_through(key, k): _through(value, v) for k, v in pairs.items()}
    return plain


def results_to_spark(data_type: DataType, values: Sequence[Any]) -> Sequence[Any]:
    """The same for a whole column; looking at the types first is much faster where nothing has to be done."""
    convert = to_spark(data_type)
    kinds = set(map(type, values)) - {type(None)}
    if kinds <= (_PLAIN if convert is plain else {convert}):
        return values
    return [None if value is None else convert(value) for value in values]


def _moment(value: Any) -> Any:
    """What a function gave for a TIMESTAMP_LTZ."""
    return value.replace(tzinfo=dt.timezone.utc) if isinstance(value, dt.datetime) else plain(value)


def _through(convert: Convert | None, value: Any) -> Any:
    return value if convert is None or value is None else convert(value)
