"""EXTRACT and its short forms, FLOOR and CEIL to a unit.

Everything is arithmetic on days and microseconds of the clock that is shown: TIMESTAMP as it is, TIMESTAMP_LTZ in the
session's zone, DATE at midnight.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.datatypes import (
    DataTypes,
    DateType,
    LocalZonedTimestampType,
    NumericType,
    TimestampType,
)
from penstock.sql.arrow.casts import cast_node
from penstock.sql.arrow.compiler import Compiler, NoArrowForm, register, type_of
from penstock.sql.arrow.days import DAY, add_months, by_numbers, civil, days_of, iso_week, quotient, weekday
from penstock.sql.arrow.nodes import Node, apply
from penstock.sql.arrow.number_functions import build_whole
from penstock.sql.arrow.values import column, nulls, numbers
from penstock.sql.functions.datetime_text import CLOCK_UNITS, unit_name
from penstock.sql.plan.rex import Call, Const, Rex

_MOMENT = (TimestampType, LocalZonedTimestampType)
_LOCAL = DataTypes.TIMESTAMP(6)


def local_clock(rex: Rex, compiler: Compiler) -> Node:
    """A date or timestamp as the microseconds that the session's clock shows."""
    if not isinstance(rex.type, (DateType, *_MOMENT)):
        raise NoArrowForm(f"the clock of {rex.type}")
    return cast_node(compiler.node(rex), rex.type, _LOCAL, compiler)


def unit_of(rex: Rex, name: str) -> str:
    if not isinstance(rex, Const):
        raise NoArrowForm(f"{name} with a unit that is no constant")
    return unit_name(str(rex.value), name)


# --- EXTRACT --------------------------------------------------------------------------------------------

