"""Java's date patterns as pieces of Spark SQL over the text of a timestamp, `yyyy-MM-dd HH:mm:ss.SSSSSSSSS`."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.common import java_time
from penstock.sql.functions.text import string

__all__ = ["text_pieces"]

_FIELDS = {
    "y": (1, 4),
    "u": (1, 4),
    "M": (6, 2),
    "L": (6, 2),
    "d": (9, 2),
    "H": (12, 2),
    "m": (15, 2),
    "s": (18, 2),
}
"""Where (from 1) and how long the digits of a letter are."""

_HOUR = "CAST(substring({0}, 12, 2) AS INT)"
_MONTH = "CAST(substring({0}, 6, 2) AS INT)"
_DATE = "CAST(substring({0}, 1, 10) AS DATE)"
_NUMBERS = {
    "h": f"(({_HOUR} + 11) % 12 + 1)",
    "K": f"({_HOUR} % 12)",
    "k": f"(({_HOUR} + 23) % 24 + 1)",
    "Q": f"(({_MONTH} + 2) div 3)",
    "q": f"(({_MONTH} + 2) div 3)",
}


def text_pieces(pattern: str) -> list[str] | None:
    """The pieces, to be formatted with the text's expression; None if the pattern has letters of another kind.

    >>> text_pieces("d.MM")
    ['CAST(CAST(substring({0}, 9, 2) AS INT) AS STRING)', "'.'", 'substring({0}, 6, 2)']
    """
    pieces = [_piece(token) for token in java_time.tokens(pattern)]
    known = [piece for piece in pieces if piece is not None]
    return known if len(known) == len(pieces) else None


def _piece(token: java_time.Token) -> str | None:
    letter, count = token.letter, token.count
    if not letter:
        return string(token.text).replace("{", "{{").replace("}", "}}")
    if letter == "S":
        return f"substring({{0}}, 21, {count})" if count <= 9 else None
    if letter in "ML" and count > 2:
        return _name(java_time.MONTHS, count, _MONTH)
    if letter == "E":
        return _name([java_time.DAYS[-1], *java_time.DAYS[:-1]], max(count, 3), f"dayofweek({_DATE})")
    if letter == "a":
        return f"if({_HOUR} < 12, 'AM', 'PM')" if count == 1 else None
    if letter == "D":
        return _padded(f"dayofyear({_DATE})", count) if count in (1, 3) else None
    if letter in _NUMBERS:
        return _padded(_NUMBERS[letter], count) if count <= 2 else None
    return _digits(letter, count) if letter in _FIELDS else None


def _digits(letter: str, count: int) -> str | None:
    start, length = _FIELDS[letter]
    if count == 1:
        return f"CAST(CAST(substring({{0}}, {start}, {length}) AS INT) AS STRING)"
    if count == 2 and length == 4:
        return "substring({0}, 3, 2)"
    return f"substring({{0}}, {start}, {length})" if count == length else None


def _padded(number: str, count: int) -> str:
    text = f"CAST({number} AS STRING)"
    return text if count == 1 else f"lpad({text}, {count}, '0')"


def _name(names: Sequence[str], count: int, place: str) -> str | None:
    lengths = {3: 3, 4: None, 5: 1}
    if count not in lengths:
        return None
    return f"elt({place}, {', '.join(string(name[: lengths[count]]) for name in names)})"
