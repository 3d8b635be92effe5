"""Text as values: what CAST('…' AS type) and TRY_CAST read.

Each reader takes a text and gives a value, or None where Spark's expression (`functions/casts.py`) finds
none. It has the same two halves: a regular expression that says which texts Flink takes at all, and then
Spark's CAST. Java's `$` also matches before a line break at the end, so each pattern may end with one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa

from penstock.common.datatypes import (
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntegralType,
    LocalZonedTimestampType,
    TimestampType,
)
from penstock.formats.arrow_rows import arrow_type
from penstock.sql.arrow.compiler import Compiler, NoArrowForm
from penstock.sql.arrow.days import DAY, civil, days_of
from penstock.sql.arrow.decimals import long_column, rescaled
from penstock.sql.arrow.failures import failure
from penstock.sql.arrow.nodes import Node, apply
from penstock.sql.arrow.reading_columns import read_dates, read_doubles, read_integers, read_timestamps
from penstock.sql.arrow.values import per_value, python_values

_BREAK = "\n\r\u0085\u2028\u2029"
"""What Java takes for the end of a line."""

_END = f"(\r\n|[{_BREAK}])?\\Z"
_TRIMMED_END = "(?:\r\n|\n|\r)?\\Z"
"""Line breaks that Spark's CAST drops; with another one behind it a text is nothing."""

_INTEGER = re.compile(rf" *([+-]?)([0-9]*)(?:\.[0-9]*)? *{_TRIMMED_END}", re.ASCII)
_BOOLEAN = re.compile(rf"([A-Za-z01]+){_TRIMMED_END}", re.ASCII)
_DATE = re.compile(
    rf"([0-9]{{1,4}})(?:-([0-9]{{1,2}})(?:-([0-9]{{1,2}}))?)?(?: [^{_BREAK}]*)?{_END}", re.ASCII
)
_TIMESTAMP = re.compile(
    rf"([0-9]{{4}})-([0-9]{{1,2}})-([0-9]{{1,2}})"
    rf"( ([0-9]{{1,2}}):([0-9]{{1,2}}):([0-9]{{1,2}})(?:[.]([0-9]{{0,9}}))?)?{_END}",
    re.ASCII,
)
_DECIMAL = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?[0-9]+))?")
_SHORT_DECIMAL = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+)|[^0-9.])?", re.ASCII)
_DOUBLE = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?", re.ASCII)
_HEX = re.compile(r"[+-]?0[xX]([0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[dDfF]?", re.ASCII)
_SPECIAL = re.compile(r"([+-]?)(Infinity|NaN)")
_CONTROL = "".join(map(chr, range(33)))
"""What Java's String.trim takes away."""

Reader = Callable[[str], Any]


def read_node(node: Node, target: DataType, compiler: Compiler, try_: bool) -> Node:
    """The value that a text shows; CAST fails where there is none, TRY_CAST gives NULL."""
    kind = arrow_type(target)
    reader = reader_of(target, compiler)
    if try_:
        return apply(partial(_read, reader, kind), kind, node)
    kernel = partial(_read_or_fail, reader, kind, target.nullable().as_summary())
    return apply(kernel, kind, node, fails=True)


def reader_of(target: DataType, compiler: Compiler) -> Reader:
    """The reader for a type: numbers as they are, dates as days, timestamps as microseconds."""
    if isinstance(target, IntegralType):
        return partial(read_integer, target.bits)
    if isinstance(target, BooleanType):
        return read_boolean
    if isinstance(target, DateType):
        return read_date
    if isinstance(target, (TimestampType, LocalZonedTimestampType)):
        offset = compiler.offset_micros if isinstance(target, LocalZonedTimestampType) else 0
        return partial(read_timestamp, target.precision, offset)
    if isinstance(target, DecimalType):
        return partial(read_decimal, target.precision, target.scale)
    if isinstance(target, DoubleType):
        return read_double
    raise NoArrowForm(f"CAST from text to {target.as_summary()}")


def _read(reader: Reader, kind: pa.DataType, texts: pa.Array) -> pa.Array:
    if pa.types.is_decimal(kind):
        encoded = texts.dictionary_encode()
        found = [reader(text) for text in python_values(encoded.dictionary)]
        return long_column(found, kind).take(encoded.indices)
    if pa.types.is_date32(kind):
        return read_dates(reader, texts).cast(kind)
    if isinstance(reader, partial) and reader.func is read_timestamp:
        precision, offset = reader.args
        return read_timestamps(precision, offset, reader, texts).cast(kind)
    if pa.types.is_integer(kind):
        return read_integers(kind, reader, texts)
    return read_doubles(reader, texts) if pa.types.is_float64(kind) else per_value(reader, kind, texts)


