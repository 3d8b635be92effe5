"""TIMESTAMPDIFF, TIMESTAMPADD and (a - b) as an interval."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import (
    DataType,
    DataTypes,
    DateType,
    LocalZonedTimestampType,
    TimestampType,
    YearMonthIntervalType,
)
from penstock.sql.arrow.casts import cast_node
from penstock.sql.arrow.compiler import Compiler, NoArrowForm, register, type_of
from penstock.sql.arrow.days import DAY, add_months, civil, quotient
from penstock.sql.arrow.failures import checked
from penstock.sql.arrow.intervals import date_in_months, moment_in_months, moved
from penstock.sql.arrow.nodes import Node, apply
from penstock.sql.arrow.temporal import local_clock, unit_of
from penstock.sql.arrow.values import Datum, column, nulls, numbers
from penstock.sql.plan.rex import Call, Rex

_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12, "DECADE": 120, "CENTURY": 1200, "MILLENNIUM": 12000}
_SECONDS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86_400, "WEEK": 604_800}
_FRACTIONS = {"MILLISECOND": 1000, "MICROSECOND": 1_000_000}
_LOCAL = DataTypes.TIMESTAMP(6)


# --- differences ----------------------------------------------------------------------------------------


def build_difference(call: Call, compiler: Compiler) -> Node:
    """TIMESTAMPDIFF ('HOUR', start, end) as INT."""
    unit = unit_of(call.args[0], "TIMESTAMPDIFF")
    start, end = call.args[1:]
    if unit in _MONTHS:
        kernel = partial(_months_apart, _MONTHS[unit])
        return apply(kernel, pa.int32(), *_instants(start, end, compiler))
    return apply(partial(_units_apart, unit), pa.int32(), *_instants(start, end, compiler), fails=True)


def _instants(start: Rex, end: Rex, compiler: Compiler) -> list[Node]:
    """Both on one line of time: moments as they are, else what the session's clock shows."""
    if all(isinstance(side.type, LocalZonedTimestampType) for side in (start, end)):
        return compiler.nodes([start, end])
    return [local_clock(start, compiler), local_clock(end, compiler)]


def _micros_apart(start: Datum, end: Datum) -> Any:
    return checked(pc.subtract_checked, end.cast(pa.int64()), start.cast(pa.int64()))


def _units_apart(unit: str, start: Datum, end: Datum) -> pa.Array:
    """
    >>> start, end = (pa.array([n], pa.timestamp("us")) for n in (0, -1_999_999))
    >>> _units_apart("SECOND", start, end).to_pylist()
    [-1]
    """
    apart = _micros_apart(start, end)
    seconds = quotient(numbers(apart), 1_000_000)
    found = seconds * _FRACTIONS[unit] if unit in _FRACTIONS else quotient(seconds, _SECONDS[unit])
    return column(found.astype(np.int32), pa.int32(), nulls(apart))


def _whole_months(low: Any, high: Any) -> Any:
    """The largest m with low + m months not behind high; low is not behind high."""
    (low_year, low_month, _), (high_year, high_month, _) = civil(low), civil(high)
    estimate = (high_year - low_year) * 12 + high_month - low_month
    return estimate - (add_months(low, estimate) > high)


def _months(start: Any, end: Any) -> Any:
    forward = end >= start
    low, high = np.where(forward, start, end), np.where(forward, end, start)
    return _whole_months(low, high) * np.where(forward, 1, -1)


def _months_between(start: Any, end: Any) -> Any:
    """Whole months from one clock to another; on the same day the time of day decides, in milliseconds."""
    start, end = start // 1000 * 1000, end // 1000 * 1000
    (start_day, start_time), (end_day, end_time) = np.divmod(start, DAY), np.divmod(end, DAY)
    months = _months(start_day, end_day)
    return months - ((end_time < start_time) & (add_months(start_day, months) == end_day))


