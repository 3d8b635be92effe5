"""Reading, querying and writing JSON the way Flink does, in plain Python.

Numbers keep their text (2.50 stays 2.50), objects are written with sorted keys and without blanks. Paths are those of
`json_paths.py`.
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json
import re
from collections.abc import Iterable
from typing import Any

import msgspec

from penstock.sql.functions.json_paths import PathError, path_of


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_FAST = msgspec.json.Decoder(float_hook=decimal.Decimal)
_PATIENT = json.JSONDecoder(parse_float=decimal.Decimal, parse_constant=_refuse_constant)


_BLANKS = " \t\r\n"


def read(text: str) -> Any:
    """The document as Python values, numbers with a fraction as Decimal; raises ValueError.

    What the fast decoder does not take is for the other to judge: only that one takes half a surrogate pair. What
    stands behind the first value is not looked at, as long as a blank or a sign parts them: `1 2` is 1.
    """
    try:
        return _FAST.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        pass
    start = text.lstrip(_BLANKS)
    value, end = _PATIENT.raw_decode(start)
    behind = start[end : end + 1]
    if behind and behind not in _BLANKS and not isinstance(value, (str, dict, list)):
        is_word = value is None or isinstance(value, bool)
        if not is_word or behind.isalnum():
            raise ValueError(f"{behind!r} stands behind the JSON value")
    return value


# --- queries --------------------------------------------------------------------------------------------

_MODE = re.compile(r"\s*(lax|strict)\s+(.+)", re.IGNORECASE | re.DOTALL)


def query(text: str, path_text: str) -> tuple[bool, Any]:
    """Whether the path is lax, and what is there.

    A path is strict unless it says `lax`. In strict mode nothing may be missing; in lax mode a document that is none
    and a place that is not there give None, or an empty list. A path that is none is an error in both.

    Raises:
        ValueError: The document or the path is none, or a strict path finds nothing.
    """
    mode = _MODE.fullmatch(path_text)
    lax, spec = (False, path_text) if mode is None else (mode[1].lower() == "lax", mode[2])
    try:
        document = read(text)
    except (ValueError, RecursionError):
        if lax:
            return lax, None
        raise
    if document is None:
        raise ValueError("the document is null")
    path = path_of(spec)
    try:
        value = path.read(document)
    except PathError:
        if lax:
            return lax, None if path.is_definite else []
        raise
    if value is None and not lax:
        raise ValueError("a strict path needs a value that is not null")
    return lax, value


# --- writing --------------------------------------------------------------------------------------------


def java_double(value: float) -> str:
    """A double as Java's Double.toString writes it.

    >>> java_double(1e20), java_double(0.5), java_double(123.0)
    ('1.0E20', '0.5', '123.0')
    """
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = format(decimal.Decimal(repr(value)), "f")
        return text if "." in text else text + ".0"
    sign, digits, exponent = decimal.Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0") or "0"
    power = int(exponent) + len(digits) - 1
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{power}"


def write(value: Any) -> str:
    """A value as JSON text, compact, keys sorted."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, decimal.Decimal)):
        return str(value)
    if isinstance(value, float):
        if value - value != 0:
            return f'"{java_double(value)}"'
        return str(decimal.Decimal(java_double(value))) if value else "0.0"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dt.datetime):
        return f'"{_moment(value)}"'
    if isinstance(value, (bytes, bytearray)):
        return f'"{base64.b64encode(bytes(value)).decode()}"'
    if hasattr(value, "__fields__"):
        pairs: Iterable[tuple[Any, Any]] = zip(value.__fields__, value, strict=False)
        return "{" + ",".join(f"{write(str(k))}:{write(v)}" for k, v in pairs) + "}"
    if isinstance(value, dict):
        return "{" + ",".join(f"{write(str(k))}:{write(v)}" for k, v in sorted(value.items())) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(write, value)) + "]"
    return json.dumps(str(value))


def scalar_text(value: Any) -> str:
    """A value as text: texts are themselves, everything else is JSON."""
    if isinstance(value, str):
        return value
    return java_double(value) if isinstance(value, float) else write(value)


def _moment(value: dt.datetime) -> str:
    text = value.replace(tzinfo=None).isoformat(timespec="microseconds")
    return text.rstrip("0").rstrip(".") if "." in text else text


def compact(text: str) -> str:
    """A JSON text as Flink writes it back."""
    return write(read(text))


def write_object(pairs: Iterable[tuple[str, Any, bool]], keep_null: bool) -> str:
    """An object from (name, value, is JSON already); sorted by name, the last of equal names wins."""
    texts: dict[str, str] = {}
    for name, value, raw in pairs:
        if value is None:
            if keep_null:
                texts[name] = "null"
            else:
                texts.pop(name, None)
        else:
            texts[name] = compact(value) if raw else write(value)
    return "{" + ",".join(f"{write(name)}:{texts[name]}" for name in sorted(texts)) + "}"


def write_array(values: Iterable[tuple[Any, bool]], keep_null: bool) -> str:
    """An array from (value, is JSON already)."""
    texts = [
        "null" if v is None else compact(v) if raw else write(v)
        for v, raw in values
        if keep_null or v is not None
    ]
    return "[" + ",".join(texts) + "]"
