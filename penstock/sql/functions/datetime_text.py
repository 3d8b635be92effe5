"""Spark SQL text for dates, times and intervals.

TIMESTAMP is Spark's TIMESTAMP_NTZ, which knows no zone, and nothing here may pass it through a zone: Spark's
`date_trunc` and `timestampdiff` would, and would stumble over hours that a clock change skips. So fields
are taken apart and put together with plain date arithmetic. TIMESTAMP_LTZ is first shown in the session's
zone.
"""

from __future__ import annotations

from penstock.common.datatypes import (
    DateType,
    DayTimeIntervalType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    YearMonthIntervalType,
)
from penstock.common.errors import ValidationError
from penstock.sql.functions.registry import Arg
from penstock.sql.functions.text import let

EPOCH = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"

CALENDAR_UNITS = ("WEEK", "MONTH", "QUARTER", "YEAR", "DECADE", "CENTURY", "MILLENNIUM")
CLOCK_UNITS = ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY")
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12, "DECADE": 120, "CENTURY": 1200, "MILLENNIUM": 12000}
_SECONDS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86400, "WEEK": 604800}


def unit_name(unit: str, name: str) -> str:
    """The unit in capitals, without a plural or `SQL_TSI_` prefix; refuses what is no unit."""
    wanted = unit.upper().removeprefix("SQL_TSI_")
    known = (*CALENDAR_UNITS, *CLOCK_UNITS, "NANOSECOND", "EPOCH", "DOW", "ISODOW", "DOY", "ISOYEAR")
    if wanted in known:
        return wanted
    if wanted.endswith("S") and wanted[:-1] in known:
        return wanted[:-1]
    raise ValidationError(f"{unit} is not a unit of time in {name}", do="use one of " + ", ".join(known))


def local(arg: Arg) -> str:
    """A date or timestamp as TIMESTAMP_NTZ; a moment as the session's clock shows it."""
    if isinstance(arg.type, TimestampType):
        return arg.sql
    return f"CAST({arg.sql} AS TIMESTAMP_NTZ)"


def add_interval(moment: Arg, interval: Arg, sign: str) -> str:
    """`moment sign interval`, in the type of `moment`."""
    if isinstance(moment.type, DateType):
        if isinstance(interval.type, YearMonthIntervalType):
            return f"({moment.sql} {sign} {interval.sql})"
        days = f"CAST(extract(DAY FROM CAST({interval.sql} AS INTERVAL DAY TO SECOND)) AS INT)"
        return f"date_add({moment.sql}, {sign} {days})"
    if isinstance(moment.type, TimeType):
        if isinstance(interval.type, YearMonthIntervalType):
            return moment.sql
        return f"CAST((make_timestamp_ntz(DATE'1970-01-02', {moment.sql}) {sign} {interval.sql}) AS TIME)"
    if isinstance(moment.type, LocalZonedTimestampType) and isinstance(interval.type, DayTimeIntervalType):
        return _shift(moment.sql, interval.sql, sign)
    return f"({moment.sql} {sign} {interval.sql})"


def _shift(moment: str, interval: str, sign: str) -> str:
    """A moment moved by a length of time; Spark would move whole days by the session's calendar."""
    length = f"CAST(CAST(CAST({interval} AS INTERVAL DAY TO SECOND) AS DECIMAL(20, 6)) * 1000000 AS BIGINT)"
    return f"timestamp_micros(unix_micros({moment}) {sign} {length})"


def add_units(unit: str, count: str, moment: str) -> str:
    """A TIMESTAMP, TIMESTAMP_LTZ or DATE text moved by `count` units."""
    if unit in _MONTHS:
        return f"({moment} + make_ym_interval(0, CAST({count} * {_MONTHS[unit]} AS INT)))"
    if unit == "MILLISECOND":
        return f"({moment} + make_dt_interval(0, 0, 0, CAST({count} AS DECIMAL(18, 6)) / 1000))"
    if unit == "MICROSECOND":
        return f"({moment} + make_dt_interval(0, 0, 0, CAST({count} AS DECIMAL(18, 6)) / 1000000))"
    return f"({moment} + CAST({count} AS BIGINT) * INTERVAL '{_SECONDS[unit]}' SECOND)"


def add_days(unit: str, count: str, date: str) -> str:
    """A DATE moved by whole days, weeks, months or years."""
    if unit in _MONTHS:
        return add_units(unit, count, date)
    return f"date_add({date}, CAST({count} * {7 if unit == 'WEEK' else 1} AS INT))"


def _floor_day(unit: str, date: str) -> str:
    if unit == "WEEK":
        return f"date_sub({date}, dayofweek({date}) - 1)"
    if unit in ("MONTH", "QUARTER", "YEAR"):
        return f"trunc({date}, '{unit}')"
    if unit == "DAY":
        return date
    years = _MONTHS[unit] // 12
    first = 0 if unit == "DECADE" else 1
    return f"make_date(CAST(floor((year({date}) - {first}) / {years}) * {years} + {first} AS INT), 1, 1)"


