"""Functions of dates and times."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.common import java_time
from penstock.common.datatypes import (
    INTERVAL_MONTH,
    INTERVAL_SECOND,
    DataType,
    DataTypes,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    IntegralType,
    LocalZonedTimestampType,
    NumericType,
    TimeType,
    YearMonthIntervalType,
)
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.common.iso_forms import IsoForm, iso_form
from penstock.sql.functions import datetime_text as at
from penstock.sql.functions.casts import cast_sql, read_date, read_timestamp
from penstock.sql.functions.clock_pieces import text_pieces
from penstock.sql.functions.numbers import _whole_type, whole_number
from penstock.sql.functions.registry import Arg, ArgType, FunctionDef, Render, register
from penstock.sql.functions.rules import (
    ANY,
    CHARACTER,
    DATED,
    DATETIME,
    INTEGER,
    INTERVAL,
    NUMERIC,
    TIMESTAMP,
    check,
    literal_text,
    maybe,
    never,
    nullable,
    of,
    opt,
    refuse,
    scalar,
)
from penstock.sql.functions.text import fail, let, string, udf

# --- EXTRACT and its short forms ------------------------------------------------------------------------

_DATE_FIELDS = {
    "YEAR": "year({0})",
    "QUARTER": "quarter({0})",
    "MONTH": "month({0})",
    "WEEK": "weekofyear({0})",
    "DAY": "day({0})",
    "DOY": "dayofyear({0})",
    "DOW": "dayofweek({0})",
    "ISODOW": "(weekday({0}) + 1)",
    "ISOYEAR": "extract(YEAROFWEEK FROM {0})",
    "DECADE": "floor(year({0}) / 10)",
    "CENTURY": "floor((year({0}) + 99) / 100)",
    "MILLENNIUM": "floor((year({0}) + 999) / 1000)",
}
_CLOCK_FIELDS = {
    "HOUR": "hour({0})",
    "MINUTE": "minute({0})",
    "SECOND": "floor(extract(SECOND FROM {0}))",
    "MILLISECOND": "floor((extract(SECOND FROM {0}) % 1) * 1000)",
    "MICROSECOND": "floor((extract(SECOND FROM {0}) % 1) * 1000000)",
    "NANOSECOND": "floor((extract(SECOND FROM {0}) % 1) * 1000000) * 1000",
}
_EARLY_FIELDS = {
    "HOUR": "{m} % 86400000 div 3600000",
    "MINUTE": "{m} % 3600000 div 60000",
    "SECOND": "{m} % 60000 div 1000",
    "MILLISECOND": "{m} % 1000",
    "MICROSECOND": "({m} % 1000 * 1000 + floor(extract(SECOND FROM {x}) * 1000000) % 1000)",
    "NANOSECOND": "({m} % 1000 * 1000 + floor(extract(SECOND FROM {x}) * 1000000) % 1000) * 1000",
}
"""Fields of moments before 1970, of which `m` are the milliseconds."""


def extract_text(unit: str, arg: Arg) -> str:
    """The field `unit` of a date, time, timestamp or interval as BIGINT."""
    if isinstance(arg.type, (DayTimeIntervalType, YearMonthIntervalType)):
        wide = (
            "INTERVAL DAY TO SECOND"
            if isinstance(arg.type, DayTimeIntervalType)
            else "INTERVAL YEAR TO MONTH"
        )
        length = f"CAST({arg.sql} AS {wide})"
        if unit == "MILLISECOND":
            return f"CAST(CAST({length} AS DECIMAL(20, 6)) * 1000 % 1000 AS BIGINT)"
        return f"CAST(extract({unit} FROM {length}) AS BIGINT)"
    if unit == "EPOCH":
        return f"CAST({_epoch(arg)} AS BIGINT)"
    if unit in _DATE_FIELDS:
        day = arg.sql if isinstance(arg.type, DateType) else let(at.day_of, at.local(arg))
        return f"CAST({let(_DATE_FIELDS[unit].format, day)} AS BIGINT)"
    if isinstance(arg.type, DateType):
        return f"if({arg.sql} IS NULL, NULL, 0L)"
    if isinstance(arg.type, TimeType):
        return f"CAST({let(_CLOCK_FIELDS[unit].format, arg.sql)} AS BIGINT)"
    return let(lambda x: _clock_field(unit, x), at.local(arg))


def _clock_field(unit: str, x: str) -> str:
    early = let(lambda m, x: _EARLY_FIELDS[unit].format(m=m, x=x), at.millis_of(x), x)
    return f"if({x} < {at.EPOCH}, CAST({early} AS BIGINT), CAST({_CLOCK_FIELDS[unit].format(x)} AS BIGINT))"


def _epoch(arg: Arg) -> str:
    if isinstance(arg.type, DateType):
        return f"datediff({arg.sql}, DATE'1970-01-01') * 86400L"
    return f"{at.millis_of(at.local(arg))} div 1000"


def _extract_type(args: Sequence[ArgType]) -> DataType:
    unit = at.unit_name(literal_text(args[0], "EXTRACT", "its unit"), "EXTRACT")
    source = args[1].type
    clock = unit in _CLOCK_FIELDS
    if isinstance(source, TimeType) and (not clock or unit in ("MICROSECOND", "NANOSECOND")):
        raise refuse("EXTRACT", args[1:], why=f"a TIME has no {unit}")
    if isinstance(source, YearMonthIntervalType) and unit not in ("YEAR", "MONTH"):
        raise refuse("EXTRACT", args[1:], why=f"this interval has no {unit}")
    return DataTypes.BIGINT(source.is_nullable)


scalar(
    "EXTRACT",
    [(ANY, DATETIME), (ANY, INTERVAL)],
    _extract_type,
    render=lambda args, result: extract_text(at.unit_name(str(args[0].literal), "EXTRACT"), args[1]),
)


def _part(unit: str) -> Render:
    return lambda args, result: extract_text(unit, args[0])


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
    _taken = DATETIME if _unit in _CLOCK_FIELDS else DATED
    scalar(_name, (_taken,), of(DataTypes.BIGINT), render=_part(_unit))

# --- FLOOR and CEIL, of numbers too ---------------------------------------------------------------------


def _floor_type(name: str, args: Sequence[ArgType]) -> DataType:
    check(name, [(NUMERIC,), (DATETIME, ANY)], args)
    if len(args) == 1:
        return _whole_type(args)
    unit = at.unit_name(literal_text(args[1], name, "its unit"), name)
    if unit not in (*at.CALENDAR_UNITS, *at.CLOCK_UNITS):
        raise refuse(name, args[:1], why=f"{unit} is not a unit to round to")
    if isinstance(args[0].type, TimeType) and unit in at.CALENDAR_UNITS:
        raise refuse(name, args[:1], why=f"a TIME has no {unit}")
    return args[0].type


def _floor_text(name: str, args: Sequence[Arg], result: DataType) -> str:
    if len(args) == 1:
        return whole_number("floor" if name == "FLOOR" else "ceil", args, result)
    return at.floor_to(at.unit_name(str(args[1].literal), name), args[0], up=name != "FLOOR")


for _name, _aliases in (("FLOOR", ()), ("CEIL", ("CEILING",))):
    register(
        FunctionDef(
            _name,
            "scalar",
            lambda args, name=_name: _floor_type(name, args),  # type: ignore[misc]
            lambda args, result, name=_name: _floor_text(name, args, result),  # type: ignore[misc]
        ),
        *_aliases,
    )

# --- differences and sums -------------------------------------------------------------------------------


def _unit_of(args: Sequence[ArgType] | Sequence[Arg], name: str) -> str:
    unit = at.unit_name(literal_text(args[0], name, "its unit"), name)
    if unit not in (*at.CALENDAR_UNITS, *at.CLOCK_UNITS):
        raise ValidationError(f"{name} does not count in units of {unit}")
    return unit


def _diff_type(args: Sequence[ArgType]) -> DataType:
    unit = _unit_of(args, "TIMESTAMPDIFF")
    in_months = unit in at.CALENDAR_UNITS and unit != "WEEK"
    if isinstance(args[1].type, TimeType) != isinstance(args[2].type, TimeType) and not in_months:
        raise refuse("TIMESTAMPDIFF", args[1:], why="a time of day has no distance from a date")
    moments = [isinstance(a.type, LocalZonedTimestampType) for a in args[1:]]
    if any(moments) and not all(moments):
        raise refuse("TIMESTAMPDIFF", args[1:], why="a TIMESTAMP_LTZ has a distance only from its like")
    return DataTypes.INT(nullable(args[1:]))


def _add_type(args: Sequence[ArgType]) -> DataType:
    unit, moment = _unit_of(args, "TIMESTAMPADD"), args[2].type
    null = nullable(args[1:])
    if isinstance(moment, DateType) and unit in at.CLOCK_UNITS and unit != "DAY":
        return DataTypes.TIMESTAMP(6, null)
    return moment.with_nullability(null)


def _add_text(args: Sequence[Arg], result: DataType) -> str:
    unit, count, moment = _unit_of(args, "TIMESTAMPADD"), args[1].sql, args[2]
    if isinstance(result, DateType):
        return at.add_days(unit, count, moment.sql)
    if isinstance(result, TimeType):
        moved = at.add_units(unit, count, f"make_timestamp_ntz(DATE'1970-01-02', {moment.sql})")
        return f"CAST({moved} AS TIME)"
    if isinstance(result, LocalZonedTimestampType):
        return at.add_to_moment(unit, count, moment.sql)
    return at.add_units(unit, count, at.local(moment) if isinstance(moment.type, DateType) else moment.sql)


scalar(
    "TIMESTAMPDIFF",
    (ANY, DATETIME, DATETIME),
    _diff_type,
    render=lambda args, result: at.difference(_unit_of(args, "TIMESTAMPDIFF"), args[1], args[2]),
)
scalar("TIMESTAMPADD", (ANY, INTEGER, DATETIME), _add_type, render=_add_text)


def _minus_date_type(args: Sequence[ArgType]) -> DataType:
    unit = literal_text(args[0], "(a - b) interval", "its unit").upper()
    calendar = unit.startswith(("YEAR", "MONTH"))
    return (INTERVAL_MONTH if calendar else INTERVAL_SECOND).with_nullability(nullable(args[1:]))


def _minus_date(args: Sequence[Arg], result: DataType) -> str:
    end, start = args[1], args[2]
    if isinstance(result, YearMonthIntervalType):
        return f"make_ym_interval(0, CAST({at.months_between(start, end)} AS INT))"
    if isinstance(end.type, DateType) and isinstance(start.type, DateType):
        return f"make_dt_interval(datediff({end.sql}, {start.sql}))"
    if isinstance(end.type, TimeType):
        day = "make_timestamp_ntz(DATE'1970-01-01', {0})"
        return f"({day.format(end.sql)} - {day.format(start.sql)})"
    if isinstance(end.type, LocalZonedTimestampType) and isinstance(start.type, LocalZonedTimestampType):
        micros = f"(unix_micros({end.sql}) - unix_micros({start.sql}))"
        return (
            f"make_dt_interval(0, 0, 0, CAST(CAST({micros} AS DECIMAL(20, 0)) / 1000000 AS DECIMAL(18, 6)))"
        )
    return f"({at.local(end)} - {at.local(start)})"


scalar("MINUS_DATE", (ANY, DATETIME, DATETIME), _minus_date_type, render=_minus_date)


def _overlaps(args: Sequence[Arg], result: DataType) -> str:
    ends = []
    for start, end in ((args[0], args[1]), (args[2], args[3])):
        is_length = isinstance(end.type, (DayTimeIntervalType, YearMonthIntervalType))
        ends.append(at.add_interval(start, end, "+") if is_length else end.sql)

    def text(a: str, b: str, c: str, d: str) -> str:
        known = " OR ".join(f"{x} IS NULL" for x in (a, b, c, d))
        return f"if({known}, NULL, greatest({a}, {b}) >= least({c}, {d}) AND greatest({c}, {d}) >= least({a}, {b}))"

    return let(text, args[0].sql, ends[0], args[2].sql, ends[1])


_PERIOD_END = [(DATETIME, a, DATETIME, b) for a in (DATETIME, INTERVAL) for b in (DATETIME, INTERVAL)]
scalar("OVERLAPS", list(_PERIOD_END), of(DataTypes.BOOLEAN), render=_overlaps)

# --- now ------------------------------------------------------------------------------------------------

_NOW = at.cut_to_precision("current_timestamp()", 3)
for _name in ("CURRENT_TIMESTAMP", "NOW", "CURRENT_ROW_TIMESTAMP", "PROCTIME"):
    scalar(_name, (), never(DataTypes.TIMESTAMP_LTZ, 3), _NOW.replace("{", "{{"), deterministic=False)
scalar("LOCALTIMESTAMP", (), never(DataTypes.TIMESTAMP, 3), at.cut_to_precision("localtimestamp()", 3))
scalar("CURRENT_DATE", (), never(DataTypes.DATE), "current_date()", deterministic=False)
for _name in ("CURRENT_TIME", "LOCALTIME"):
    scalar(_name, (), never(DataTypes.TIME, 0), "time_trunc('SECOND', CAST(localtimestamp() AS TIME))")


def _no_watermark(args: Sequence[Arg], result: DataType) -> str:
    raise NotSupportedError("CURRENT_WATERMARK in batch mode", "a bounded query has no watermark")


scalar("CURRENT_WATERMARK", (TIMESTAMP,), lambda args: args[0].type.nullable(), render=_no_watermark)

# --- text to time and back ------------------------------------------------------------------------------

_ISO = ("yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd", "yyyy-MM-dd HH:mm:ss.SSS")


def wrong_pattern(pattern: str) -> str | None:
    """What is wrong with the pattern of a timestamp, which has no zone to show."""
    try:
        zones = [token.letter for token in java_time.tokens(pattern) if token.letter in tuple("VzOXxZ")]
    except java_time.PatternError as error:
        return str(error)
    return f"a timestamp has no zone to show for {zones[0]!r}" if zones else None


def format_text(moment: str, pattern: Arg) -> str:
    """A TIMESTAMP_NTZ text as text; constant patterns are put together from pieces of Spark's own text form."""
    wrong = wrong_pattern(pattern.literal) if isinstance(pattern.literal, str) else None
    if wrong is not None:  # fails where there is something to format
        return f"if({moment} IS NULL, NULL, {fail(string(wrong))})"
    pieces = text_pieces(pattern.literal) if isinstance(pattern.literal, str) else None
    if pieces is None:
        return udf("date_format", moment, pattern.sql)
    shown = f"CAST({moment} AS STRING)"
    if any(token.letter == "S" for token in java_time.tokens(pattern.literal)):
        # The fraction, which Spark leaves out where it is zero, is filled up to nine digits.
        shown = let(lambda t: f"rpad(if(instr({t}, '.') = 0, concat({t}, '.'), {t}), 29, '0')", shown)
    return let(
        lambda x: f"concat({', '.join([*(p.format(x) for p in pieces), f'substring({x}, 1, 0)'])})", shown
    )


