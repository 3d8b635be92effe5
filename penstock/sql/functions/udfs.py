"""Python UDFs for what no Spark expression does.

`required_udfs(text)` finds the ones a query text calls, `register_required(spark, text)` registers those on the
session before the query runs. A UDF never raises on bad data: it answers NULL or a tag, and the expression
around it decides. Spark evaluates UDFs for all rows, also for branches of CASE that are not taken.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.common import java_time, roaring
from penstock.common.errors import ValidationError
from penstock.common.json_keys import unique_keys
from penstock.sql.functions import json_documents
from penstock.sql.functions.formatter import FormatError, java_format
from penstock.sql.functions.java_random import JavaRandom
from penstock.sql.functions.java_regex import java_pattern
from penstock.sql.functions.java_url import query_value, url_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PREFIX = "penstock_"
_CALL = re.compile(rf"\b{_PREFIX}(\w+)\(")
_NO_SUCH_TIME = -(1 << 63)


@dataclass(frozen=True)
class Udf:
    """A Python function, the Spark type it returns, and whether equal arguments give equal answers."""

    function: Callable[..., Any]
    returns: str
    deterministic: bool = True


UDFS: dict[str, Udf] = {}


def _udf(returns: str, *, null_safe: bool = False, deterministic: bool = True) -> Callable[..., Any]:
    """Registers a function; unless `null_safe`, a NULL argument gives NULL without calling it."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*args: Any) -> Any:
            return None if any(a is None for a in args) else function(*args)

        name = function.__name__.strip("_")
        UDFS[name] = Udf(function if null_safe else guarded, returns, deterministic)
        return function

    return add


def required_udfs(text: str) -> list[str]:
    """The UDFs that a Spark SQL text calls, without their prefix."""
    return sorted(set(_CALL.findall(text)) & UDFS.keys())


def register_required(spark: SparkSession, text: str) -> None:
    """Makes the UDFs of a text known to the session; those it knows already are left alone."""
    from pyspark.sql.functions import udf

    for name in required_udfs(text):
        if spark.catalog.functionExists(_PREFIX + name):
            continue
        made = udf(UDFS[name].function, UDFS[name].returns, useArrow=False)  # type: ignore[call-overload]
        spark.udf.register(_PREFIX + name, made if UDFS[name].deterministic else made.asNondeterministic())


# --- numbers --------------------------------------------------------------------------------------------


def _at_digits(text: str, digits: int, rounding: str) -> str | None:
    try:
        number = decimal.Decimal(text)
    except decimal.InvalidOperation:
        return text
    if not number.is_finite():
        return text
    step = decimal.Decimal(1).scaleb(-digits)
    context = decimal.Context(prec=400)
    units = context.divide(number, step).quantize(decimal.Decimal(1), rounding, context)
    return format(context.multiply(units, step) + 0, "f") if units else "0"


@_udf("string")
def _round(text: str, digits: int) -> str | None:
    return _at_digits(text, digits, decimal.ROUND_HALF_UP)


@_udf("string")
def _truncate(text: str, digits: int) -> str | None:
    return _at_digits(text, digits, decimal.ROUND_DOWN)


_GENERATORS: dict[tuple[Any, ...], JavaRandom] = {}


def _generator(seed: int, site: str) -> JavaRandom:
    """One sequence per call site and task, as a Flink operator has."""
    from pyspark import TaskContext

    context = TaskContext.get()
    key = (site, seed, context.taskAttemptId() if context else None)
    if key not in _GENERATORS:
        _GENERATORS.clear() if len(_GENERATORS) > 1000 else None
        _GENERATORS[key] = JavaRandom(seed)
    return _GENERATORS[key]


@_udf("double", deterministic=False)
def _java_rand(seed: int, site: str) -> float:
    return _generator(seed, site).next_double()


@_udf("int", deterministic=False)
def _java_rand_integer(seed: int, bound: int, site: str) -> int:
    return _generator(seed, site).next_int(bound) if bound > 0 else random.randrange(1)


# --- text -----------------------------------------------------------------------------------------------


@_udf("string")
def _initcap(text: str) -> str:
    out, in_word = [], False
    for c in text:
        ascii_word = c.isascii() and c.isalnum()
        out.append((c.lower() if in_word else c.upper()) if ascii_word else c)
        in_word = ascii_word
    return "".join(out)


