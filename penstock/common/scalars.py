"""Scalar values: what each basic type accepts, and what it makes of it.

The rules are Flink's, asked of PyFlink 2.3: integer types take bools and cut floats, floating types take
integers, strings and bytes are never converted, and a number out of range is refused rather than wrapped.
"""

from __future__ import annotations

import datetime
import decimal
import struct
from typing import Any, TypeVar

from penstock.common.time import Instant

T = TypeVar("T", datetime.time, datetime.datetime)


class Misfit(Exception):
    """A value that does not fit; composite shapes add where it was on the way up, innermost first."""

    def __init__(self, value: Any, expected: str, hint: str | None = None) -> None:
        super().__init__(value, expected)
        self.value = value
        self.expected = expected
        self.hint = hint
        self.path: list[str] = []


def shorten(value: Any, limit: int = 80) -> str:
    """`repr` that fits on a line of an error message."""
    try:
        text = repr(value)
    except Exception as error:  # a user's __repr__ may raise anything; the message must still come out
        text = f"<{type(value).__name__} whose repr failed: {error}>"
    return text if len(text) <= limit else text[: limit - 3] + "..."


_F32 = struct.Struct("<f")


def to_float32(value: float) -> float:
    """The nearest 32-bit float; what is too large becomes infinite, as a cast in Java does."""
    try:
        return _F32.unpack(_F32.pack(value))[0]  # type: ignore[no-any-return]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def shortest_float32(value: float) -> float:
    """The float whose decimal text is the shortest that still means this 32-bit value."""
    if value != value or value in (float("inf"), float("-inf")):
        return value
    for digits in range(1, 10):
        candidate = float(f"{value:.{digits}g}")
        if to_float32(candidate) == value:
            return candidate
    return value


def as_float(value: Any, name: str) -> float:
    """Floats, and what Flink widens to them: integers and numpy numbers, never strings."""
    if isinstance(value, (str, bytes)) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise Misfit(value, name)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise Misfit(value, name) from None


def as_integer(value: Any, name: str, low: int, high: int) -> int:
    """An int in range; bools and floats become ints (floats lose their fraction), as in PyFlink."""
    if isinstance(value, (str, bytes)) or not (hasattr(value, "__index__") or hasattr(value, "__int__")):
        raise Misfit(value, name)
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise Misfit(value, name) from None
    if not low <= number <= high:
        raise Misfit(value, name, f"{name} holds {low} to {high}")
    return number


def as_big_integer(value: Any) -> int:
    """A whole number of any size."""
    if isinstance(value, (str, bytes, float)) or not hasattr(value, "__index__"):
        raise Misfit(value, "BIG_INT")
    return int(value)


def as_boolean(value: Any) -> bool:
    """True or False; other values do not fit."""
    if value is None or isinstance(value, (str, bytes)) or not hasattr(value, "__bool__"):
        raise Misfit(value, "BOOLEAN")
    return bool(value)


def as_string(value: Any) -> str:
    """A text."""
    if isinstance(value, str):
        return str(value)
    raise Misfit(value, "STRING", "call str() on it, or decode() if it is bytes")


def as_char(value: Any) -> str:
    """A text of one character."""
    if isinstance(value, str) and len(value) == 1:
        return str(value)
    raise Misfit(value, "CHAR", "pass a string of one character")


def as_bytes(value: Any) -> bytes:
    """The bytes of a byte array: bytes-like values, or a list of numbers from -128 to 255."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (str, int)) or not hasattr(value, "__iter__"):
        raise Misfit(value, "PRIMITIVE_ARRAY<BYTE>", "pass bytes")
    return bytes(as_integer(item, "BYTE", -128, 255) & 0xFF for item in value)


def signed_bytes(value: bytes) -> list[int]:
    """How a byte array is collected: a list of numbers from -128 to 127."""
    return [byte - 256 if byte > 127 else byte for byte in value]


def as_decimal(value: Any) -> decimal.Decimal:
    """Decimals, and what can be read as one: integers, floats by their shortest digits, strings."""
    if isinstance(value, (decimal.Decimal, int, float, str)) and not isinstance(value, bool):
        try:
            return decimal.Decimal(str(value))
        except decimal.InvalidOperation:
            pass
    raise Misfit(value, "BIG_DEC", "pass a decimal.Decimal")


def plain_decimal(value: decimal.Decimal) -> decimal.Decimal:
    """The same number written without exponent: 1E+5 is collected as 100000."""
    exponent = value.as_tuple().exponent
    return decimal.Decimal(f"{value:f}") if isinstance(exponent, int) and exponent > 0 else value


def as_date(value: Any) -> datetime.date:
    """A day; of a moment, its day."""
    if isinstance(value, datetime.date):
        return datetime.date(value.year, value.month, value.day)
    raise Misfit(value, "SQL_DATE", "pass a datetime.date")


def as_local_time(value: Any, name: str = "LOCAL_TIME") -> datetime.time:
    """A time of day; a zone is dropped."""
    if isinstance(value, datetime.time):
        return datetime.time(value.hour, value.minute, value.second, value.microsecond)
    raise Misfit(value, name, "pass a datetime.time")


def as_sql_time(value: Any) -> datetime.time:
    """SQL_TIME has milliseconds."""
    return _cut_to_millis(as_local_time(value, "SQL_TIME"))


def whole_seconds(value: datetime.time) -> datetime.time:
    """How a SQL_TIME is collected."""
    return value.replace(microsecond=0)


def as_local_timestamp(value: Any, name: str = "LOCAL_DATE_TIME") -> datetime.datetime:
    """A date and time of day; a zone is dropped, not converted, as PyFlink does."""
    if isinstance(value, datetime.datetime):
        return datetime.datetime.combine(as_date(value), as_local_time(value.time()))
    raise Misfit(value, name, "pass a datetime.datetime")


def as_sql_timestamp(value: Any) -> datetime.datetime:
    """SQL_TIMESTAMP has milliseconds."""
    return _cut_to_millis(as_local_timestamp(value, "SQL_TIMESTAMP"))


def _cut_to_millis(value: T) -> T:
    return value.replace(microsecond=value.microsecond // 1_000 * 1_000)


def as_instant(value: Any) -> Instant:
    """A moment."""
    if isinstance(value, Instant):
        return value
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        micros = (value - _EPOCH) // datetime.timedelta(microseconds=1)
        return Instant(micros // 1_000_000, micros % 1_000_000 * 1_000)
    raise Misfit(value, "INSTANT", "pass a penstock.common.Instant or a datetime with a zone")


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
