"""Texts to values and back, as Java's and Flink's parsers and printers do it.

The parsers raise `BadField` for what Java would refuse; what Java takes silently is taken here too: a
TIMESTAMP on 30 February is the month's last day, a decimal too long for its type is NULL.
"""

from __future__ import annotations

import base64
import binascii
import calendar
import datetime as dt
import decimal
import math
import re
import struct
from decimal import Decimal

from penstock.formats.base import BadField

_INTEGER = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?)")
_HEX_FLOAT = re.compile(r"[+-]?0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*[pP][+-]?[0-9]+[fFdD]?")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_LENIENT_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_TIME = re.compile(r"(\d{2}):(\d{2}):(\d{2})(?:\.(\d{0,9}))?")
_COMMON_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{3}|\.\d{6})?", re.ASCII)
_SHORT_TIME = re.compile(r"(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?")

# Room for every digit of a DECIMAL(38, s) in between; Python's default of 28 would round.
_EXACT = decimal.Context(prec=120, rounding=decimal.ROUND_HALF_UP)


def parse_integer(text: str, bits: int) -> int:
    if text.isdigit() and text.isascii():
        return check_range(int(text), bits)
    stripped = text.strip()
    if not _INTEGER.fullmatch(stripped):
        raise BadField(f"{text!r} is not an integer")
    return check_range(int(stripped), bits)


def check_range(value: int, bits: int) -> int:
    bound = 1 << (bits - 1)
    if not -bound <= value < bound:
        raise BadField(f"{value} is out of range")
    return value


def parse_double(text: str) -> float:
    stripped = text.strip()
    if _FLOAT.fullmatch(stripped):
        return float(stripped.rstrip("fFdD")) if stripped[-1] in "fFdD" else float(stripped)
    if _HEX_FLOAT.fullmatch(stripped):
        return float.fromhex(stripped.rstrip("fFdD"))
    raise BadField(f"{text!r} is not a number")


def to_single(value: float) -> float:
    """The nearest 32-bit float."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def parse_decimal(text: str, precision: int, scale: int) -> Decimal | None:
    if not _DECIMAL.fullmatch(text):
        raise BadField(f"{text!r} is not a number")
    point = text.find(".")
    if len(text) - point - 1 == scale and 0 < point <= precision - scale and "e" not in text.lower():
        return Decimal(text)  # fits as it stands; rounding would cost more than all the rest
    return fit_decimal(Decimal(text), precision, scale)


def fit_decimal(value: Decimal, precision: int, scale: int) -> Decimal | None:
    """Rounded half up to the scale; NULL where the digits do not fit the precision."""
    if value and value.adjusted() >= precision - scale:
        return None
    rounded = value.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
    return None if rounded and rounded.adjusted() >= precision - scale else rounded


def parse_boolean(text: str) -> bool:
    """Java's rule: "true" in any case of letters, and everything else is false."""
    return text.strip().lower() == "true"


def parse_base64(text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()).encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError, ValueError):
        raise BadField(f"{text!r} is not base64") from None


def parse_date(text: str) -> dt.date:
    """ISO date, strictly: 30 February is refused."""
    found = _DATE.fullmatch(text)
    if not found:
        raise BadField(f"{text!r} is not a date (yyyy-MM-dd)")
    try:
        return dt.date(*map(int, found.groups()))
    except ValueError:
        raise BadField(f"{text!r} is not a date of the calendar") from None


def parse_lenient_date(text: str) -> dt.date:
    """java.sql.Date: single digits are fine, and a day beyond the month's end runs into the next month."""
    found = _LENIENT_DATE.fullmatch(text)
    if not found:
        raise BadField(f"{text!r} is not a date (yyyy-MM-dd)")
    year, month, day = map(int, found.groups())
    if not (1 <= month <= 12 and 1 <= day <= 31 and year >= 1):
        raise BadField(f"{text!r} is not a date of the calendar")
    return dt.date(year, month, 1) + dt.timedelta(days=day - 1)


def parse_time(text: str, precision: int, *, short: bool = False) -> dt.time:
    """HH:mm:ss[.fraction], cut (not rounded) to the precision, which is milliseconds at most.

    Args:
        short: Whether HH:mm is enough.
    """
    found = (_SHORT_TIME if short else _TIME).fullmatch(text)
    if not found:
        raise BadField(f"{text!r} is not a time (HH:mm:ss)")
    hour, minute, second = (int(part or 0) for part in found.groups()[:3])
    micros = _micros(found.group(4), min(precision, 3))
    try:
        return dt.time(hour, minute, second, micros)
    except ValueError:
        raise BadField(f"{text!r} is not a time of day") from None


