"""Which index a row goes to.

orders                      always the same
orders-{shop}               the value of a column
orders-{ts|yyyy-MM-dd}      a column with a time, in a pattern of Java's
orders-{now()|yyyy-MM}      the time at which the row is written, in UTC
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from typing import Any

from penstock.common.datatypes import (
    DataType,
    DateType,
    LocalZonedTimestampType,
    RowType,
    TimestampType,
    TimeType,
)
from penstock.common.errors import ValidationError
from penstock.connectors.java_dates import to_strftime

__all__ = ["index_of"]

_DYNAMIC = re.compile(r"\{([^{}|]+)(\|([^{}]*))?\}")
_NOW = ("now()", "current_timestamp", "now")
_DEFAULTS: dict[type[DataType], str] = {
    DateType: "yyyy_MM_dd",
    TimeType: "HH_mm_ss",
    TimestampType: "yyyy_MM_dd_HH_mm_ss",
    LocalZonedTimestampType: "yyyy_MM_dd_HH_mm_ss'Z'",
}


def index_of(pattern: str, row_type: RowType, now_ms: int) -> Callable[[Sequence[Any]], str]:
    """A function from a row to its index.

    Raises:
        ValidationError: The pattern names a column that is not there, or a time in a way that is not known.

    >>> from penstock.common.datatype_parser import parse_type
    >>> index_of("a-{d|yyyy'w'MM}", parse_type("ROW<d DATE>"), 0)((dt.date(2024, 2, 1),))
    'a-2024w02'
    """
    found = _DYNAMIC.search(pattern)
    if found is None:
        if "{" in pattern or "}" in pattern:
            raise ValidationError(f"the index is {pattern!r}", do="write {column} or {column|pattern}")
        return lambda row: pattern
    head, tail = pattern[: found.start()], pattern[found.end() :]
    if "{" in tail:
        raise ValidationError(f"the index {pattern!r} depends on more than one column")
    name, wanted = found[1].strip(), found[3]
    if name.lower() in _NOW:
        moment = dt.datetime.fromtimestamp(now_ms / 1000, dt.timezone.utc)
        fixed = head + _formatter(wanted or _DEFAULTS[TimestampType])(moment) + tail
        return lambda row: fixed
    if name not in row_type.names:
        raise ValidationError(
            f"the index {pattern!r} names a column that is not there",
            do=f"the columns are {', '.join(row_type.names)}",
        )
    place = row_type.names.index(name)
    text = _text_of(row_type.fields[place].data_type, wanted)

    def chosen(row: Sequence[Any]) -> str:
        if row[place] is None:
            raise ValidationError(f"the column '{name}', which chooses the index, is NULL in {row!r}")
        return f"{head}{text(row[place])}{tail}"

    return chosen


def _text_of(data_type: DataType, wanted: str | None) -> Callable[[Any], str]:
    default = _DEFAULTS.get(type(data_type))
    if default is None:
        if wanted:
            raise ValidationError(f"a column of type {data_type.as_summary()} has no pattern {wanted!r}")
        return str
    return _formatter(wanted or default)


def _formatter(pattern: str) -> Callable[[Any], str]:
    form = to_strftime(pattern)
    return lambda value: str(value.strftime(form))