def simple_text(moment: str, pattern: Arg, zone: str = "current_timezone()") -> str:
    """A TIMESTAMP_NTZ text as text by SimpleDateFormat, which agrees with the newer one in the plain letters."""
    if isinstance(pattern.literal, str) and is_plain_pattern(pattern.literal):
        return format_text(moment, pattern)
    wrong = fail(f"concat('illegal pattern of a date: ', {pattern.sql})")
    return let(
        lambda m, p, shown: (
            f"if({m} IS NULL OR {p} IS NULL, NULL, coalesce({shown}, {wrong.replace(pattern.sql, p)}))"
        ),
        moment,
        pattern.sql,
        udf("simple_format", moment, pattern.sql, zone),
    )


def is_plain_pattern(pattern: str) -> bool:
    """Whether both of Java's formatters write the same."""
    try:
        parts = java_time.tokens(pattern)
    except java_time.PatternError:
        return False
    return all(not part.letter or (part.letter in "yMdHms" and part.count <= 4) for part in parts)


def _date_format(args: Sequence[Arg], result: DataType) -> str:
    source = args[0]
    if CHARACTER.has(source.type):
        timed = let(lambda x: f"if(instr({x}, ' ') > 0, {read_timestamp(x, 0)}, NULL)", source.sql)
        return simple_text(timed, args[1], "'UTC'")
    return format_text(at.local(source), args[1])


