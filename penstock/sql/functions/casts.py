"""CAST and TRY_CAST between all types that Flink converts.

Where text cannot be read, TRY_CAST gives NULL and CAST fails the job and names the text. A decimal that does
not fit becomes NULL in both. `cast_sql` is the entry for everybody who needs a conversion.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.common.datatypes import (
    INTERVAL_MONTH,
    INTERVAL_SECOND,
    MAX_LENGTH,
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    NullType,
    NumericType,
    RowType,
    TimestampType,
    TimeType,
    VarBinaryType,
    VarCharType,
    YearMonthIntervalType,
)
from penstock.common.errors import ValidationError
from penstock.sql.functions.datetime_text import EPOCH, EPOCH_UTC, cut_to_precision, day_of
from penstock.sql.functions.registry import Arg, ArgType, FunctionDef, register
from penstock.sql.functions.text import cast, fail, let, quoted_name, string, typed_null
from penstock.sql.functions.value_text import text_of

_TEXT = (CharType, VarCharType)
_BYTES = (BinaryType, VarBinaryType)
_MOMENT = (TimestampType, LocalZonedTimestampType)
_INTERVAL = (DayTimeIntervalType, YearMonthIntervalType)

_TARGETS: tuple[tuple[tuple[type[DataType], ...], tuple[type[DataType], ...]], ...] = (
    (_TEXT, (*_TEXT, *_BYTES, BooleanType, NumericType, DateType, TimeType, *_MOMENT)),
    (_BYTES, (*_TEXT, *_BYTES)),
    ((BooleanType,), (*_TEXT, BooleanType, NumericType)),
    ((IntegralType, DecimalType), (*_TEXT, BooleanType, NumericType, *_INTERVAL)),
    ((NumericType,), (*_TEXT, BooleanType, NumericType)),
    ((DateType,), (*_TEXT, DateType, *_MOMENT)),
    ((TimeType,), (*_TEXT, TimeType, *_MOMENT)),
    (_MOMENT, (*_TEXT, DateType, TimeType, *_MOMENT)),
    ((DayTimeIntervalType,), (*_TEXT, DayTimeIntervalType)),
    ((YearMonthIntervalType,), (*_TEXT, YearMonthIntervalType)),
    ((MultisetType,), (*_TEXT, MultisetType)),
)


def can_cast(source: DataType, target: DataType) -> bool:
    """Whether there is a conversion at all."""
    if isinstance(source, NullType) or source.nullable() == target.nullable():
        return True
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return can_cast(source.element_type, target.element_type)
    if isinstance(source, MapType) and isinstance(target, MapType):
        return can_cast(source.key_type, target.key_type) and can_cast(source.value_type, target.value_type)
    if isinstance(source, RowType) and isinstance(target, RowType):
        pairs = zip(source.field_types(), target.field_types(), strict=False)
        return len(source) == len(target) and all(can_cast(a, b) for a, b in pairs)
    if isinstance(source, (ArrayType, MapType, RowType)):
        return isinstance(target, _TEXT)
    if isinstance(source, NumericType) and "_TO_" in getattr(target, "resolution", ""):
        return False  # a number is a number of one unit
    return any(isinstance(source, sources) and isinstance(target, targets) for sources, targets in _TARGETS)


def cast_sql(arg: Arg, target: DataType, try_: bool = False) -> str:
    """The text that converts `arg` to `target` with Flink's rules."""
    source = arg.type
    if isinstance(source, NullType):
        return typed_null(target)
    if not can_cast(source, target):
        raise ValidationError(
            f"cannot cast {source.as_summary()} to {target.as_summary()}",
            do="convert by way of STRING, or use a function such as TO_TIMESTAMP",
        )
    if source.nullable() == target.nullable():
        return arg.sql
    return _convert(arg.sql, source, target, try_)