def floor_local(unit: str, x: str) -> str:
    """A TIMESTAMP_NTZ text cut to the start of its unit; `x` is repeated, so it should be short."""
    if unit == "DAY" or unit in CALENDAR_UNITS:
        return f"CAST({_floor_day(unit, f'CAST({x} AS DATE)')} AS TIMESTAMP_NTZ)"
    second = f"extract(SECOND FROM {x})"
    if unit == "SECOND":
        return f"({x} - make_dt_interval(0, 0, 0, {second} % 1))"
    if unit == "MILLISECOND":
        return f"({x} - make_dt_interval(0, 0, 0, {second} % 0.001))"
    if unit == "MINUTE":
        return f"({x} - make_dt_interval(0, 0, 0, {second}))"
    if unit == "HOUR":
        return f"({x} - make_dt_interval(0, 0, minute({x}), {second}))"
    return x


def floor_date(unit: str, x: str) -> str:
    return x if unit in CLOCK_UNITS else _floor_day(unit, x)


def floor_to(unit: str, arg: Arg, up: bool) -> str:
    """FLOOR or CEIL of a date, time or timestamp to a unit."""
    if isinstance(arg.type, TimeType):
        moment = f"make_timestamp_ntz(DATE'1970-01-02', {arg.sql})"
        return f"CAST({let(lambda x: _ends(unit, x, floor_local(unit, x), up), moment)} AS TIME)"
    if isinstance(arg.type, DateType):
        if not up or unit in CLOCK_UNITS:
            return let(lambda x: floor_date(unit, x), arg.sql)
        return let(
            lambda x, f: f"if({f} = {x}, {x}, {add_days(unit, '1', f)})",
            arg.sql,
            let(lambda x: floor_date(unit, x), arg.sql),
        )
    text = let(lambda x: _ends(unit, x, floor_local(unit, x), up), local(arg))
    return f"CAST({text} AS TIMESTAMP)" if isinstance(arg.type, LocalZonedTimestampType) else text


def _ends(unit: str, x: str, start: str, up: bool) -> str:
    return f"if({start} = {x}, {x}, {add_units(unit, '1', start)})" if up else start


def cut_to_precision(sql: str, precision: int) -> str:
    """A TIMESTAMP_NTZ or TIMESTAMP text with digits behind `precision` cut off."""
    if precision >= 6:
        return sql
    step = f"{10**-precision:.6f}".rstrip("0").rstrip(".")
    return let(lambda x: f"({x} - make_dt_interval(0, 0, 0, extract(SECOND FROM {x}) % {step}))", sql)


def _months_between_dates(start: str, end: str) -> str:
    """Whole months from one DATE to another: the largest m with start + m months not behind end."""

    def whole(low: str, high: str) -> str:
        estimate = f"((year({high}) - year({low})) * 12 + month({high}) - month({low}))"
        return f"if(add_months({low}, {estimate}) > {high}, {estimate} - 1, {estimate})"

    return f"if({end} >= {start}, {whole(start, end)}, - {whole(end, start)})"


def months_between(start: Arg, end: Arg) -> str:
    """Whole months from `start` to `end`; on the same day the time of day decides."""
    if isinstance(start.type, DateType) and isinstance(end.type, DateType):
        return let(_months_between_dates, start.sql, end.sql)

    def adjusted(s: str, e: str) -> str:
        s_day, e_day = f"CAST({s} AS DATE)", f"CAST({e} AS DATE)"
        months = _months_between_dates(s_day, e_day)
        s_time, e_time = f"({s} - CAST({s_day} AS TIMESTAMP_NTZ))", f"({e} - CAST({e_day} AS TIMESTAMP_NTZ))"
        late = f"{e_time} < {s_time}"
        return f"({months} - if({late} AND add_months({s_day}, {months}) = {e_day}, 1, 0))"

    return let(adjusted, local(start), local(end))


def seconds_between(start: Arg, end: Arg) -> str:
    """Whole seconds from `start` to `end` as BIGINT, cut towards zero."""
    if isinstance(start.type, DateType) and isinstance(end.type, DateType):
        return f"(CAST(datediff({end.sql}, {start.sql}) AS BIGINT) * 86400)"
    if isinstance(start.type, TimeType):
        return f"((time_to_micros({end.sql}) - time_to_micros({start.sql})) div 1000000)"
    if isinstance(start.type, LocalZonedTimestampType) and isinstance(end.type, LocalZonedTimestampType):
        return f"((unix_micros({end.sql}) - unix_micros({start.sql})) div 1000000)"
    return f"CAST(({local(end)} - {local(start)}) AS BIGINT)"


def difference(unit: str, start: Arg, end: Arg) -> str:
    """Whole units from `start` to `end` as INT."""
    if unit in _MONTHS:
        return f"CAST({months_between(start, end)} div {_MONTHS[unit]} AS INT)"
    if unit in ("MILLISECOND", "MICROSECOND"):
        factor = 1000 if unit == "MILLISECOND" else 1000000
        return f"CAST({seconds_between(start, end)} * {factor} AS INT)"
    return f"CAST({seconds_between(start, end)} div {_SECONDS[unit]} AS INT)"