scalar(
    "DATE_FORMAT",
    [(TIMESTAMP, CHARACTER), (CHARACTER, CHARACTER)],
    maybe(DataTypes.STRING),
    render=_date_format,
)


def _from_unixtime(args: Sequence[Arg], result: DataType) -> str:
    moment = f"CAST(timestamp_seconds({args[0].sql}) AS TIMESTAMP_NTZ)"
    shown = let(at.by_numbers_of_its_time, moment)
    return simple_text(shown, args[1] if len(args) > 1 else Arg(string(_ISO[0]), DataTypes.STRING(), _ISO[0]))


scalar("FROM_UNIXTIME", (INTEGER, opt(CHARACTER)), maybe(DataTypes.STRING), render=_from_unixtime)


def _unix_timestamp(s: str | None = None, pattern: str | None = None) -> str:
    if s is None:
        return "unix_timestamp()"
    if pattern is None:
        return udf("unix_timestamp", s, string(_ISO[0]), "current_timezone()")
    return let(
        lambda x, p, found: (
            f"if({x} IS NULL OR {p} IS NULL, NULL, coalesce({found}, {fail(f'concat({_ILLEGAL}, {p})')}))"
        ),
        s,
        pattern,
        udf("unix_timestamp", s, pattern, "current_timezone()"),
    )