def _convert(sql: str, source: DataType, target: DataType, try_: bool) -> str:
    if source.nullable() == target.nullable():
        return sql
    if isinstance(target, _TEXT):
        return _fit_text(text_of(sql, source), source, target)
    if isinstance(target, _BYTES):
        return _fit_bytes(sql if isinstance(source, _BYTES) else f"CAST({sql} AS BINARY)", target)
    if isinstance(source, _TEXT):
        return _checked(sql, target, try_)
    if isinstance(target, (TimestampType, LocalZonedTimestampType, TimeType)):
        return _temporal(sql, source, target)
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return _array(sql, source, target, try_)
    if isinstance(source, MapType) and isinstance(target, MapType):
        return _map(sql, source, target, try_)
    if isinstance(source, RowType) and isinstance(target, RowType):
        return _row(sql, source, target, try_)
    if isinstance(target, DayTimeIntervalType) and isinstance(source, NumericType):
        return f"make_dt_interval(0, 0, 0, CAST({sql} AS DECIMAL(18, 6)) / 1000)"
    if isinstance(source, (FloatType, DoubleType)) and isinstance(target, DecimalType):
        return let(lambda x: _decimal_of_double(x, target), f"CAST({sql} AS DOUBLE)")
    if isinstance(target, YearMonthIntervalType) and isinstance(source, NumericType):
        return f"make_ym_interval(0, CAST({sql} AS INT))"
    if isinstance(source, TimestampType) and isinstance(target, DateType):
        return let(day_of, sql)
    return cast(sql, target)


def _decimal_of_double(x: str, target: DecimalType) -> str:
    """The decimal nearest to what Java writes for the number; infinities and NaN have none, also in TRY_CAST."""
    message = fail(f"concat('cannot cast ', {x}, ' to {target.nullable().as_summary()}')")
    return (
        f"if({x} IN (DOUBLE('Infinity'), DOUBLE('-Infinity'), DOUBLE('NaN')), {message}, {cast(x, target)})"
    )


def _fit_text(text: str, source: DataType, target: DataType) -> str:
    length = getattr(target, "length", MAX_LENGTH)
    own = getattr(source, "length", MAX_LENGTH) if isinstance(source, _TEXT) else MAX_LENGTH
    if isinstance(target, CharType):
        return f"rpad({text}, {length}, ' ')"
    return text if own <= length or length == MAX_LENGTH else f"substring({text}, 1, {length})"


def _fit_bytes(sql: str, target: DataType) -> str:
    length = getattr(target, "length", MAX_LENGTH)
    if isinstance(target, BinaryType):
        return f"rpad({sql}, {length}, X'00')"
    return sql if length == MAX_LENGTH else f"substring({sql}, 1, {length})"


def _checked(sql: str, target: DataType, try_: bool) -> str:
    """Reads text; what cannot be read is NULL or, for CAST, fails."""
    if try_:
        return let(lambda x: read_text(x, target), sql)
    to = string("' to " + target.nullable().as_summary())
    message = f"concat('cannot cast \\'', {{0}}, {to})"
    return let(
        lambda x: f"coalesce({read_text(x, target)}, if({x} IS NULL, NULL, {fail(message.format(x))}))", sql
    )


def read_text(x: str, target: DataType) -> str:
    """The value of that type that a text shows, NULL if none; `x` is repeated, so it should be short."""
    if isinstance(target, IntegralType):
        return f"if({x} RLIKE '^ *[+-]?[0-9.]+ *$', {cast(x, target)}, NULL)"
    if isinstance(target, DecimalType):
        return _read_decimal(x, target)
    if isinstance(target, (FloatType, DoubleType)):
        plain = f"{x} NOT RLIKE '(?i)[in]' OR trim({x}) RLIKE '^[+-]?(Infinity|NaN)$'"
        return f"if({plain}, {cast(x, target)}, NULL)"
    if isinstance(target, BooleanType):
        return f"if({x} RLIKE '^[A-Za-z01]+$', CAST({x} AS BOOLEAN), NULL)"
    if isinstance(target, DateType):
        return read_date(x)
    if isinstance(target, TimeType):
        return _read_time(x, target.precision)
    local = read_timestamp(x, getattr(target, "precision", 3))
    return f"CAST({local} AS TIMESTAMP)" if isinstance(target, LocalZonedTimestampType) else local


def _read_decimal(x: str, target: DecimalType) -> str:
    """Short texts are read digit by digit: zeros in front count, and one sign too many behind the digits is ignored.

    So '1L' is 1, and '007' is no DECIMAL(2, 0). Long ones, and those for more than 18 digits, are what Java's
    BigDecimal takes.
    """
    trimmed = f"trim(BOTH ' \\n\\t' FROM {x})"
    digits = "\\\\p{Nd}"
    number = f"^[+-]?({digits}+[.]?{digits}*|[.]{digits}+)([eE][+-]?[0-9]+)?\\\\z"
    long = f"if({trimmed} RLIKE '{number}', {cast(trimmed, target)}, NULL)"
    if target.precision > _SHORT_DIGITS:
        return long
    whole = target.precision - target.scale
    plain = f"^[+-]?[0-9]{{1,{whole}}}([.][0-9]+)?\\\\z" if whole else "^[+-]?[.][0-9]+\\\\z"
    short = f"if({x} RLIKE '{plain}', {cast(x, target)}, {_odd_decimal(x, target)})"
    return f"if(octet_length({x}) <= {_SHORT_DIGITS}, {short}, {long})"


