"""Between time and text or numbers: DATE_FORMAT, TO_TIMESTAMP, TO_DATE, TO_TIMESTAMP_LTZ, FROM_UNIXTIME,
UNIX_TIMESTAMP.
"""

from __future__ import annotations

import datetime as dt
import re
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from penstock.common import java_time
from penstock.common.datatypes import CharType, DataTypes, IntegralType, VarCharType
from penstock.common.iso_forms import IsoForm, iso_form
from penstock.sql.arrow.casts import cast_node
from penstock.sql.arrow.clock_text import Piece, clock_column, plain_pieces
from penstock.sql.arrow.compiler import Compiler, NoArrowForm, register, type_of
from penstock.sql.arrow.days import DAY, by_numbers
from penstock.sql.arrow.failures import checked
from penstock.sql.arrow.nodes import Node, apply, constant
from penstock.sql.arrow.patterns import literal
from penstock.sql.arrow.reading import read_date, read_timestamp
from penstock.sql.arrow.reading_columns import floored, read_dates, read_form, read_timestamps
from penstock.sql.arrow.temporal import local_clock
from penstock.sql.arrow.text import text_node
from penstock.sql.arrow.udf_calls import udf_node
from penstock.sql.arrow.values import column, is_scalar, nulls, numbers, per_value
from penstock.sql.arrow.zones import fixed_offset
from penstock.sql.functions.temporal import is_plain_pattern, wrong_pattern
from penstock.sql.functions.udfs import UDFS
from penstock.sql.plan.rex import Call

_TEXT = (CharType, VarCharType)
_ISO = ("yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd", "yyyy-MM-dd HH:mm:ss.SSS")
_CLOCK = pa.timestamp("us")


# --- to text --------------------------------------------------------------------------------------------


def formatted(moment: Node, pattern: str) -> Node:
    """A clock as text: plain digits are written by numpy, other patterns by the UDF's Python."""
    wrong = wrong_pattern(pattern)
    if wrong is not None:
        raise NoArrowForm(wrong)
    pieces = plain_pieces(pattern)
    if pieces is not None:
        return apply(partial(_format_plain, pieces), pa.string(), moment)
    return apply(partial(_format_any, pattern), pa.string(), moment, fails=True)


def _format_plain(pieces: list[Piece], moments: pa.Array) -> pa.Array:
    """
    >>> _format_plain(plain_pieces("HH:mm"), pa.array([90_000_000], _CLOCK)).to_pylist()
    ['00:01']
    """
    return clock_column(numbers(moments), nulls(moments), pieces)


_UNITS = ((1_000_000, "s"), (60_000_000, "m"), (3_600_000_000, "HhKka"))
"""Microseconds, and the letters that tell moments apart which are so close."""


def _format_any(pattern: str, moments: pa.Array) -> pa.Array:
    """Moments that look the same are written once: a day or a minute has one text, however many rows it has.

    >>> _format_any("EEE d", pa.array([0, 5, None, 86_400_000_000], _CLOCK)).to_pylist()
    ['Thu 1', 'Thu 1', None, 'Fri 2']
    """
    write = partial(per_value, partial(_format_one, pattern), pa.string())
    letters = {token.letter for token in java_time.tokens(pattern)}
    if letters & set("SnNA") or is_scalar(moments):
        return write(moments)
    unit = next((size for size, of in _UNITS if letters & set(of)), DAY)
    counts = numbers(moments)
    coarse = pa.array(counts - counts % unit, mask=nulls(moments)).dictionary_encode()
    return write(coarse.dictionary.cast(_CLOCK)).take(coarse.indices)


def _format_one(pattern: str, moment: dt.datetime) -> str:
    return java_time.format_time(moment, pattern)


def build_date_format(call: Call, compiler: Compiler) -> Node:
    source, pattern = call.args[0], literal(call.args[1], "a date pattern")
    if isinstance(source.type, _TEXT):
        _refuse_simple(pattern)
        return formatted(apply(_read_with_time, _CLOCK, text_node(source, compiler)), pattern)
    return formatted(local_clock(source, compiler), pattern)