_ILLEGAL = string("illegal pattern of a date: ")


scalar(
    "UNIX_TIMESTAMP",
    [(), (CHARACTER, opt(CHARACTER))],
    of(DataTypes.BIGINT),
    _unix_timestamp,
    how="udf",
)
scalar(
    "CONVERT_TZ",
    (CHARACTER, CHARACTER, CHARACTER),
    maybe(DataTypes.STRING),
    lambda *a: udf("convert_tz", *a),
    how="udf",
)


def _parsed(args: Sequence[Arg], precision: int = 3) -> str:
    """TIMESTAMP_NTZ from text with an optional pattern; NULL where it does not fit."""
    if len(args) < 2:
        return let(lambda x: read_timestamp(x, precision), args[0].sql)
    if args[1].literal in _ISO:
        return let(lambda x: _read_leniently(x, precision), f"trim({args[0].sql})")
    form = iso_form(args[1].literal, _YEAR) if isinstance(args[1].literal, str) else None
    if form is not None:
        return let(lambda x: _read_form(form, x, precision), args[0].sql)
    return udf("to_timestamp", args[0].sql, args[1].sql, str(precision))


def _read_leniently(x: str, precision: int) -> str:
    """As CAST reads it; with a pattern, minutes and seconds may be more than there are: 12:60:00 is 13:00:00."""
    second = f"[0-9]{{1,2}}(?:[.][0-9]{{0,{min(precision, 6)}}})?"
    shape = f"^([0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}) ([0-9]{{1,2}}):([0-9]{{1,2}}):({second})[0-9]*$"
    day, hour, minute, seconds = (f"regexp_extract({x}, '{shape}', {i})" for i in range(1, 5))
    clock = f"CAST({hour} AS INT), CAST({minute} AS INT), CAST({seconds} AS DECIMAL(18, 6))"
    length = f"make_dt_interval(0, {clock})"
    late = f"{let(lambda d: read_timestamp(d, 0), day)} + {length}"
    return f"coalesce({read_timestamp(x, precision)}, if({x} RLIKE '{shape}', {late}, NULL))"