def _read_or_fail(reader: Reader, kind: pa.DataType, name: str, texts: pa.Array) -> pa.Array:
    found = _read(reader, kind, texts)
    if found.null_count > texts.null_count:
        for text, value in zip(texts, found, strict=True):
            if text.is_valid and not value.is_valid:
                raise failure(f"cannot cast '{text.as_py()}' to {name}")
    return found


def read_integer(bits: int, text: str) -> int | None:
    """A whole number; digits behind a point are allowed and dropped.

    >>> read_integer(32, "-42.99"), read_integer(8, "128"), read_integer(32, "1e3")
    (-42, None, None)
    """
    found = _INTEGER.match(text)
    if not found or not text.strip(" \r\n").lstrip("+-"):
        return None
    number = int(found[2] or "0") * (-1 if found[1] == "-" else 1)
    return number if -(1 << (bits - 1)) <= number < 1 << (bits - 1) else None


def read_boolean(text: str) -> bool | None:
    found = _BOOLEAN.match(text)
    word = found[1].lower() if found else ""
    if word in ("t", "true", "y", "yes", "1"):
        return True
    return False if word in ("f", "false", "n", "no", "0") else None


def read_date(text: str) -> int | None:
    """`2024`, `2024-2` or `2024-2-9` and anything after a blank, as days since 1970."""
    found = _DATE.match(text.strip(" "))
    return _day(int(found[1]), int(found[2] or 1), int(found[3] or 1)) if found else None


def _day(year: int, month: int, day: int) -> int | None:
    if not 1 <= month <= 12 or not 1 <= day <= 31:
        return None
    days = int(days_of(year, month, day))
    return days if int(civil(days)[1]) == month else None


def read_timestamp(precision: int, offset: int, text: str) -> int | None:
    """`2024-2-9` or `2024-2-9 1:02:03.456` as microseconds; a day behind the end of its month is the last one.

    >>> read_timestamp(3, 0, "1970-01-01 00:00:00.1239"), read_timestamp(3, 0, "1970-01-01T00:00:00")
    (123000, None)
    """
    found = _TIMESTAMP.match(text)
    if not found:
        return None
    year, month, day = int(found[1]), int(found[2]), int(found[3])
    hour, minute, second = (int(found[i] or 0) for i in (5, 6, 7))
    if hour == 24 and not (minute or second or (found[8] or "").strip("0")):
        days = _day(year, month, day)
        return None if days is None else (days + 1) * DAY - offset
    if not (1 <= month <= 12 and hour < 24 and minute < 60 and second < 60):
        return None
    digits, days = found[8] or "", _day(year, month, day)
    if days is not None and (found[9] or "\n") in ("\n", "\r", "\r\n"):
        digits = digits[: min(precision, 6)]
    elif found[3] in ("29", "30", "31"):
        days = int(days_of(year + month // 12, month % 12 + 1, 1)) - 1
    else:
        return None
    seconds = hour * 3600 + minute * 60 + second
    return days * DAY + seconds * 1_000_000 + int(digits[:6].ljust(6, "0")) - offset


def read_decimal(precision: int, scale: int, text: str) -> int | None:
    """A number without its point, of any length. Of a short text each digit counts, and a sign behind is ignored.

    >>> read_decimal(5, 2, "1.005"), read_decimal(5, 2, "1e1"), read_decimal(5, 2, "1L"), read_decimal(5, 2, "00012")
    (101, 1000, 100, None)
    """
    short = precision <= 18 and len(text.encode("utf-8", "surrogatepass")) <= 18
    found = (_SHORT_DECIMAL if short else _DECIMAL).fullmatch(text.strip(" \n\t"))
    if not found:
        return None
    whole, fraction, exponent = found[2], found[3] or "", int(found[4] or 0)
    if short:
        if not text.strip(" \n\t").lstrip("+-") or len(whole) + exponent + scale > precision:
            return None
    elif not (whole or fraction):
        return None
    digits, own_scale = int(whole + fraction or "0"), len(fraction) - exponent
    if not digits:
        return 0
    length = len(str(digits))
    if abs(own_scale) >= 2**31 or length - own_scale > 38:
        return None
    if own_scale - scale > length + 1:
        return 0
    return rescaled(digits, scale - own_scale) * (-1 if found[1] == "-" else 1)


def read_double(text: str) -> float | None:
    """What Java's Double.parseDouble reads."""
    plain = text.strip(_CONTROL)
    special = _SPECIAL.fullmatch(plain)
    if special:
        taken = text.strip(" ") in [plain + end for end in ("", "\n", "\r", "\r\n")]
        return float(plain) if taken else None
    if _DOUBLE.fullmatch(plain):
        return float(plain.rstrip("dDfF"))
    if _HEX.fullmatch(plain):
        try:
            return float.fromhex(re.sub("[dDfF]$", "", plain))
        except OverflowError:
            return float("-inf" if plain.startswith("-") else "inf")
    return None