@_udf("string", null_safe=True)
def _printf(pattern: str | None, *args: Any) -> str | None:
    if pattern is None:
        return None
    try:
        return java_format(pattern, *args)
    except (FormatError, ValueError, OverflowError):
        return None


@_udf("int")
def _instr(text: str, part: str, start: int, occurrence: int = 1) -> int:
    """The place of the n-th occurrence, looking on from `start`, or back from the end if that is negative."""
    if start == 0 or occurrence < 1:
        return 0
    if start < 0:
        found = _instr(text[::-1], part[::-1], -start, occurrence)
        return len(text) - (found - 1) - len(part) + 1 if found else 0
    at = start - 2
    for _ in range(occurrence):
        at = text.find(part, at + 1)
        if at < 0:
            return 0
    return at + 1


@_udf("bigint")
def _inet_aton(text: str) -> int | None:
    parts = text.split(".")
    if not 1 <= len(parts) <= 4 or not all(re.fullmatch(r"\d{1,10}", p) for p in parts):
        return None
    *heads, last = map(int, parts)
    if any(h > 255 for h in heads) or last >= 256 ** (4 - len(heads)):
        return None
    number = last
    for place, head in enumerate(heads):
        number += head << (8 * (3 - place))
    return number


@_udf("string")
def _parse_url(text: str, part: str, key: str | None = None) -> str | None:
    url = url_of(text)
    if url is None:
        return None
    if key is not None:
        return query_value(url.query, key) if part == "QUERY" else None
    return url.part(part)


@_udf("string")
def _json_quote(text: str) -> str:
    """As Flink does it, which writes a sign beyond the BMP as its number and then the second half of its pair."""
    quoted = "".join(json.dumps(c)[1:-1] if ord(c) < 0x10000 else _beyond(c) for c in text)
    return '"' + quoted.replace("/", "\\/") + '"'


def _beyond(sign: str) -> str:
    low = 0xDC00 + (ord(sign) - 0x10000) % 0x400
    return f"\\u{ord(sign):04x}\\u{low:04x}"


@_udf("string")
def _json_unquote(text: str) -> str:
    """What stands between the quotes, if the text begins with a JSON text; it need not end there."""
    if len(text) < 2 or not (text.startswith('"') and text.endswith('"')):
        return text
    try:
        json_documents.read(text)
    except ValueError:
        return text
    return _ESCAPED.sub(_unescaped, text[1:-1])


_ESCAPED = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        return chr(int(found[1], 16))
    return {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}.get(found[2], found[2])


@_udf("string")
def _like_regex(pattern: str, escape: str) -> str | None:
    from penstock.sql.functions.regex import like_regex

    try:
        return like_regex(pattern, escape)
    except ValidationError:
        return None


@_udf("string")
def _similar_regex(pattern: str, escape: str) -> str | None:
    from penstock.sql.functions.regex import similar_regex

    try:
        return similar_regex(pattern, escape or None)
    except ValidationError:
        return None


@_udf("string")
def _regexp_extract(text: str, pattern: str, group: int) -> str | None:
    compiled = java_pattern(pattern)
    found = compiled.search(text) if compiled else None
    return found[group] if found and compiled and 0 <= group <= compiled.groups else None


@_udf("array<string>")
def _regexp_extract_all(text: str, pattern: str, group: int) -> list[str | None] | None:
    compiled = java_pattern(pattern)
    if compiled is None or not 0 <= group <= compiled.groups:
        return None
    return [found[group] for found in compiled.finditer(text)]


# --- time -----------------------------------------------------------------------------------------------


@_udf("string")
def _simple_format(moment: dt.datetime, pattern: str, zone_name: str) -> str | None:
    """NULL for a pattern that is none."""
    try:
        return java_time.format_simple(moment, pattern, java_time.zone_of(zone_name))
    except java_time.PatternError:
        return None


@_udf("string")
def _date_format(moment: dt.datetime, pattern: str) -> str | None:
    try:
        return java_time.format_time(moment, pattern)
    except java_time.PatternError:
        return None