def _odd_decimal(x: str, target: DecimalType) -> str:
    shape = "^[ \\\\n\\\\t]*([+-]?)([0-9]*)(?:[.]([0-9]*))?(?:[eE]([+-]?[0-9]+)|[^0-9.])?[ \\\\n\\\\t]*\\\\z"
    sign, whole, fraction, exponent = (f"regexp_extract({x}, '{shape}', {i})" for i in range(1, 5))
    power = f"coalesce(try_cast({exponent} AS INT), 0)"
    fits = f"length({whole}) + {power} + {target.scale} <= {target.precision}"
    made = f"concat({sign}, '0', {whole}, '.', {fraction}, '0E', {power})"
    given = f"{x} RLIKE '{shape}' AND {x} NOT RLIKE '^[ \\\\n\\\\t]*[+-]?\\\\z'"
    return f"if({given} AND {fits}, {cast(made, target)}, NULL)"


_SHORT_DIGITS = 18


def read_date(x: str) -> str:
    """`2024`, `2024-2` or `2024-2-9`, and anything after a blank."""
    year = f"lpad(regexp_extract(trim({x}), '^[0-9]+', 0), 4, '0')"
    month_day = f"regexp_extract(trim({x}), '^[0-9]+((-[0-9]{{1,2}}){{0,2}})', 1)"
    shape = "^[0-9]{1,4}(-[0-9]{1,2}(-[0-9]{1,2})?)?( .*)?$"
    return f"if(trim({x}) RLIKE '{shape}', CAST(concat({year}, {month_day}) AS DATE), NULL)"


def _read_time(x: str, precision: int) -> str:
    """`9`, `9:05` or `9:05:30.5`; a fraction of a second is cut to the precision, at most to milliseconds."""
    shape = "^[0-9]{1,2}(:[0-9]{1,2}(:[0-9]{1,2}([.][0-9]*)?)?)?$"
    full = f"concat(substring_index(trim({x}), '.', 1), if(instr({x}, ':') = 0, ':00', ''))"
    if precision:
        digits = f"regexp_extract(trim({x}), '[.][0-9]{{1,{min(precision, 3)}}}', 0)"
        full = f"concat({full}, {digits})"
    return f"if(trim({x}) RLIKE '{shape}', try_cast({full} AS TIME), NULL)"


def read_timestamp(x: str, precision: int) -> str:
    """`2024-2-9` or `2024-2-9 1:02:03.456`; a day behind the end of its month is the last one."""
    shape = "^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}( [0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}([.][0-9]{0,9})?)?$"
    month = f"regexp_extract({x}, '^[0-9]{{4}}-[0-9]{{1,2}}', 0)"
    last = f"CAST(last_day(CAST(concat({month}, '-01') AS DATE)) AS STRING)"
    clipped = f"concat({last}, regexp_extract({x}, ' .*$', 0))"
    late = f"{x} RLIKE '^[0-9]{{4}}-[0-9]{{1,2}}-(29|30|31)( |$)'"
    fallback = f"if({late}, try_cast({clipped} AS TIMESTAMP_NTZ), NULL)"
    value = f"coalesce(try_cast({x} AS TIMESTAMP_NTZ), {fallback})"
    # Digits behind the precision are cut off in the text, which is cheaper than in the value.
    short = f"regexp_replace({x}, '([.][0-9]{{{min(precision, 6)}}})[0-9]*$', '$1')"
    midnight = "^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2} 24:00?:00?([.]0*)?$"
    following = f"CAST(date_add(try_cast(substring_index({x}, ' ', 1) AS DATE), 1) AS TIMESTAMP_NTZ)"
    value = f"coalesce({value}, if({x} RLIKE '{midnight}', {following}, NULL))"
    return f"if({x} RLIKE '{shape}', {value.replace(f'try_cast({x} ', f'try_cast({short} ')}, NULL)"