def _read_with_time(texts: pa.Array) -> pa.Array:
    return read_timestamps(0, 0, _time_in, texts).cast(_CLOCK)


def _time_in(text: str) -> int | None:
    return read_timestamp(0, 0, text) if " " in text else None


def _refuse_simple(pattern: str) -> None:
    """Only the letters that both of Java's formatters write alike."""
    if not is_plain_pattern(pattern):
        raise NoArrowForm(f"SimpleDateFormat with {pattern!r}")


def build_from_unixtime(call: Call, compiler: Compiler) -> Node:
    """FROM_UNIXTIME (seconds[, pattern]), as the session's clock shows it."""
    pattern = literal(call.args[1], "a date pattern") if len(call.args) > 1 else _ISO[0]
    _refuse_simple(pattern)
    node = _moment_of(call, 1_000_000, compiler.offset_micros, _CLOCK, compiler)
    return formatted(apply(_of_its_time, _CLOCK, node), pattern)


def _of_its_time(moments: pa.Array) -> pa.Array:
    """With the numbers that the day has in the calendar of its time, which SimpleDateFormat shows."""
    micros = numbers(moments)
    days = micros // DAY
    return column(micros + (by_numbers(days) - days) * DAY, _CLOCK, nulls(moments))


register("DATE_FORMAT", build_date_format)
register("FROM_UNIXTIME", build_from_unixtime)

# --- from numbers ---------------------------------------------------------------------------------------


def _moment_of(call: Call, micros: int, offset: int, kind: pa.DataType, compiler: Compiler) -> Node:
    """A whole number of units since 1970."""
    number = call.args[0]
    if not isinstance(number.type, IntegralType):
        raise NoArrowForm(f"{call.name} of {number.type}")
    node = cast_node(compiler.node(number), number.type, DataTypes.BIGINT(), compiler)
    return apply(partial(_moments, micros, offset, kind), kind, node, fails=micros > 1)


def _moments(micros: int, offset: int, kind: pa.DataType, counts: pa.Array) -> pa.Array:
    total = checked(pc.multiply_checked, counts, pa.scalar(micros, pa.int64()))
    return pc.add(total, pa.scalar(offset, pa.int64())).cast(kind)


def build_to_ltz(call: Call, compiler: Compiler) -> Node:
    """TO_TIMESTAMP_LTZ (number, precision) or (text[, pattern[, zone]])."""
    kind = type_of(call)
    if isinstance(call.args[0].type, _TEXT):
        return _ltz_of_text(call, compiler)
    digits = call.args[1] if len(call.args) > 1 else None
    precision = 3 if digits is None else getattr(digits, "value", None)
    if precision not in (0, 3, 6):
        raise NoArrowForm(f"TO_TIMESTAMP_LTZ with precision {precision}")
    return _moment_of(call, 10 ** (6 - precision), 0, kind, compiler)


def _ltz_of_text(call: Call, compiler: Compiler) -> Node:
    """Text is shown by a clock of its own; in the session's zone no hour may be missing or there twice."""
    compiler.offset_micros  # noqa: B018  refuses other zones
    kind, precision = type_of(call), call.type.precision  # type: ignore[attr-defined]
    if len(call.args) == 1:
        source = call.args[0]
        clock = cast_node(text_node(source, compiler), source.type, DataTypes.TIMESTAMP(precision), compiler)
    else:
        clock = _parsed(call, precision, compiler)
    zone = literal(call.args[2], "a time zone") if len(call.args) > 2 else "UTC"
    offset = fixed_offset(zone)
    if offset is None:
        raise NoArrowForm(f"time zone {zone}")
    return apply(partial(_as_moment, offset * 1_000_000, kind), kind, clock)


def _as_moment(offset: int, kind: pa.DataType, clock: pa.Array) -> pa.Array:
    return pc.subtract(clock.cast(pa.int64()), pa.scalar(offset, pa.int64())).cast(kind)


register("TO_TIMESTAMP_LTZ", build_to_ltz)

# --- from text ------------------------------------------------------------------------------------------