_PLAIN_TIME = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?: (\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?)?")


@_udf("timestamp_ntz")
def _to_timestamp(text: str, pattern: str, precision: int) -> dt.datetime | None:
    try:
        found = java_time.parse(text, pattern)
    except java_time.PatternError:
        return None
    if found is None:
        plain = _PLAIN_TIME.fullmatch(text.strip())
        if plain is None:
            return None
        try:
            year, month, day, hour, minute, second = (int(g or 0) for g in plain.groups()[:6])
            micros = int((plain[7] or "0").ljust(6, "0")[:6])
            found = dt.datetime(year, month, day, hour, minute, second, micros)
        except ValueError:
            return None
    unit = 10 ** max(6 - precision, 0)
    return found.replace(microsecond=found.microsecond // unit * unit)


@_udf("date")
def _to_date(text: str, pattern: str) -> dt.date | None:
    try:
        found = java_time.parse_lenient(text, pattern)
        return None if found is None else found.date(lenient=True)
    except (java_time.PatternError, ValueError, OverflowError):
        return None


@_udf("bigint")
def _unix_timestamp(text: str, pattern: str, zone_name: str) -> int | None:
    """NULL for a pattern that is none."""
    try:
        found = java_time.parse_lenient(text, pattern)
        moment = None if found is None else found.moment(lenient=True)
    except java_time.PatternError:
        return None
    except (ValueError, OverflowError):
        return _NO_SUCH_TIME
    if found is None or moment is None:
        return _NO_SUCH_TIME
    zone: dt.tzinfo = java_time.zone_of(found.zone or zone_name) or dt.timezone.utc
    if found.offset_minutes is not None:
        zone = dt.timezone(dt.timedelta(minutes=found.offset_minutes))
    return int(java_time.to_epoch(moment, zone) // 1)


@_udf("string")
def _convert_tz(text: str, source: str, target: str) -> str | None:
    pattern = "yyyy-MM-dd HH:mm:ss"
    found = java_time.parse_lenient(text, pattern)
    moment = None if found is None else found.moment(lenient=True)
    if moment is None:
        return None
    # A plain offset is no name of a zone, and what is none is UTC.
    zones = [
        (java_time.zone_of(z) if z[:1] not in "+-" else None) or dt.timezone.utc for z in (source, target)
    ]
    utc = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
    shown = utc + dt.timedelta(seconds=java_time.to_epoch(moment, zones[0]))
    return java_time.format_time(shown.astimezone(zones[1]).replace(tzinfo=None), pattern)


# --- JSON -----------------------------------------------------------------------------------------------


@_udf("boolean")
def _is_json(text: str, kind: str) -> bool:
    try:
        value = json_documents.read(text)
    except (ValueError, RecursionError):
        return False
    if kind == "OBJECT":
        return isinstance(value, dict)
    if kind == "ARRAY":
        return isinstance(value, list)
    return kind != "SCALAR" or not isinstance(value, (dict, list))


_JSON_ERRORS = (ValueError, RecursionError)


@_udf("string")
def _json_exists(text: str, path: str) -> str:
    try:
        return "E" if json_documents.query(text, path)[1] is None else "V"
    except _JSON_ERRORS:
        return "X"


@_udf("string")
def _json_value(text: str, path: str, kind: str) -> str:
    """`kind` is "TEXT", or the only kind of JSON value that will do: "BOOLEAN", "INTEGER" or "DOUBLE"."""
    try:
        lax, value = json_documents.query(text, path)
    except _JSON_ERRORS:
        return "X"
    if value is None or isinstance(value, (dict, list)):
        return "E" if lax else "X"
    shown = json_documents.scalar_text(value)
    return ("V" if _JSON_KINDS[kind](value) else "T") + shown


_JSON_KINDS: dict[str, Callable[[Any], bool]] = {
    "TEXT": lambda v: True,
    "BOOLEAN": lambda v: isinstance(v, bool),
    "INTEGER": lambda v: isinstance(v, int) and not isinstance(v, bool) and -(1 << 31) <= v < 1 << 31,
    "DOUBLE": lambda v: isinstance(v, (decimal.Decimal, float)),
}


def _wrapped(text: str, path: str, wrapper: str) -> tuple[str, Any]:
    try:
        lax, value = json_documents.query(text, path)
    except _JSON_ERRORS:
        return "X", None
    if value is not None and (
        wrapper == "UNCONDITIONAL" or (wrapper == "CONDITIONAL" and not isinstance(value, list))
    ):
        value = [value]
    if not isinstance(value, (dict, list)):
        return ("E" if lax else "X"), None
    return "V", value


@_udf("struct<tag: string, value: string>")
def _json_query(text: str, path: str, wrapper: str) -> tuple[str, str | None]:
    tag, value = _wrapped(text, path, wrapper)
    return tag, json_documents.write(value) if tag == "V" else None


@_udf("struct<tag: string, value: array<string>>")
def _json_query_texts(text: str, path: str, wrapper: str) -> tuple[str, list[str | None] | None]:
    tag, value = _wrapped(text, path, wrapper)
    if tag == "V" and not isinstance(value, list):
        return "X", None
    if tag != "V":
        return tag, None
    return tag, [None if v is None else json_documents.scalar_text(v) for v in value]


@_udf("string")
def _json_string(value: Any) -> str:
    return json_documents.write(value)


@_udf("string")
def _json_raw(text: str) -> str:
    return text


@_udf("string", null_safe=True)
def _json_object(on_null: str, *parts: Any) -> str:
    pairs = [(parts[i], parts[i + 1], parts[i + 2]) for i in range(0, len(parts), 3)]
    return json_documents.write_object(pairs, on_null == "NULL")


@_udf("string", null_safe=True)
def _json_array(on_null: str, *parts: Any) -> str:
    return json_documents.write_array(
        [(parts[i], parts[i + 1]) for i in range(0, len(parts), 2)], on_null == "NULL"
    )


@_udf("string")
def _json_array_of(rows: Sequence[Any], on_null: str, raw: bool) -> str:
    return json_documents.write_array([(row[0], raw) for row in rows], on_null == "NULL")


@_udf("string")
def _json_object_of(rows: Sequence[Any], on_null: str, raw: bool) -> str:
    pairs = unique_keys([(row[0], row[1]) for row in rows])
    return json_documents.write_object([(key, value, raw) for key, value in pairs.items()], on_null == "NULL")


@_udf("string")
def _json_last_key_wins(text: str, allowed: bool) -> str:
    if not allowed:
        return text
    try:
        return json_documents.compact(text)
    except (ValueError, RecursionError):
        return text


# --- bitmaps --------------------------------------------------------------------------------------------


@_udf("binary")
def _bitmap_build(values: Sequence[int | None]) -> bytes:
    return roaring.dump(v for v in values if v is not None)


@_udf("binary")
def _bitmap_check(data: bytes) -> bytes:
    return roaring.dump(roaring.load(bytes(data)))


_SETS: dict[str, Callable[[set[int], set[int]], set[int]]] = {
    "AND": set.__and__,
    "OR": set.__or__,
    "XOR": set.__xor__,
    "ANDNOT": set.__sub__,
}


@_udf("binary")
def _bitmap_combine(left: bytes, right: bytes, operator: str) -> bytes:
    return roaring.dump(_SETS[operator](roaring.load(bytes(left)), roaring.load(bytes(right))))


@_udf("bigint")
def _bitmap_cardinality(data: bytes) -> int:
    return len(roaring.load(bytes(data)))


@_udf("array<int>")
def _bitmap_to_array(data: bytes) -> list[int]:
    return [roaring.signed(v) for v in sorted(roaring.load(bytes(data)))]


@_udf("string")
def _bitmap_to_string(data: bytes) -> str:
    return "{" + ",".join(map(str, sorted(roaring.load(bytes(data))))) + "}"


@_udf("binary")
def _bitmap_of_numbers(values: Sequence[int]) -> bytes | None:
    return roaring.dump(values) if values else None


@_udf("binary")
def _bitmap_of_all(bitmaps: Sequence[bytes], operator: str) -> bytes | None:
    if not bitmaps:
        return None
    result = roaring.load(bytes(bitmaps[0]))
    for data in bitmaps[1:]:
        result = _SETS[operator](result, roaring.load(bytes(data)))
    return roaring.dump(result)