def parse_timestamp(text: str, precision: int, *, iso: bool = False) -> dt.datetime:
    """`yyyy-MM-dd HH:mm:ss[.fraction]`, or with a `T` and optional seconds for ISO-8601."""
    separator = "T" if iso else " "
    if _COMMON_TIMESTAMP.fullmatch(text) and text[10] == separator:
        try:
            return _cut(dt.datetime.fromisoformat(text), precision)
        except ValueError:
            pass  # 30 February and 24:00:00 need the long way
    return _parse_any_timestamp(text, precision, iso)


def _cut(value: dt.datetime, precision: int) -> dt.datetime:
    if precision >= 6 or not value.microsecond:
        return value
    return value.replace(microsecond=value.microsecond - value.microsecond % 10 ** (6 - precision))


def _parse_any_timestamp(text: str, precision: int, iso: bool) -> dt.datetime:
    date_text, separator, time_text = text[:10], text[10:11], text[11:]
    days = _DATE.fullmatch(date_text)
    times = (_SHORT_TIME if iso else _TIME).fullmatch(time_text)
    if not days or not times or separator != ("T" if iso else " "):
        form = "yyyy-MM-ddTHH:mm:ss" if iso else "yyyy-MM-dd HH:mm:ss"
        raise BadField(f"{text!r} is not a timestamp ({form})")
    hour, minute, second = (int(part or 0) for part in times.groups()[:3])
    try:
        day = parse_date(date_text) if iso else _day_in_month(*map(int, days.groups()))
        extra = dt.timedelta(days=1) if (hour, minute, second) == (24, 0, 0) and not iso else dt.timedelta()
        clock = dt.time(0 if extra else hour, minute, second, _micros(times.group(4), precision))
        return dt.datetime.combine(day, clock) + extra
    except (ValueError, OverflowError):
        raise BadField(f"{text!r} is not a moment of the calendar") from None


def parse_timestamp_ltz(text: str, precision: int, *, iso: bool = False) -> dt.datetime:
    """A timestamp with a `Z` at its end, as an aware datetime in UTC."""
    if not text.endswith("Z"):
        raise BadField(f"{text!r} is not a timestamp in UTC (it must end with Z)")
    return parse_timestamp(text[:-1], precision, iso=iso).replace(tzinfo=dt.timezone.utc)


def _day_in_month(year: int, month: int, day: int) -> dt.date:
    last = calendar.monthrange(year, month)[1] if 1 <= month <= 12 else 0
    return dt.date(year, month, min(day, last) if day <= 31 else day)


def _micros(fraction: str | None, precision: int) -> int:
    """The fraction's digits as microseconds, cut to the precision."""
    return int((fraction or "")[: min(precision, 6)].ljust(6, "0")) if fraction else 0


def format_double(value: float) -> str:
    """Java's Double.toString: `1.0E10`, `100.0`, `1.0E-4`."""
    return _java_float(value, repr(value))


def format_single(value: float) -> str:
    """Java's Float.toString: the fewest digits that give the same 32-bit float."""
    if not math.isfinite(value):
        return _java_float(value, "")
    digits = next(d for d in range(1, 18) if to_single(float(f"{value:.{d}g}")) == value or d == 17)
    return _java_float(value, repr(float(f"{value:.{digits}g}")))


def _java_float(value: float, shortest: str) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = format(Decimal(shortest), "f")
        return text if "." in text else text + ".0"
    sign, digits, exponent = Decimal(shortest).normalize().as_tuple()
    text = "".join(map(str, digits))
    power = int(exponent) + len(text) - 1
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{power}"


def format_decimal(value: Decimal, *, plain: bool = False) -> str:
    """Without trailing zeros, so 120.00 is 1.2E+2, or 120 when `plain`."""
    stripped = value.normalize(_EXACT)
    if not stripped:
        return "0"
    return format(stripped, "f") if plain else str(stripped)


def format_time(value: dt.time) -> str:
    return (
        value.isoformat(timespec="microseconds").rstrip("0").rstrip(".")
        if value.microsecond
        else (value.isoformat(timespec="seconds"))
    )


def format_timestamp(value: dt.datetime, *, iso: bool = False) -> str:
    return f"{value.date().isoformat()}{'T' if iso else ' '}{format_time(value.time())}"


def format_timestamp_ltz(value: dt.datetime, *, iso: bool = False) -> str:
    utc = value.astimezone(dt.timezone.utc) if value.tzinfo else value
    return format_timestamp(utc, iso=iso) + "Z"


def format_base64(value: bytes) -> str:
    return base64.b64encode(bytes(value)).decode("ascii")