def _parsed(call: Call, precision: int, compiler: Compiler) -> Node:
    """A clock from text with an optional pattern; NULL where it does not fit."""
    text = text_node(call.args[0], compiler)
    pattern = literal(call.args[1], "a date pattern") if len(call.args) > 1 else None
    if pattern is None or pattern in _ISO:
        return apply(partial(_read, precision, pattern is not None), _CLOCK, text)
    return apply(partial(_read_pattern, precision, pattern), _CLOCK, text)


def _read_pattern(precision: int, pattern: str, texts: pa.Array) -> pa.Array:
    """Texts of a fixed width are put into the usual order first.

    >>> _read_pattern(3, "dd.MM.yyyy", pa.array(["09.02.2024", "30.02.2024", "x"])).cast(pa.string()).to_pylist()
    ['2024-02-09 00:00:00.000000', '2024-02-29 00:00:00.000000', None]
    """
    each = partial(_read_udf, precision, pattern)
    try:
        form = iso_form(pattern, "[1-9][0-9]{3}")
    except java_time.PatternError:
        form = None
    if form is None or is_scalar(texts):
        return per_value(each, _CLOCK, texts)
    moments = partial(_rewritten, form, precision)
    return read_form(form.regex, moments, each, _CLOCK, texts)


def _rewritten(form: IsoForm, precision: int, texts: pa.Array) -> pa.Array:
    plain = pc.replace_substring_regex(texts, form.regex, form.written("\\"))
    return floored(plain.cast(_CLOCK), precision)


def _read_udf(precision: int, pattern: str, text: str) -> dt.datetime | None:
    return UDFS["to_timestamp"].function(text, pattern, precision)  # type: ignore[no-any-return]


def _read(precision: int, trim: bool, texts: pa.Array) -> pa.Array:
    return read_timestamps(precision, 0, partial(_read_one, precision, trim), texts).cast(_CLOCK)


def _read_one(precision: int, trim: bool, text: str) -> int | None:
    if not trim:
        return read_timestamp(precision, 0, text)
    found = read_timestamp(precision, 0, text.strip(" "))
    late = _LATE.fullmatch(text.strip(" ")) if found is None else None
    day = None if late is None else read_timestamp(0, 0, late[1])
    if late is None or day is None:
        return found
    micros = int((late[5] or "")[: min(precision, 6)].ljust(6, "0"))
    return day + (int(late[2]) * 3600 + int(late[3]) * 60 + int(late[4])) * 1_000_000 + micros


_LATE = re.compile(
    r"([0-9]{4}-[0-9]{1,2}-[0-9]{1,2}) ([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.]([0-9]*))?", re.ASCII
)
"""With minutes or seconds that there are not, which a pattern lets pass."""


def build_to_timestamp(call: Call, compiler: Compiler) -> Node:
    return _parsed(call, 3, compiler)


def build_to_date(call: Call, compiler: Compiler) -> Node:
    text = text_node(call.args[0], compiler)
    if len(call.args) == 1:
        return apply(_read_dates, pa.date32(), text)
    pattern = constant(literal(call.args[1], "a date pattern"), pa.string())
    return udf_node("to_date", pa.date32(), text, pattern)


def _read_dates(texts: pa.Array) -> pa.Array:
    return read_dates(read_date, texts).cast(pa.date32())


def build_unix_timestamp(call: Call, compiler: Compiler) -> Node:
    """UNIX_TIMESTAMP (text[, pattern]); without arguments it is the present, which no batch knows."""
    if not call.args:
        raise NoArrowForm("UNIX_TIMESTAMP()")
    pattern = literal(call.args[1], "a date pattern") if len(call.args) > 1 else _ISO[0]
    try:
        java_time.tokens(pattern)
    except java_time.PatternError as error:
        raise NoArrowForm(str(error)) from None
    fixed = [constant(text, pa.string()) for text in (pattern, compiler.zone)]
    return udf_node("unix_timestamp", pa.int64(), text_node(call.args[0], compiler), *fixed)


register("TO_TIMESTAMP", build_to_timestamp)
register("TO_DATE", build_to_date)
register("UNIX_TIMESTAMP", build_unix_timestamp)
