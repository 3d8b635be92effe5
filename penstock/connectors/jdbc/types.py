"""What drivers give, as values of the declared Flink types.

Drivers are loose: MySQL gives a TIME as a timedelta and a BIT as bytes, SQLite gives whatever was put in. So every
value goes through the reader of its column's declared type, which takes what can only mean one thing and refuses the
rest with a ValueError. Values are plain Python, as everywhere in `connectors`.
"""

from __future__ import annotations

import datetime as dt
import decimal
import re
from collections.abc import Callable
from typing import Any

from penstock.common.datatypes import (
    ArrayType,
    BigIntType,
    BinaryType,
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
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from penstock.common.errors import NotSupportedError

Read = Callable[[Any], Any]

BASIC_TYPES: tuple[type[DataType], ...] = (
    CharType, VarCharType, BooleanType, BinaryType, VarBinaryType, DecimalType, TinyIntType, SmallIntType, IntType,
    BigIntType, FloatType, DoubleType, DateType, TimeType, TimestampType,
)  # fmt: skip
"""Types that all databases have."""

_BITS: dict[type[DataType], int] = {TinyIntType: 8, SmallIntType: 16, IntType: 32, BigIntType: 64}
_MIDNIGHT = dt.datetime(1970, 1, 1)
_FRACTION = re.compile(r"\.\d+")
_WIDE = decimal.Context(prec=100, rounding=decimal.ROUND_HALF_UP)


def reader_of(data_type: DataType) -> Read:
    """A function from a driver's value, not None, to one of the type; it raises ValueError for others."""
    if isinstance(data_type, (CharType, VarCharType)):
        return _text
    if isinstance(data_type, BooleanType):
        return _boolean
    if type(data_type) in _BITS:
        return _integer(_BITS[type(data_type)])
    if isinstance(data_type, (FloatType, DoubleType)):
        return _number
    if isinstance(data_type, DecimalType):
        return _decimal(data_type.precision, data_type.scale)
    if isinstance(data_type, DateType):
        return _date
    if isinstance(data_type, TimeType):
        return _time(data_type.precision)
    if isinstance(data_type, TimestampType):
        return _timestamp(data_type.precision)
    if isinstance(data_type, LocalZonedTimestampType):
        return _zoned(data_type.precision)
    if isinstance(data_type, (BinaryType, VarBinaryType)):
        return _bytes
    if isinstance(data_type, ArrayType):
        return _array(reader_of(data_type.element_type))
    raise NotSupportedError(f"type {data_type.as_summary()} in a database", "no dialect has it")


def _text(value: Any) -> str:
    if type(value) is str:
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, dict)):
        raise ValueError("it is no text")
    return str(value)


def _boolean(value: Any) -> bool:
    if isinstance(value, (bytes, bytearray)):  # MySQL's BIT(1)
        value = int.from_bytes(value, "big")
    if isinstance(value, (int, decimal.Decimal)):
        return value != 0
    if isinstance(value, str) and value.lower() in ("t", "f", "true", "false", "1", "0"):
        return value.lower() in ("t", "true", "1")
    raise ValueError("it is neither true nor false")


def _integer(bits: int) -> Read:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1

    def read(value: Any) -> int:
        if type(value) is not int:
            value = _whole(value)
        if not low <= value <= high:
            raise ValueError("it is out of range")
        return int(value)

    return read


def _whole(value: Any) -> int:
    if isinstance(value, (bytes, bytearray)):  # MySQL's BIT(n)
        return int.from_bytes(value, "big")
    if isinstance(value, str):
        return int(value)
    if isinstance(value, (bool, float, decimal.Decimal)) and value == int(value):
        return int(value)
    raise ValueError("it is no whole number")


def _number(value: Any) -> float:
    if isinstance(value, (int, float, decimal.Decimal, str)):
        return float(value)
    raise ValueError("it is no number")


def _decimal(precision: int, scale: int) -> Read:
    """Rounded to the scale, half up, as Flink does it."""
    step = decimal.Decimal(1).scaleb(-scale)

    def read(value: Any) -> decimal.Decimal:
        if not isinstance(value, (int, float, decimal.Decimal, str)):
            raise ValueError("it is no number")
        number = value if isinstance(value, decimal.Decimal) else decimal.Decimal(str(value))
        if not number.is_finite():
            raise ValueError("it is not finite")
        rounded = number.quantize(step, context=_WIDE)
        if len(rounded.as_tuple().digits) > precision and rounded:
            raise ValueError("it has too many digits")
        return rounded

    return read


def _date(value: Any) -> dt.date:
    if isinstance(value, dt.datetime):
        return value.date()
    if isinstance(value, dt.date):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return _of_millis(value).date()
    if isinstance(value, str):
        return _parsed(value).date()
    raise ValueError("it is no date")


def _time(precision: int) -> Read:
    cut = _cut(precision)

    def read(value: Any) -> dt.time:
        if isinstance(value, str):
            value = dt.time.fromisoformat(_FRACTION.sub(_six_digits, value))
        elif isinstance(value, dt.timedelta):  # MySQL's TIME also holds spans of time
            if not dt.timedelta(0) <= value < dt.timedelta(days=1):
                raise ValueError("it is no time of day")
            value = (_MIDNIGHT + value).time()
        elif isinstance(value, dt.datetime):
            value = value.time()
        if not isinstance(value, dt.time):
            raise ValueError("it is no time")
        return value.replace(microsecond=cut(value.microsecond), tzinfo=None)

    return read


def _timestamp(precision: int) -> Read:
    """The clock's reading; of a moment with a zone, the one in that zone."""
    cut = _cut(precision)

    def read(value: Any) -> dt.datetime:
        moment = _moment(value)
        return moment.replace(microsecond=cut(moment.microsecond), tzinfo=None)

    return read


def _zoned(precision: int) -> Read:
    """A moment in UTC; one without a zone is taken to be in UTC."""
    cut = _cut(precision)

    def read(value: Any) -> dt.datetime:
        moment = _moment(value)
        moment = moment.replace(tzinfo=dt.timezone.utc) if moment.tzinfo is None else moment
        moment = moment.astimezone(dt.timezone.utc)
        return moment.replace(microsecond=cut(moment.microsecond))

    return read


def _moment(value: Any) -> dt.datetime:
    if isinstance(value, dt.datetime):
        return value
    if isinstance(value, dt.date):
        return dt.datetime.combine(value, dt.time())
    if isinstance(value, int) and not isinstance(value, bool):
        return _of_millis(value)
    if isinstance(value, str):
        return _parsed(value)
    raise ValueError("it is no timestamp")


def _parsed(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(_FRACTION.sub(_six_digits, text.replace("Z", "+00:00")))


def _six_digits(fraction: re.Match[str]) -> str:
    """Python 3.10 reads fractions of three and of six digits only."""
    return fraction[0][:7].ljust(7, "0")


def _of_millis(value: int) -> dt.datetime:
    """SQLite's Java driver stores times as milliseconds since 1970."""
    return _MIDNIGHT + dt.timedelta(milliseconds=value)


def _cut(precision: int) -> Callable[[int], int]:
    """Microseconds with so many digits of the second left."""
    unit = 10 ** max(0, 6 - precision)
    return lambda micros: micros - micros % unit


def _bytes(value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise ValueError("it is no byte string")


def _array(read: Read) -> Read:
    def read_all(value: Any) -> list[Any]:
        if not isinstance(value, (list, tuple)):
            raise ValueError("it is no array")
        return [None if item is None else read(item) for item in value]

    return read_all
