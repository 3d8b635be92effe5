"""Spark SQL text for dates, times and intervals.

TIMESTAMP is Spark's TIMESTAMP_NTZ, which knows no zone, and nothing here may pass it through a zone: Spark's
`date_trunc` and `timestampdiff` would, and would stumble over hours that a clock change skips. So fields
are taken apart and put together with plain date arithmetic. TIMESTAMP_LTZ is first shown in the session's
zone.

Before 1970 Flink counts from the other end: a timestamp is a negative number of milliseconds there, and where it is
divided it is cut towards zero. So the day of 1969-12-31 23:00 is 1970-01-01, its hour is -1 and its fields that are
smaller are negative, too. Before October 1582 dates are rounded by their numbers in the Julian calendar.
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
EPOCH_UTC = "TIMESTAMP'1970-01-01 00:00:00 UTC'"

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
    if isinstance(moment.type, LocalZonedTimestampType):
        if isinstance(interval.type, DayTimeIntervalType):
            return _shift(moment.sql, interval.sql, sign)
        return _in_months(moment.sql, f"{sign} CAST(CAST({interval.sql} AS INTERVAL MONTH) AS INT)")
    return f"({moment.sql} {sign} {interval.sql})"


def _shift(moment: str, interval: str, sign: str) -> str:
    """A moment moved by a length of time; Spark would move whole days by the session's calendar."""
    length = f"CAST(CAST(CAST({interval} AS INTERVAL DAY TO SECOND) AS DECIMAL(20, 6)) * 1000000 AS BIGINT)"
    return f"timestamp_micros(unix_micros({moment}) {sign} {length})"


def _utc(moment: str) -> str:
    """A moment as the clock of UTC shows it."""
    seconds = f"CAST(CAST(unix_millis({moment}) AS DECIMAL(21, 0)) / 1000 AS DECIMAL(18, 6))"
    return f"({EPOCH} + make_dt_interval(0, 0, 0, {seconds}))"


def _in_months(moment: str, months: str) -> str:
    """A moment moved on the calendar of UTC, whatever the session's zone."""

    def moved(x: str, n: str) -> str:
        day = f"CAST({_utc(x)} AS DATE)"
        days = f"CAST(datediff(add_months({day}, {n}), {day}) AS BIGINT)"
        return f"timestamp_micros(unix_micros({x}) + {days} * 86400000000)"

    return let(moved, moment, months)


def add_to_moment(unit: str, count: str, moment: str) -> str:
    """A TIMESTAMP_LTZ text moved by `count` units, which are lengths of time or months."""
    if unit in _MONTHS:
        return _in_months(moment, f"CAST({count} * {_MONTHS[unit]} AS INT)")
    micros = {"MILLISECOND": 1000, "MICROSECOND": 1}.get(unit) or _SECONDS[unit] * 1_000_000
    return f"timestamp_micros(unix_micros({moment}) + CAST({count} AS BIGINT) * {micros}L)"


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


_JULIAN_END = "DATE'1582-10-15'"
_JULIAN_SINCE = (
    ("1500-03-11", 10),
    ("1400-03-10", 9),
    ("1300-03-09", 8),
    ("1100-03-08", 7),
    ("1000-03-07", 6),
    ("0900-03-06", 5),
    ("0700-03-05", 4),
    ("0600-03-04", 3),
    ("0500-03-03", 2),
    ("0300-03-02", 1),
    ("0200-03-01", 0),
    ("0100-02-28", -1),
)
"""Since when the Julian calendar's numbers are so many days behind."""


def _by_numbers(date: str) -> str:
    """The day whose numbers are those that the day has in the calendar of its time."""
    whens = " ".join(f"WHEN {date} >= DATE'{since}' THEN {days}" for since, days in _JULIAN_SINCE)
    return f"if({date} < {_JULIAN_END}, date_sub({date}, CASE {whens} ELSE -2 END), {date})"


def by_numbers_of_its_time(x: str) -> str:
    """A TIMESTAMP_NTZ text with the numbers that its day has in the calendar of its time."""
    day = f"CAST({x} AS DATE)"
    moved = f"{x} + make_dt_interval(datediff({let(_by_numbers, day)}, {day}))"
    return f"if({x} < TIMESTAMP_NTZ'1582-10-15 00:00:00', {moved}, {x})"


def _rounded_day(unit: str, date: str, up: bool) -> str:
    """The first day of the unit, or of the one behind; `date` is repeated, so it should be short."""
    if unit == "WEEK":
        days = f"(8 - dayofweek({date})) % 7" if up else f"1 - dayofweek({date})"
        return f"date_add({_by_numbers(date)}, {days})"
    return let(lambda d: _rounded_numbers(unit, d, up), _by_numbers(date))