_YEAR = "(?!0000)[0-9]{4}"
_PLAIN = r"\A\s*[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}( [0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}([.][0-9]{1,9})?)?\s*\z"


def _read_form(form: IsoForm, x: str, precision: int) -> str:
    """Texts of the form are rewritten; of the others, those in the usual form are read all the same, as in Flink."""
    usual = f"regexp_replace({x}, {string(form.regex)}, {string(form.written('$'))})"
    other = f"if({x} RLIKE {string(_PLAIN)}, try_cast(trim({x}) AS TIMESTAMP_NTZ), NULL)"
    read = let(lambda t: _read_leniently(t, precision), usual)
    return f"if({x} RLIKE {string(form.regex)}, {read}, {at.cut_to_precision(other, precision)})"


def _to_date(args: Sequence[Arg], result: DataType) -> str:
    if len(args) == 1:
        return let(read_date, args[0].sql)
    return f"CAST({udf('to_date', args[0].sql, args[1].sql)} AS DATE)"


scalar("TO_DATE", (CHARACTER, opt(CHARACTER)), maybe(DataTypes.DATE), render=_to_date)
scalar(
    "TO_TIMESTAMP",
    (CHARACTER, opt(CHARACTER)),
    maybe(DataTypes.TIMESTAMP, 3),
    render=lambda args, result: _parsed(args),
)