def _temporal(sql: str, source: DataType, target: DataType) -> str:
    precision = getattr(target, "precision", 6)
    if isinstance(target, TimeType):
        if isinstance(source, TimeType):
            return sql if precision >= source.precision else f"time_trunc('SECOND', {sql})"
        unit = "SECOND" if precision == 0 else "MILLISECOND" if precision <= 3 else "MICROSECOND"
        shown = f"CAST({sql} AS TIMESTAMP_NTZ)"
        if precision == 0 and isinstance(source, TimestampType):
            early = "INTERVAL '0.999' SECOND"  # before 1970 parts of a second are cut towards 1970
            shown = let(lambda x: f"if({x} < {EPOCH}, {x} + {early}, {x})", sql)
        return f"time_trunc('{unit}', CAST({shown} AS TIME))"
    if isinstance(source, TimeType):
        moved = f"make_timestamp_ntz(DATE'1970-01-01', {sql})"
    elif type(source) is type(target):
        moved = sql
    else:
        moved = f"CAST({sql} AS TIMESTAMP_NTZ)" if not isinstance(source, TimestampType) else sql
    own = getattr(source, "precision", 0) if isinstance(source, _MOMENT) else 0
    is_moment = isinstance(target, LocalZonedTimestampType)
    if is_moment and not isinstance(source, LocalZonedTimestampType):
        moved = f"CAST({moved} AS TIMESTAMP)"
    return cut_to_precision(moved, precision, EPOCH_UTC if is_moment else EPOCH) if own > precision else moved


def _array(sql: str, source: ArrayType, target: ArrayType, try_: bool) -> str:
    body = _convert("e", source.element_type, target.element_type, try_)
    if body == "e":
        return sql
    if not (try_ and isinstance(source.element_type, _TEXT)):
        return f"transform({sql}, e -> {body})"
    nulls = "size(filter({0}, e -> e IS NULL))"
    return let(
        lambda x, r: f"if({nulls.format(x)} = {nulls.format(r)}, {r}, NULL)",
        sql,
        f"transform({sql}, e -> {body})",
    )


def _map(sql: str, source: MapType, target: MapType, try_: bool) -> str:
    key = _convert("e.key", source.key_type, target.key_type, try_)
    value = _convert("e.value", source.value_type, target.value_type, try_)
    if (key, value) == ("e.key", "e.value"):
        return sql
    entries = f"transform(map_entries({sql}), e -> named_struct('key', {key}, 'value', {value}))"
    if not (try_ and isinstance(source.key_type, _TEXT) | isinstance(source.value_type, _TEXT)):
        return f"map_from_entries({entries})"
    lost = "size(filter({0}, e -> e.key IS NULL)) > 0"
    nulls = "size(filter({0}, e -> e.value IS NULL))"
    return let(
        lambda own, made: (
            f"if({lost.format(made)} OR {nulls.format(own)} <> {nulls.format(made)}, NULL, map_from_entries({made}))"
        ),
        f"map_entries({sql})",
        entries,
    )


def _row(sql: str, source: RowType, target: RowType, try_: bool) -> str:
    def build(x: str) -> str:
        parts = []
        for own, wanted in zip(source.fields, target.fields, strict=True):
            value = _convert(f"{x}.{quoted_name(own.name)}", own.data_type, wanted.data_type, try_)
            parts.append(f"{string(wanted.name)}, {value}")
        return f"if({x} IS NULL, NULL, named_struct({', '.join(parts)}))"

    return let(build, sql)


def _infer(name: str) -> FunctionDef:
    def infer(args: Sequence[ArgType]) -> DataType:
        if len(args) != 2:
            raise ValidationError(f"{name} takes a value and a type", do=f"write {name}(value AS type)")
        source, target = args[0].type, args[1].type
        if not can_cast(source, target):
            raise ValidationError(
                f"cannot cast {source.as_summary()} to {target.as_summary()}",
                do="convert by way of STRING, or use a function such as TO_TIMESTAMP",
            )
        if isinstance(
            target, _INTERVAL
        ):  # whatever unit was asked for: 14 months as INTERVAL YEAR are 14 months
            target = INTERVAL_SECOND if isinstance(target, DayTimeIntervalType) else INTERVAL_MONTH
        return target.with_nullability(name == "TRY_CAST" or source.is_nullable)

    def render(args: Sequence[Arg], result: DataType) -> str:
        target = result if isinstance(result, _INTERVAL) else args[1].type
        return cast_sql(args[0], target, try_=name == "TRY_CAST")

    return FunctionDef(name, "scalar", infer, render)


register(_infer("CAST"))
register(_infer("TRY_CAST"))

__all__ = ["can_cast", "cast_sql", "read_date", "read_text", "read_timestamp"]
