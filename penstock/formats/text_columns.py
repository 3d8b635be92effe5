"""A column of texts to a column of values, all at once in Arrow's C++, where that surely gives the codec's values.

Each type has a *certain form*, a part of what the codec reads: digits for INT, `yyyy-MM-dd` for DATE. If every text
of a column has it, Arrow converts the column and the answer is the codec's. If a single one has not, `NotCertain` is
raised and the codec reads these records, for it knows the lenient forms, what is NULL and what is an error.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import (
    BigIntType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    SmallIntType,
    TimestampType,
    TinyIntType,
    VarCharType,
)

ToColumn = Callable[[pa.Array], pa.Array]

_INTEGERS: dict[type[DataType], pa.DataType] = {
    TinyIntType: pa.int8(),
    SmallIntType: pa.int16(),
    IntType: pa.int32(),
    BigIntType: pa.int64(),
}
_INTEGER = "^-?[0-9]+$"
_FLOAT = r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?$"
_DATE = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_TIMESTAMP = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}%s[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{3}|\.[0-9]{6})?%s$"
_FIRST_DAY = -719162  # 0001-01-01; Java and Arrow know a year 0


class NotCertain(Exception):
    """Some record is not in the form for which Arrow and the codec are known to agree."""


def text_converter(data_type: DataType, *, iso: bool = False) -> ToColumn | None:
    """How a column of texts becomes one of that type; None where only the codec knows.

    Args:
        iso: Whether timestamps have a `T` between date and time.
    """
    if isinstance(data_type, (CharType, VarCharType)):
        return lambda texts: texts
    if type(data_type) in _INTEGERS:
        return _integers(_INTEGERS[type(data_type)])
    if isinstance(data_type, DoubleType):
        return lambda texts: _cast(_formed(texts, _FLOAT), pa.float64())
    if isinstance(data_type, FloatType):
        return lambda texts: _cast(_formed(texts, _FLOAT), pa.float64()).cast(pa.float32())
    if isinstance(data_type, DecimalType):
        return _decimals(data_type)
    if isinstance(data_type, BooleanType):
        return lambda texts: pc.equal(pc.ascii_lower(_formed(texts, "^(?i:true|false)$")), "true")
    if isinstance(data_type, DateType):
        return lambda texts: _in_calendar(_cast(_formed(texts, _DATE), pa.date32()))
    if isinstance(data_type, TimestampType):
        return _timestamps(pa.timestamp("us"), data_type.precision, iso, "")
    if isinstance(data_type, LocalZonedTimestampType):
        return _timestamps(pa.timestamp("us", "UTC"), data_type.precision, iso, "Z")
    return None


def _formed(texts: pa.Array, form: str) -> pa.Array:
    """The texts, all of which have the form or are NULL."""
    if pc.all(pc.match_substring_regex(texts, form), min_count=0).as_py():
        return texts
    raise NotCertain


def _cast(texts: pa.Array, target: pa.DataType) -> pa.Array:
    try:
        return texts.cast(target)
    except pa.ArrowInvalid:
        raise NotCertain from None


def _integers(target: pa.DataType) -> ToColumn:
    def convert(texts: pa.Array) -> pa.Array:
        # The loop over digits is several times as fast as the regular expression, and nearly always enough.
        if not pc.all(pc.ascii_is_decimal(texts), min_count=0).as_py():
            _formed(texts, _INTEGER)
        return _cast(texts, target)

    return convert


def _decimals(data_type: DecimalType) -> ToColumn:
    whole, scale = data_type.precision - data_type.scale, data_type.scale
    fraction = rf"(\.[0-9]{{1,{scale}}})?" if scale else ""
    form = f"^-?[0-9]{{1,{max(whole, 1)}}}{fraction}$"
    return lambda texts: _cast(_formed(texts, form), pa.decimal128(data_type.precision, scale))


def _timestamps(target: pa.DataType, precision: int, iso: bool, suffix: str) -> ToColumn:
    form = _TIMESTAMP % ("T" if iso else " ", suffix)
    step = 10 ** max(0, 6 - precision)

    def convert(texts: pa.Array) -> pa.Array:
        moments = _cast(_formed(texts, form), target)
        _in_calendar(moments.cast(pa.timestamp("us")).cast(pa.date32(), safe=False))
        return pc.floor_temporal(moments, step, "microsecond") if step > 1 else moments

    return convert


def _in_calendar(days: pa.Array) -> pa.Array:
    if pc.all(pc.greater_equal(days.cast(pa.int32()), _FIRST_DAY), min_count=0).as_py():
        return days
    raise NotCertain
