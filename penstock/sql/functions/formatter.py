"""java.util.Formatter in Python, as far as PRINTF needs it: `%[index$][flags][width][.precision]letter`."""

from __future__ import annotations

import decimal
import re
from typing import Any

from penstock.sql.functions.json_documents import java_double

_SPEC = re.compile(r"%(?:(\d+)\$)?([-#+ 0,(<]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")


class FormatError(ValueError):
    """The format is wrong, or an argument does not fit its letter."""


def java_text(value: Any) -> str:
    """A value as Java's String.valueOf writes it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return java_double(value)
    return str(value)


def java_format(pattern: str, *args: Any) -> str:
    """The formatted text; raises FormatError."""
    out, at, following = [], 0, 0
    for found in _SPEC.finditer(pattern):
        between = pattern[at : found.start()]
        if "%" in between:
            raise FormatError(f"cannot read {pattern!r}")
        out.append(between)
        at = found.end()
        index, flags, width, precision, letter = found.groups()
        if letter in "n%":
            out.append("\n" if letter == "n" else _padded("%", flags, width))
            continue
        place = int(index) - 1 if index else following
        following += 0 if index else 1
        if place >= len(args):
            raise FormatError(f"{pattern!r} has more places than there are values")
        out.append(_one(args[place], flags, width, precision, letter))
    if "%" in pattern[at:]:
        raise FormatError(f"cannot read {pattern!r}")
    return "".join(out) + pattern[at:]


def _padded(text: str, flags: str, width: str | None) -> str:
    """As wide as asked for, which Java counts in units of 16 bits."""
    missing = int(width or 0) - len(text.encode("utf-16-be", "surrogatepass")) // 2
    return text + " " * missing if "-" in flags else " " * missing + text


def _one(value: Any, flags: str, width: str | None, precision: str | None, letter: str) -> str:
    lower = letter.lower()
    if lower == "b":
        text = "false" if value is None else java_text(value) if isinstance(value, bool) else "true"
    elif value is None or lower == "s":
        text = java_text(value)
    else:
        return _number(value, flags, width, precision, letter)
    if precision is not None:
        data = text.encode("utf-16-be", "surrogatepass")[: int(precision) * 2]
        text = data.decode("utf-16-be", "replace")
    return _padded(text.upper() if letter.isupper() else text, flags, width)


def _number(value: Any, flags: str, width: str | None, precision: str | None, letter: str) -> str:
    lower, whole = letter.lower(), isinstance(value, int) and not isinstance(value, bool)
    if lower == "c" and (whole or (isinstance(value, str) and len(value) == 1)):
        return _padded(chr(value) if whole else value, flags, width)
    if lower in "dxo" and whole:
        text = _whole(value, flags, lower)
    elif lower in "feg" and isinstance(value, float):
        text = _fraction(value, flags, int(precision) if precision else 6, lower)
    else:
        raise FormatError(f"{value!r} does not fit %{letter}")
    if "0" in flags and width is not None and "-" not in flags:
        sign = text[0] if text[0] in "+-" else ""
        text = sign + text[len(sign) :].rjust(int(width) - len(sign), "0")
    return _padded(text.upper() if letter.isupper() else text, flags, width)


def _whole(value: int, flags: str, letter: str) -> str:
    if letter == "d":
        text = f"{value:,}" if "," in flags else str(value)
        return "+" + text if "+" in flags and value >= 0 else text
    if value < 0:
        value &= 0xFFFFFFFF if value >= -(1 << 31) else 0xFFFFFFFFFFFFFFFF
    return f"{value:x}" if letter == "x" else f"{value:o}"


def _fraction(value: float, flags: str, precision: int, letter: str) -> str:
    if value - value != 0:
        return java_double(value)
    if letter == "f":
        step = decimal.Decimal(1).scaleb(-precision)
        rounded = decimal.Decimal(java_double(value)).quantize(
            step, decimal.ROUND_HALF_UP, decimal.Context(prec=400)
        )
        text = format(rounded, ",f" if "," in flags else "f")
    else:
        text = format(value, f".{precision}{letter}")
    return "+" + text if "+" in flags and value >= 0 else text
