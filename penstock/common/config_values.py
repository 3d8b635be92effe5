"""The values of configuration options, read from text as Flink reads them.

Durations ('10 s', '500 ms', '1 min', 'PT10S'), memory sizes ('64 mb'), booleans, numbers, enums, lists
('a;b') and maps ('k1:v1,k2:v2'). A value that cannot be read raises `ValidationError` with the key.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Mapping
from typing import Any

from penstock.common.errors import ValidationError
from penstock.common.time import Duration, Time

_NANOS = {
    unit: nanos
    for nanos, units in {
        1: ("ns", "nano", "nanos", "nanosecond", "nanoseconds"),
        1_000: ("us", "µs", "micro", "micros", "microsecond", "microseconds"),
        1_000_000: ("ms", "milli", "millis", "millisecond", "milliseconds"),
        1_000_000_000: ("s", "sec", "secs", "second", "seconds"),
        60_000_000_000: ("min", "m", "minute", "minutes"),
        3_600_000_000_000: ("h", "hour", "hours"),
        86_400_000_000_000: ("d", "day", "days"),
    }.items()
    for unit in units
}
_BYTES = {
    unit: size
    for size, units in {
        1: ("b", "byte", "bytes"),
        1 << 10: ("k", "kb", "kibibyte", "kibibytes"),
        1 << 20: ("m", "mb", "mebibyte", "mebibytes"),
        1 << 30: ("g", "gb", "gibibyte", "gibibytes"),
        1 << 40: ("t", "tb", "tebibyte", "tebibytes"),
    }.items()
    for unit in units
}
_NUMBER_UNIT = re.compile(r"\s*(\d+)\s*([^\W\d]*)\s*")
_ISO = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,9}))?S)?)?", re.IGNORECASE)


def parse_duration(text: Any) -> Duration:
    """A length of time; a bare number means milliseconds.

    >>> parse_duration("10 s"), parse_duration("PT1M30S"), parse_duration("250")
    (Duration(10000 ms), Duration(90000 ms), Duration(250 ms))
    """
    if isinstance(text, Duration):
        return text
    if isinstance(text, Time):
        return Duration.of_millis(text.to_milliseconds())
    iso = _ISO.fullmatch(str(text).strip())
    if iso and any(iso.groups()):
        days, hours, minutes, seconds = (int(group or 0) for group in iso.groups()[:4])
        whole = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
        return Duration(whole * 1_000_000_000 + int((iso.group(5) or "").ljust(9, "0")))
    number, unit = _split(text, "a duration such as '10 s', '500 ms' or '1 min'")
    if unit and unit not in _NANOS:
        raise ValueError(f"unknown time unit {unit!r}; known are ns, us, ms, s, min, h, d")
    return Duration(number * _NANOS[unit or "ms"])


def parse_memory(text: Any) -> int:
    """A number of bytes; a bare number is bytes already.

    >>> parse_memory("64 mb"), parse_memory("1k")
    (67108864, 1024)
    """
    number, unit = _split(text, "a memory size such as '64 mb' or '1 gb'")
    if unit and unit not in _BYTES:
        raise ValueError(f"unknown memory unit {unit!r}; known are b, kb, mb, gb, tb")
    return number * _BYTES[unit or "b"]


def _split(text: Any, expected: str) -> tuple[int, str]:
    match = _NUMBER_UNIT.fullmatch(str(text))
    if match is None:
        raise ValueError(f"expected {expected}")
    return int(match.group(1)), match.group(2).lower()


def parse_boolean(text: Any) -> bool:
    """`true` or `false`, in any case."""
    word = str(text).strip().lower()
    if word not in ("true", "false"):
        raise ValueError("expected true or false")
    return word == "true"


def parse_integer(text: Any) -> int:
    """A whole number."""
    try:
        return int(str(text).strip())
    except ValueError:
        raise ValueError("expected a whole number") from None


def parse_float(text: Any) -> float:
    """A floating point number."""
    try:
        return float(str(text).strip())
    except ValueError:
        raise ValueError("expected a number") from None


def parse_list(text: Any) -> list[str]:
    """Items between semicolons, or a YAML list in brackets; items may be quoted.

    >>> parse_list("a;'b;c'"), parse_list("[a, 'b']")
    (['a', 'b;c'], ['a', 'b'])
    """
    if isinstance(text, (list, tuple)):
        return [str(item) for item in text]
    text = str(text).strip()
    if text.startswith("[") and text.endswith("]"):
        items = _split_outside_quotes(text[1:-1], ",")
    elif text.startswith("- "):
        items = [line.strip()[2:] for line in text.splitlines()]
    else:
        items = _split_outside_quotes(text, ";")
    return [_unquote(item) for item in items if item.strip()]


def parse_map(text: Any) -> dict[str, str]:
    """Pairs such as 'k1:v1,k2:v2', or a YAML map in braces; keys and values may be quoted.

    >>> parse_map("a:1,b:'x,y'"), parse_map("{a: 1}")
    ({'a': '1', 'b': 'x,y'}, {'a': '1'})
    """
    if isinstance(text, Mapping):
        return {str(key): str(value) for key, value in text.items()}
    text = str(text).strip()
    inner = text[1:-1] if text.startswith("{") and text.endswith("}") else text
    pairs = [_split_outside_quotes(pair, ":") for pair in _split_outside_quotes(inner, ",") if pair.strip()]
    if any(len(pair) < 2 for pair in pairs):
        raise ValueError("expected pairs such as 'k1:v1,k2:v2'")
    return {_unquote(pair[0]): _unquote(":".join(pair[1:])) for pair in pairs}


def _split_outside_quotes(text: str, separator: str) -> list[str]:
    parts, start, quote = [], 0, ""
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == separator:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]


def _unquote(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1].replace(text[0] * 2, text[0])
    return text


def _quote(text: str) -> str:
    """Quotes, doubled inside, where a separator or a quote would be misread."""
    if text != text.strip() or not text or any(character in text for character in ":;,'\"{}[]"):
        return "'" + text.replace("'", "''") + "'"
    return text


def to_text(value: Any) -> str:
    """A value as it stands in a configuration: what the parsers above read back."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Duration):
        nanos = value.to_nanos()
        return f"{nanos} ns" if nanos % 1_000_000 else f"{nanos // 1_000_000} ms"
    if isinstance(value, Time):
        return f"{value.to_milliseconds()} ms"
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, Mapping):
        return ",".join(f"{_quote(str(key))}:{_quote(to_text(item))}" for key, item in value.items())
    if isinstance(value, (list, tuple, set, frozenset)):
        return ";".join(_quote(to_text(item)) for item in value)
    return str(value)


PARSERS: dict[str, Callable[[Any], Any]] = {
    "String": str,
    "Boolean": parse_boolean,
    "Integer": parse_integer,
    "Long": parse_integer,
    "Float": parse_float,
    "Double": parse_float,
    "Duration": parse_duration,
    "MemorySize": parse_memory,
    "List<String>": parse_list,
    "Map": parse_map,
}


def parse_value(key: str, text: Any, kind: str, values: tuple[str, ...] = ()) -> Any:
    """Read the value of option `key`; an enum gives the spelling that `values` has for it."""
    try:
        if kind == "Enum":
            return _one_of(text, values)
        if kind == "List<Enum>":
            return [_one_of(item, values) for item in parse_list(text)]
        return PARSERS[kind](text)
    except ValueError as error:
        raise ValidationError(
            f"cannot read {str(text)!r} as {kind}: {error}", where=f"configuration key '{key}'"
        ) from None


def _one_of(text: Any, values: tuple[str, ...]) -> str:
    wanted = to_text(text).strip().upper().replace("-", "_")
    for value in values:
        if value.upper().replace("-", "_") == wanted:
            return value
    raise ValueError(f"expected one of {', '.join(values)}")
