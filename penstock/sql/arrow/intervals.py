"""Dates and timestamps moved by intervals, and intervals added up.

Lengths of time are exact microseconds; months follow the calendar. What leaves the range of 64 bits fails.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import (
    DateType,
    DayTimeIntervalType,
    LocalZonedTimestampType,
    TimestampType,
    YearMonthIntervalType,
)
from penstock.sql.arrow.compiler import Compiler, NoArrowForm, type_of
from penstock.sql.arrow.days import DAY, add_months, quotient
from penstock.sql.arrow.failures import checked, failure
from penstock.sql.arrow.nodes import Node, apply
from penstock.sql.arrow.values import Datum, Mask, column, is_scalar, nulls, numbers
from penstock.sql.plan.rex import Call

_INTERVALS = (DayTimeIntervalType, YearMonthIntervalType)
_LAST_DAY = (2**63 - 1) // DAY


def moved_by_interval(call: Call, compiler: Compiler) -> Node:
    """`+` and `-` where the result is no number."""
    kind = type_of(call)
    if isinstance(call.type, _INTERVALS):
        nodes = compiler.nodes(call.args)
        return apply(partial(_interval_sum, call.name, kind), kind, *nodes, fails=True)
    moment, interval = call.args
    if isinstance(moment.type, _INTERVALS):
        moment, interval = interval, moment
    sign = -1 if call.name == "-" else 1
    nodes = compiler.nodes([moment, interval])
    if isinstance(interval.type, YearMonthIntervalType):
        return months_later(call, nodes, sign, compiler)
    if isinstance(moment.type, DateType):
        return apply(partial(_days_later, sign), kind, *nodes)
    if isinstance(moment.type, LocalZonedTimestampType):
        return apply(partial(_wrapped_move, sign, kind), kind, *nodes)
    if isinstance(moment.type, TimestampType):
        return apply(partial(moved, sign, kind), kind, *nodes, fails=True)
    raise NoArrowForm(f"{moment.type} and an interval")


def _as_integers(datum: Datum) -> Datum:
    return datum.cast(pa.int64()) if datum.type.bit_width == 64 else datum


def _interval_sum(operator: str, kind: pa.DataType, *data: Datum) -> pa.Array:
    parts = [_as_integers(d) for d in data]
    if len(parts) == 1:
        return data[0] if operator == "+" else checked(pc.negate_checked, parts[0]).cast(kind)
    kernel = pc.add_checked if operator == "+" else pc.subtract_checked
    return checked(kernel, *parts).cast(kind)


def moved(sign: int, kind: pa.DataType, moment: Datum, length: Datum) -> pa.Array:
    """Moments moved by lengths of time."""
    kernel = pc.add_checked if sign > 0 else pc.subtract_checked
    return checked(kernel, _as_integers(moment), _as_integers(length)).cast(kind)


def _wrapped_move(sign: int, kind: pa.DataType, moment: Datum, length: Datum) -> pa.Array:
    kernel = pc.add if sign > 0 else pc.subtract
    return kernel(_as_integers(moment), _as_integers(length)).cast(kind)


def _days_later(sign: int, date: Datum, length: Datum) -> pa.Array:
    """A date moved by the whole days of a length of time."""
    days = quotient(numbers(length), DAY) * sign
    moved_days = numbers(date).astype(np.int64) + days
    return column(moved_days.astype(np.int32), pa.date32(), nulls(date, length))


def months_later(call: Call, nodes: list[Node], sign: int, compiler: Compiler) -> Node:
    """A date or timestamp moved by months (an INT column); on the calendar of UTC if it is a moment."""
    kind = type_of(call)
    if isinstance(call.type, DateType):
        return apply(partial(date_in_months, sign), kind, *nodes, fails=True)
    if not isinstance(call.type, (TimestampType, LocalZonedTimestampType)):
        raise NoArrowForm(f"{call.type} and months")
    return apply(partial(moment_in_months, sign, kind), kind, *nodes, fails=True)


def date_in_months(sign: int, date: Datum, months: Datum) -> pa.Array:
    missing = nulls(date, months)
    days = add_months(numbers(date), numbers(months).astype(np.int64) * sign)
    _check(days, missing, 2**31 - 1)
    return column(_rows(days, date, months), pa.date32(), missing)


def moment_in_months(sign: int, kind: pa.DataType, moment: Datum, months: Datum) -> pa.Array:
    missing = nulls(moment, months)
    days, rest = np.divmod(numbers(moment), DAY)
    days = add_months(days, numbers(months).astype(np.int64) * sign)
    _check(days, missing, _LAST_DAY - 1)
    return column(_rows(days * DAY + rest, moment, months), kind, missing)


def _rows(values: Any, *data: Datum) -> Any:
    rows = next(len(d) for d in data if not is_scalar(d))
    return np.broadcast_to(values, (rows,))


def _check(days: Any, missing: Mask | None, limit: int) -> None:
    outside = np.abs(days) > limit
    if missing is not None:
        outside = outside & ~missing
    if np.any(outside):
        raise failure("long overflow")
