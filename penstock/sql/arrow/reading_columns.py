"""Columns of text as numbers and times: by a kernel where the texts have their usual form, else one by one.

`reading.py` says for each text what it is. For texts of one plain form (`2024-02-09 01:02:03`, `-42`) Arrow's cast
gives the same, for the whole column: a regular expression picks these texts, and if the cast refuses one of them
(there is no thirtieth of February, 300 is no TINYINT) all texts of the batch are read one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.sql.arrow.values import Datum, is_scalar, nulls, numbers, per_value

__all__ = ["floored", "read_dates", "read_doubles", "read_form", "read_integers", "read_timestamps"]

_DAY = "[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}"
_TIMESTAMP = rf"\A{_DAY} [0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(?:[.][0-9]{{1,6}})?\z"
_DATE = rf"\A{_DAY}\z"
_INTEGER = r"\A-?[0-9]{1,18}\z"
_DOUBLE = r"\A-?[0-9]{1,15}(?:[.][0-9]{1,15})?\z"

Each = Callable[[str], Any]


def read_timestamps(precision: int, offset: int, each: Each, texts: Datum) -> pa.Array:
    """Microseconds since 1970, cut to the precision.

    >>> from penstock.sql.arrow.reading import read_timestamp
    >>> texts = pa.array(["1970-01-01 00:00:01.2345", "1970-1-1", None, "x"])
    >>> read_timestamps(3, 0, lambda text: read_timestamp(3, 0, text), texts).to_pylist()
    [1234000, 0, None, None]
    """

    def cast(plain: pa.Array) -> pa.Array:
        return pc.subtract(floored(plain.cast(pa.timestamp("us")), precision).cast(pa.int64()), offset)

    return read_form(_TIMESTAMP, cast, each, pa.int64(), texts)


def floored(moments: pa.Array, precision: int) -> pa.Array:
    """Timestamps without the digits behind their precision."""
    unit = 10 ** max(6 - precision, 0)
    if unit == 1:
        return moments
    counts = numbers(moments)
    return pa.array(counts - counts % unit, mask=nulls(moments)).cast(moments.type)


def read_dates(each: Each, texts: Datum) -> pa.Array:
    """Days since 1970."""
    return read_form(_DATE, lambda plain: plain.cast(pa.date32()).cast(pa.int32()), each, pa.int32(), texts)


def read_integers(kind: pa.DataType, each: Each, texts: Datum) -> pa.Array:
    """
    >>> read_integers(pa.int8(), int, pa.array(["7", "+8", None])).to_pylist()
    [7, 8, None]
    """
    return read_form(_INTEGER, lambda plain: plain.cast(pa.int64()).cast(kind), each, kind, texts)


def read_doubles(each: Each, texts: Datum) -> pa.Array:
    return read_form(_DOUBLE, lambda plain: plain.cast(pa.float64()), each, pa.float64(), texts)


def read_form(
    form: str, cast: Callable[[pa.Array], pa.Array], each: Each, kind: pa.DataType, texts: Datum
) -> pa.Array:
    """Texts of a form by `cast`, the others, or all where it refuses one, by `each`."""
    if is_scalar(texts):
        return per_value(each, kind, texts)
    is_plain = pc.match_substring_regex(texts, form)
    nothing = pa.scalar(None, pa.string())
    if not pc.any(is_plain).as_py():
        return per_value(each, kind, texts)
    try:
        found = cast(pc.if_else(is_plain, texts, nothing))
    except pa.ArrowInvalid:
        return per_value(each, kind, texts)
    if found.null_count == texts.null_count:
        return found
    return pc.coalesce(found, per_value(each, kind, pc.if_else(is_plain, nothing, texts)))