def _ltz_type(args: Sequence[ArgType]) -> DataType:
    if isinstance(args[0].type, NumericType):
        precision = args[1].literal if len(args) > 1 else 3
        if not isinstance(precision, int) or not 0 <= precision <= 9:
            raise ValidationError(
                f"TO_TIMESTAMP_LTZ: the precision {precision} is not a constant from 0 to 9"
            )
        return DataTypes.TIMESTAMP_LTZ(max(precision, 3))
    pattern = args[1].literal if len(args) > 1 else ""
    digits = pattern.count("S") if isinstance(pattern, str) else 3
    return DataTypes.TIMESTAMP_LTZ(min(max(digits, 3), 9))


def _to_ltz(args: Sequence[Arg], result: DataType) -> str:
    if isinstance(args[0].type, NumericType):
        return _ltz_of_number(args[0], args[1].literal if len(args) > 1 else 3)
    precision = getattr(result, "precision", 3)
    if len(args) == 1:
        zone, local = "'UTC'", cast_sql(args[0], DataTypes.TIMESTAMP(precision))
    else:
        zone, local = args[2].sql if len(args) > 2 else "'UTC'", _parsed(args[:2], precision)
    return f"CAST(convert_timezone({zone}, current_timezone(), {local}) AS TIMESTAMP)"


def _ltz_of_number(arg: Arg, precision: int) -> str:
    if isinstance(arg.type, DecimalType):
        arg = Arg(f"CAST({arg.sql} AS BIGINT)", DataTypes.BIGINT())
    whole = isinstance(arg.type, IntegralType)
    if whole and precision in (0, 3, 6):
        function = {0: "timestamp_seconds", 3: "timestamp_millis", 6: "timestamp_micros"}[precision]
        return f"{function}({arg.sql})"
    exact = f"CAST({arg.sql} AS DECIMAL(38, 9))"
    if not whole:
        exact = f"floor({exact})" if precision >= 3 else exact
    return f"timestamp_micros(CAST(floor({exact} * {10 ** (6 - precision):.6f}) AS BIGINT))"


scalar(
    "TO_TIMESTAMP_LTZ",
    [(NUMERIC, opt(INTEGER)), (CHARACTER, opt(CHARACTER), opt(CHARACTER))],
    _ltz_type,
    render=_to_ltz,
)

__all__ = ["extract_text", "format_text", "is_plain_pattern", "wrong_pattern"]