def _rounded_numbers(unit: str, day: str, up: bool) -> str:
    if unit == "DAY":
        return f"date_add({day}, 1)" if up else day
    if unit in ("MONTH", "QUARTER", "YEAR"):
        first = f"trunc({day}, '{unit}')"
        return f"if({first} = {day}, {day}, add_months({first}, {_MONTHS[unit]}))" if up else first
    years = _MONTHS[unit] // 12
    if unit == "DECADE":
        return f"make_date(CAST((year({day}) div 10 + {int(up)}) * 10 AS INT), 1, 1)"
    last = f"(year({day}) + {years - 1}) div {years} * {years}"
    return f"make_date(CAST({last} + {1 if up else 1 - years} AS INT), 1, 1)"


def floor_local(unit: str, x: str) -> str:
    """A TIMESTAMP_NTZ text cut to the start of a unit of the clock; `x` is repeated, so it should be short."""
    second = f"extract(SECOND FROM {x})"
    if unit == "DAY":
        return f"CAST(CAST({x} AS DATE) AS TIMESTAMP_NTZ)"
    if unit == "SECOND":
        return f"({x} - make_dt_interval(0, 0, 0, {second} % 1))"
    if unit == "MILLISECOND":
        return f"({x} - make_dt_interval(0, 0, 0, {second} % 0.001))"
    if unit == "MINUTE":
        return f"({x} - make_dt_interval(0, 0, 0, {second}))"
    if unit == "HOUR":
        return f"({x} - make_dt_interval(0, 0, minute({x}), {second}))"
    return x


def day_of(x: str) -> str:
    """The day of a TIMESTAMP_NTZ text, before 1970 the next one; `x` is repeated, so it should be short."""
    day = f"CAST({x} AS DATE)"
    begun = f"{x} >= CAST({day} AS TIMESTAMP_NTZ) + INTERVAL '0.001' SECOND"
    return f"if({x} < {EPOCH} AND {begun}, date_add({day}, 1), {day})"


def millis_of(x: str) -> str:
    """The milliseconds from 1970 to a TIMESTAMP_NTZ text as BIGINT."""
    return f"CAST(floor(CAST(({x} - {EPOCH}) AS DECIMAL(20, 6)) * 1000) AS BIGINT)"


def _rounded_local(unit: str, x: str, up: bool) -> str:
    if unit in CALENDAR_UNITS:
        day = let(lambda d: _rounded_day(unit, d, up), day_of(x))
        return f"CAST({day} AS TIMESTAMP_NTZ)"
    start = floor_local(unit, x)
    if not up:
        return start
    late = f"{x} >= {start} + INTERVAL '0.001' SECOND" if unit != "MILLISECOND" else "FALSE"
    return f"if({late}, {add_units(unit, '1', start)}, {start})"


def floor_to(unit: str, arg: Arg, up: bool) -> str:
    """FLOOR or CEIL of a date, time or timestamp to a unit."""
    if isinstance(arg.type, TimeType):
        moment = f"make_timestamp_ntz(DATE'1970-01-02', {arg.sql})"
        return f"CAST({let(lambda x: _rounded_local(unit, x, up), moment)} AS TIME)"
    if isinstance(arg.type, DateType):
        if unit in CLOCK_UNITS and unit != "DAY":
            return arg.sql
        return let(lambda x: _rounded_day(unit, x, up), arg.sql)
    if isinstance(arg.type, LocalZonedTimestampType):
        return let(lambda x: _rounded_moment(unit, x, up), arg.sql)
    return let(lambda x: _rounded_local(unit, x, up), arg.sql)


def _rounded_moment(unit: str, x: str, up: bool) -> str:
    """A moment is rounded on the clock that it has, which may not be the clock of the moment that comes out."""
    shown = f"CAST({x} AS TIMESTAMP_NTZ)"
    moved = let(lambda c: f"CAST(({c} - {_rounded_local(unit, c, up)}) AS DECIMAL(20, 6))", shown)
    return f"timestamp_micros(unix_micros({x}) - CAST({moved} * 1000000 AS BIGINT))"


def cut_to_precision(sql: str, precision: int, epoch: str = EPOCH) -> str:
    """A TIMESTAMP_NTZ (or, with its `epoch`, TIMESTAMP) text with digits behind `precision` cut off.

    Milliseconds are cut towards 1970.
    """
    if precision >= 6:
        return sql
    step = f"{10**-precision:.6f}".rstrip("0").rstrip(".")

    def cut(x: str) -> str:
        return f"({x} - make_dt_interval(0, 0, 0, extract(SECOND FROM {x}) % {step}))"

    if precision >= 3:
        return let(cut, sql)
    rest = f"INTERVAL '{10**-precision - 0.001:.3f}' SECOND"
    return let(cut, let(lambda x: f"if({x} < {epoch}, {x} + {rest}, {x})", sql))


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

    return let(adjusted, *(_in_millis(side) for side in (start, end)))


def _in_millis(arg: Arg) -> str:
    """A date or timestamp as TIMESTAMP_NTZ without what is less than a millisecond; a moment as of UTC."""
    if isinstance(arg.type, LocalZonedTimestampType):
        return let(_utc, arg.sql)
    if isinstance(arg.type, TimeType):
        return f"make_timestamp_ntz(DATE'1970-01-01', {arg.sql})"
    return let(lambda x: floor_local("MILLISECOND", x), local(arg))


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