def _months_apart(size: int, start: Datum, end: Datum) -> pa.Array:
    months = _months_between(numbers(start), numbers(end))
    return column(quotient(months, size).astype(np.int32), pa.int32(), nulls(start, end))


def build_minus_date(call: Call, compiler: Compiler) -> Node:
    """MINUS_DATE ('DAY TO SECOND', end, start) as an interval."""
    end, start = call.args[1:]
    nodes = _instants(start, end, compiler)
    if isinstance(call.type, YearMonthIntervalType):
        return apply(partial(_months_apart, 1), pa.int32(), *nodes)
    return apply(_length_between, pa.duration("us"), *nodes, fails=True)


def _length_between(start: Datum, end: Datum) -> pa.Array:
    return _micros_apart(start, end).cast(pa.duration("us"))


# --- sums -----------------------------------------------------------------------------------------------


def build_add(call: Call, compiler: Compiler) -> Node:
    """TIMESTAMPADD ('DAY', count, moment)."""
    unit, kind = unit_of(call.args[0], "TIMESTAMPADD"), type_of(call)
    count, moment = compiler.node(call.args[1]), call.args[2]
    if not pa.types.is_integer(count.type):
        raise NoArrowForm("TIMESTAMPADD of a count that is no integer")
    if isinstance(call.type, DateType):
        return _add_to_date(unit, compiler.node(moment), count)
    if not isinstance(call.type, (TimestampType, LocalZonedTimestampType)):
        raise NoArrowForm(f"TIMESTAMPADD to {call.type}")
    node = _moment(moment, call.type, compiler)
    if unit in _MONTHS:
        months = apply(partial(_product, _MONTHS[unit]), pa.int32(), count)
        return apply(partial(moment_in_months, 1, kind), kind, node, months, fails=True)
    length = apply(partial(_length, unit), pa.int64(), count, fails=True)
    return apply(partial(moved, 1, kind), kind, node, length, fails=True)


def _moment(rex: Rex, target: DataType, compiler: Compiler) -> Node:
    node = compiler.node(rex)
    return cast_node(node, rex.type, _LOCAL, compiler) if isinstance(rex.type, DateType) else node


def _add_to_date(unit: str, date: Node, count: Node) -> Node:
    if unit in _MONTHS:
        months = apply(partial(_product, _MONTHS[unit]), pa.int32(), count)
        return apply(partial(date_in_months, 1), pa.date32(), date, months, fails=True)
    days = apply(partial(_product, 7 if unit == "WEEK" else 1), pa.int32(), count)
    return apply(_days_added, pa.date32(), date, days)


def _product(factor: int, count: pa.Array) -> pa.Array:
    """Times a literal, in INT or wider, then as INT: both wrap around."""
    wide = count.cast(pa.int64() if count.type.bit_width == 64 else pa.int32())
    return pc.multiply(wide, pa.scalar(factor, wide.type)).cast(pa.int32(), safe=False)


def _days_added(date: Datum, days: Datum) -> pa.Array:
    return pc.add(date.cast(pa.int32()), days).cast(pa.date32())


def _length(unit: str, count: pa.Array) -> pa.Array:
    """Microseconds. Fractions of a second go by way of DECIMAL(18, 6), which has no room for 10^12 of them."""
    wide = count.cast(pa.int64())
    if unit in _FRACTIONS:
        limit = 10**12 - 1
        fits = pc.and_(pc.greater_equal(wide, -limit), pc.less_equal(wide, limit))
        micros = pc.multiply(wide, pa.scalar(1_000_000 // _FRACTIONS[unit], pa.int64()))
        return pc.if_else(fits, micros, pa.scalar(None, pa.int64()))
    return checked(pc.multiply_checked, wide, pa.scalar(_SECONDS[unit] * 1_000_000, pa.int64()))


register("TIMESTAMPDIFF", build_difference)
register("TIMESTAMPADD", build_add)
register("MINUS_DATE", build_minus_date)