_DATE_FIELDS: dict[str, Callable[[Any], Any]] = {
    "YEAR": lambda d: civil(d)[0],
    "QUARTER": lambda d: (civil(d)[1] + 2) // 3,
    "MONTH": lambda d: civil(d)[1],
    "WEEK": lambda d: iso_week(d)[1],
    "DAY": lambda d: civil(d)[2],
    "DOY": lambda d: d - days_of(civil(d)[0], 1, 1) + 1,
    "DOW": lambda d: (weekday(d) + 1) % 7 + 1,
    "ISODOW": lambda d: weekday(d) + 1,
    "ISOYEAR": lambda d: iso_week(d)[0],
    "DECADE": lambda d: civil(d)[0] // 10,
    "CENTURY": lambda d: (civil(d)[0] + 99) // 100,
    "MILLENNIUM": lambda d: (civil(d)[0] + 999) // 1000,
}
_CLOCK_FIELDS: dict[str, Callable[[Any], Any]] = {
    "HOUR": lambda m: _part(m, 86_400_000, 3_600_000),
    "MINUTE": lambda m: _part(m, 3_600_000, 60_000),
    "SECOND": lambda m: _part(m, 60_000, 1000),
    "MILLISECOND": lambda m: _part(m, 1000, 1),
    "MICROSECOND": lambda m: _part(m, 1000, 1) * 1000 + m % 1000,
    "NANOSECOND": lambda m: (_part(m, 1000, 1) * 1000 + m % 1000) * 1000,
    "EPOCH": lambda m: quotient(m // 1000, 1000),
}


def _part(micros: Any, whole: int, unit: int) -> Any:
    """Milliseconds modulo `whole` in units, both cut towards zero as Flink does it before 1970."""
    return quotient(np.fmod(micros // 1000, whole), unit)


def day_of(micros: Any) -> Any:
    """Days since 1970, cut towards zero: the day of the last hour of 1969 is 0."""
    return quotient(micros // 1000, 86_400_000)


def field_node(unit: str, rex: Rex, compiler: Compiler) -> Node:
    """The field `unit` of a date or timestamp as BIGINT."""
    if isinstance(rex.type, DateType):
        return apply(partial(_date_field, unit), pa.int64(), compiler.node(rex))
    return apply(partial(_clock_field, unit), pa.int64(), local_clock(rex, compiler))


def _date_field(unit: str, dates: pa.Array) -> pa.Array:
    days = numbers(dates).astype(np.int64)
    if unit == "EPOCH":
        found = days * 86_400
    else:
        found = _DATE_FIELDS[unit](days) if unit in _DATE_FIELDS else np.zeros_like(days)
    return column(found, pa.int64(), nulls(dates))


def _clock_field(unit: str, moments: pa.Array) -> pa.Array:
    """
    >>> _clock_field("MILLISECOND", pa.array([-1], pa.timestamp("us"))).to_pylist()
    [-1]
    """
    micros = numbers(moments)
    found = _CLOCK_FIELDS[unit](micros) if unit in _CLOCK_FIELDS else _DATE_FIELDS[unit](day_of(micros))
    return column(found, pa.int64(), nulls(moments))


def build_extract(call: Call, compiler: Compiler) -> Node:
    """EXTRACT ('YEAR', x)."""
    return field_node(unit_of(call.args[0], "EXTRACT"), call.args[1], compiler)


def _build_field(unit: str, call: Call, compiler: Compiler) -> Node:
    return field_node(unit, call.args[0], compiler)


register("EXTRACT", build_extract)
for _name, _unit in {
    "YEAR": "YEAR",
    "QUARTER": "QUARTER",
    "MONTH": "MONTH",
    "WEEK": "WEEK",
    "DAYOFYEAR": "DOY",
    "DAYOFMONTH": "DAY",
    "DAYOFWEEK": "DOW",
    "HOUR": "HOUR",
    "MINUTE": "MINUTE",
    "SECOND": "SECOND",
}.items():
    register(_name, partial(_build_field, _unit))

# --- FLOOR and CEIL, of numbers too ---------------------------------------------------------------------

_UNITS = {"MILLISECOND": 1000, "SECOND": 1_000_000, "MINUTE": 60_000_000, "HOUR": 3_600_000_000, "DAY": DAY}
_YEARS = {"DECADE": 10, "CENTURY": 100, "MILLENNIUM": 1000}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def _rounded_day(unit: str, up: bool, days: Any) -> Any:
    """The first day of the unit, or of the one behind; weeks begin on Sunday.

    Before October 1582 by the numbers that days had in the Julian calendar.
    """
    numbered = by_numbers(days)
    if unit == "DAY":
        return numbered + up
    if unit == "WEEK":
        since = (weekday(days) + 1) % 7
        return numbered + (np.where(since > 0, 7 - since, 0) if up else -since)
    year, month, _ = civil(numbered)
    if unit in _YEARS:
        size = _YEARS[unit]
        if unit == "DECADE":
            return days_of((year // 10 + up) * 10, 1, 1)
        return days_of((year + size - 1) // size * size + (1 if up else 1 - size), 1, 1)
    first = days_of(year, (month - 1) // _MONTHS[unit] * _MONTHS[unit] + 1, 1)
    return np.where(first == numbered, first, add_months(first, _MONTHS[unit])) if up else first


def build_floor(call: Call, compiler: Compiler) -> Node:
    """FLOOR(x) of a number, FLOOR(x TO unit) of a date or timestamp; CEIL likewise."""
    up = call.name != "FLOOR"
    source = call.args[0]
    if len(call.args) == 1 or isinstance(call.type, NumericType):
        return build_whole(call, compiler, up)
    unit, kind = unit_of(call.args[1], call.name), type_of(call)
    if isinstance(source.type, DateType):
        return apply(partial(_date_to_unit, unit, up), kind, compiler.node(source))
    node = apply(partial(_moment_to_unit, unit, up), pa.timestamp("us"), local_clock(source, compiler))
    return cast_node(node, _LOCAL, source.type, compiler)


def _date_to_unit(unit: str, up: bool, dates: pa.Array) -> pa.Array:
    if unit in CLOCK_UNITS and unit != "DAY":
        return dates
    days = numbers(dates).astype(np.int64)
    return column(_rounded_day(unit, up, days), pa.date32(), nulls(dates))


def _moment_to_unit(unit: str, up: bool, moments: pa.Array) -> pa.Array:
    micros = numbers(moments)
    if unit in CLOCK_UNITS:
        size = _UNITS.get(unit, 1)
        first = micros // size * size
        found = np.where(first >= micros // 1000 * 1000, first, first + size) if up else first
    else:
        found = _rounded_day(unit, up, day_of(micros)) * DAY
    return column(found, pa.timestamp("us"), nulls(moments))


for _name in ("FLOOR", "CEIL", "CEILING"):
    register(_name, build_floor)
