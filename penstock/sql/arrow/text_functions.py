"""Text functions in Python, one value at a time, with the edge cases of their Spark texts.

Positions are INT and wrap around like one. A function that says so gets None for NULL; for the others NULL in is NULL
out, and nobody calls them.
"""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from urllib.parse import quote_plus


def wrapped(number: int) -> int:
    """An integer as INT."""
    return (number + 2**31) % 2**32 - 2**31


def piece(text: str, position: int, length: int = 2**31 - 1) -> str:
    """Spark's `substring`: position 1 and 0 are the first character, -1 is the last one."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = min(start + length, 2**31 - 1)
    return text[max(start, 0) : max(end, 0)] if end > start else ""


def substring(text: str | None, position: int | None, length: int | None = 2**31 - 1) -> str | None:
    """SUBSTRING; gets None for NULL. Before the beginning there is nothing.

    >>> substring("flink", -9, 2), substring("flink", 2, -1), substring("añ😀b", 2, 2)
    ('', None, 'ñ😀')
    """
    if length is not None and length < 0:
        return None
    if text is not None and position is not None and position < -len(text):
        return ""
    if text is None or position is None or length is None:
        return None
    return piece(text, position, length)


def left(text: str, length: int) -> str:
    return piece(text, 1, length)


def right(text: str, length: int) -> str:
    return "" if length <= 0 else piece(text, -length)


def overlay(text: str | None, other: str | None, position: int | None, length: int | None) -> str | None:
    """OVERLAY; gets None for NULL. With a length of zero the tail is dropped, too. Counts Java's units.

    >>> overlay("flink", "##", 2, 1), overlay("😀ab", "##", 3, 1), overlay("ab", "##", 3, 1)
    ('f##ink', '😀##b', 'ab')
    """
    if other is None or position is None or length is None or text is None:
        return None
    units = _units(text)
    if not 0 < position <= len(units):
        return text
    behind = wrapped(position + length)
    tail = piece(units, behind) if behind <= len(units) and length > 0 else ""
    return _signs(piece(units, 1, position - 1) + _units(other) + tail)


def overlay_whole(text: str | None, other: str | None, position: int | None) -> str | None:
    return overlay(text, other, position, None if other is None else len(_units(other)))


def _units(text: str) -> str:
    """A sign beyond the BMP as the two that Java makes of it."""
    if text.isascii():
        return text
    data = text.encode("utf-16-be", "surrogatepass")
    return "".join(chr(data[i] << 8 | data[i + 1]) for i in range(0, len(data), 2))


def _signs(units: str) -> str:
    """The text of units; half a pair is what Java's decoder makes of it."""
    return (
        units
        if units.isascii()
        else units.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "replace")
    )


def lpad(text: str, length: int, padding: str) -> str | None:
    """
    >>> lpad("hi", 5, "?!"), lpad("hi", 1, "?"), lpad("hi", 4, "")
    ('?!?hi', 'h', None)
    """
    units = _units(text)
    fill = _fill(units, length, _units(padding))
    return None if fill is None else _signs(fill + units[:length])


def rpad(text: str, length: int, padding: str) -> str | None:
    units = _units(text)
    fill = _fill(units, length, _units(padding))
    return None if fill is None else _signs(units[:length] + fill)


def _fill(text: str, length: int, padding: str) -> str | None:
    if length < 0 or not padding:
        return None
    missing = max(length - len(text), 0)
    return (padding * (missing // len(padding) + 1))[:missing]


def repeat(text: str, count: int) -> str:
    return text * max(count, 0)


def reverse(text: str) -> str:
    return text[::-1]


def position(part: str, text: str) -> int:
    """POSITION(part IN text), counted from 1."""
    return text.find(part) + 1


def instr(text: str, part: str) -> int:
    return text.find(part) + 1


def locate(part: str | None, text: str | None, start: int | None) -> int | None:
    """LOCATE with a start; gets None for NULL."""
    if part is None or text is None or start is None:
        return None
    return text.find(part, max(start, 1) - 1) + 1 if part else 1


def starts_with(text: str, part: str) -> bool:
    return text.startswith(part)


def ends_with(text: str, part: str) -> bool:
    return text.endswith(part)


def trim_both(characters: str, text: str) -> str:
    return text.strip(characters)


def trim_leading(characters: str, text: str) -> str:
    return text.lstrip(characters)


def trim_trailing(characters: str, text: str) -> str:
    return text.rstrip(characters)


def replace(text: str, part: str, other: str) -> str:
    """REPLACE of a part that is not empty."""
    return text.replace(part, other)


def translate(text: str | None, source: str | None, target: str | None) -> str | None:
    """TRANSLATE; gets None for NULL. Characters without a counterpart are dropped."""
    return None if text is None else text.translate(_table(source or "", target or ""))


@lru_cache(maxsize=256)
def _table(source: str, target: str) -> dict[int, str | None]:
    table: dict[int, str | None] = {}
    for place, character in enumerate(source):
        other = target[place] if place < len(target) else None
        table.setdefault(ord(character), None if other == "\0" else other)
    return table


def elt(index: int | None, *texts: str | None) -> str | None:
    """ELT; gets None for NULL."""
    return texts[index - 1] if index is not None and 0 < index <= len(texts) else None


def ascii_code(text: str) -> int:
    """The first byte, with its sign."""
    if not text:
        return 0
    byte = text[0].encode()[0]
    return byte - 256 if byte > 127 else byte


def character(code: int) -> str:
    """CHR: the last byte of the number in Latin-1, nothing for negative ones."""
    return "" if code < 0 else chr(code & 0xFF)


def hexadecimal(number: int) -> str:
    return format(number % 2**64, "X")


def hexadecimal_text(text: str) -> str:
    return text.encode().hex().upper()


def binary(number: int) -> str:
    return format(number % 2**64, "b")


def dotted(number: int) -> str | None:
    """INET_NTOA."""
    if not 0 <= number < 2**32:
        return None
    return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))


def digest(algorithm: str, value: str | bytes) -> str:
    data = value.encode() if isinstance(value, str) else value
    return hashlib.new(algorithm, data).hexdigest()


def to_base64(value: str | bytes) -> str:
    return base64.b64encode(value.encode() if isinstance(value, str) else value).decode()


def url_encode(text: str) -> str:
    """As java.net.URLEncoder: a blank is +, and * is left alone."""
    return quote_plus(text, safe="*").replace("~", "%7E")
