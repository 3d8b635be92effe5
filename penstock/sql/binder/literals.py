"""Literals: numbers, texts, dates and intervals, with the types Flink gives them."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re

from sqlglot import exp

from penstock.common.datatypes import (
    INTERVAL_MONTH,
    INTERVAL_SECOND,
    MAX_DECIMAL_PRECISION,
    BinaryType,
    BooleanType,
    CharType,
    DataTypes,
    DecimalType,
)
from penstock.common.errors import ValidationError
from penstock.sql.dialect.nodes import IntervalLiteral, TypedLiteral
from penstock.sql.plan.rex import Const

_MILLIS = {"WEEK": 604_800_000, "DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1_000}
_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_UNITS = ("DAY", "HOUR", "MINUTE", "SECOND")


def number(text: str) -> Const:
    """1 is INT, 5000000000 BIGINT, 1.50 DECIMAL(3, 2), 1e3 DOUBLE."""
    if "e" in text.lower():
        value = float(text) or 0.0  # there is no literal -0.0
        if math.isinf(value):
            raise ValidationError(f"numeric literal '{text}' is out of range")
        return Const(DataTypes.DOUBLE(False), value)
    text = text.removesuffix(".")
    if "." not in text:
        whole = int(text)
        if -(2**31) <= whole < 2**31:
            return Const(DataTypes.INT(False), whole)
        if -(2**63) <= whole < 2**63:
            return Const(DataTypes.BIGINT(False), whole)
        raise ValidationError(
            f"numeric literal '{text}' is out of range", do="write it as a decimal, with a point"
        )
    return _decimal(text)


def _decimal(text: str) -> Const:
    """Every digit that is written counts: 0.001 is DECIMAL(4, 3)."""
    value = decimal.Decimal(text)
    whole, _, fraction = text.lstrip("+-").partition(".")
    scale = len(fraction)
    precision = max(len(whole) + scale, 1)
    if precision > MAX_DECIMAL_PRECISION:
        raise ValidationError(f"{value} has more than 38 digits")
    return Const(DecimalType(precision, scale, False), value)


def text(value: str) -> Const:
    return Const(CharType(len(value), False), value)


def unicode_text(value: str) -> Const:
    r"""U&'d\0061ta': four hex digits, or six behind \+."""
    plain = re.sub(
        r"\\(?:\+([0-9A-Fa-f]{6})|([0-9A-Fa-f]{4})|(\\))",
        lambda m: "\\" if m.group(3) else chr(int(m.group(1) or m.group(2), 16)),
        value,
    )
    return text(plain)


def binary(value: str) -> Const:
    if len(value) % 2 or not re.fullmatch(r"[0-9A-Fa-f]*", value):
        raise ValidationError(f"X'{value}' is no binary literal: it needs pairs of hexadecimal digits")
    return Const(BinaryType(len(value) // 2, False), bytes.fromhex(value))


def boolean(value: bool) -> Const:
    return Const(BooleanType(False), value)


def null() -> Const:
    return Const(DataTypes.NULL(), None)


def typed(node: TypedLiteral) -> Const:
    """DATE '…', TIME '…', TIMESTAMP '…': precision is the number of digits behind the second."""
    kind, value = node.args["kind"], node.this.name.strip()
    try:
        if kind == "DATE":
            return Const(DataTypes.DATE(False), dt.date.fromisoformat(value))
        main, _, fraction = value.partition(".")
        micros = int((fraction + "000000")[:6]) if fraction else 0
        precision = min(len(fraction), 9)
        if kind == "TIME":
            moment = dt.time.fromisoformat(main).replace(microsecond=micros)
            return Const(DataTypes.TIME(precision, False), moment)
        main = main if " " in main else f"{main} 00:00:00"
        stamp = dt.datetime.strptime(main, "%Y-%m-%d %H:%M:%S").replace(microsecond=micros)
    except ValueError:
        raise ValidationError(f"illegal {kind} literal '{value}'") from None
    make = DataTypes.TIMESTAMP_LTZ if kind == "TIMESTAMP_LTZ" else DataTypes.TIMESTAMP
    return Const(make(precision, False), stamp)


def interval(node: IntervalLiteral) -> Const:
    """Milliseconds or months; the leading field has at most two digits unless a precision says more."""
    value, unit, to = node.this.strip(), node.args["unit"], node.args.get("to")
    sign = -1 if node.args.get("negative") else 1
    if value.startswith(("-", "+")):
        sign = -sign if value[0] == "-" else sign
        value = value[1:]
    precision = int(node.args.get("precision") or 2)
    if unit in _MONTHS:
        return Const(INTERVAL_MONTH, sign * _months(value, unit, to, precision))
    return Const(INTERVAL_SECOND, sign * _millis(value, unit, to, precision))


def _illegal(value: str, unit: str, to: str | None) -> ValidationError:
    qualifier = unit + (f" TO {to}" if to else "")
    return ValidationError(f"illegal interval literal format '{value}' for INTERVAL {qualifier}")


def _leading(digits: str, unit: str, precision: int) -> int:
    if len(digits.lstrip("0")) > precision:
        raise ValidationError(
            f"interval field value {digits} exceeds precision of {unit}({precision}) field",
            do=f"write INTERVAL '...' {unit}({len(digits)}), or use a larger unit",
        )
    return int(digits)


def _months(value: str, unit: str, to: str | None, precision: int) -> int:
    if to == "MONTH":
        match = re.fullmatch(r"(\d+)-(\d{1,2})", value)
        if not match or int(match.group(2)) > 11:
            raise _illegal(value, unit, to)
        return _leading(match.group(1), unit, precision) * 12 + int(match.group(2))
    if not value.isdigit():
        raise _illegal(value, unit, to)
    return _leading(value, unit, precision) * _MONTHS[unit]


def _millis(value: str, unit: str, to: str | None, precision: int) -> int:
    if unit == "WEEK":
        if not value.isdigit():
            raise _illegal(value, unit, to)
        return _leading(value, unit, precision) * _MILLIS["WEEK"]
    units = _UNITS[_UNITS.index(unit) : _UNITS.index(to or unit) + 1]
    pattern = ""
    for i, part in enumerate(units):
        separator = "" if i == 0 else (" " if units[i - 1] == "DAY" else ":")
        pattern += separator + (r"(\d+)" if i == 0 else r"(\d{1,2})")
        if part == "SECOND":
            pattern += r"(?:\.(\d{1,9}))?"
    match = re.fullmatch(pattern, value)
    if not units or not match:
        raise _illegal(value, unit, to)
    total = 0
    for i, part in enumerate(units):
        digits = match.group(i + 1)
        total += (_leading(digits, unit, precision) if i == 0 else int(digits)) * _MILLIS[part]
    if units[-1] == "SECOND" and match.group(len(units) + 1):
        total += int((match.group(len(units) + 1) + "000")[:3])
    return total


def from_sqlglot(node: exp.Literal) -> Const:
    return text(node.this) if node.is_string else number(node.this)
