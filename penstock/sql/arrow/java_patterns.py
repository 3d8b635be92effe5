"""Java's regular expressions that mean the same to Python, once a few signs are written in another way.

Taken are characters, `.`, `^`, `$`, classes of characters and ranges, \\d \\w \\s, groups, `|` and the greedy
and reluctant repetitions: what both engines do by the same backtracking. Everything else has no translation:
look-around, back references, flags inside, possessive repetitions, \\b (which depends on Java's version),
classes inside classes, and repetitions of what may be empty.
"""

from __future__ import annotations

import re
from functools import lru_cache

_BREAK = "\\n\\r\\x85\\u2028\\u2029"
_DOT = f"[^{_BREAK}]"
_DOLLAR = "(?:(?=\\r\\n\\Z)|(?=(?<!\\r)\\n\\Z)|(?=[\\r\\x85\\u2028\\u2029]\\Z)|(?=\\Z))"
_ESCAPES = "dDwWsS"
_CONTROLS = "tnrf"
_REPEAT = re.compile(r"(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\})(\+|\?)?", re.ASCII)
_ANYTHING = "(?s:.*)"


class _NoTranslation(Exception):
    pass


@lru_cache(maxsize=512)
def python_pattern(pattern: str, may_be_empty: bool = True) -> re.Pattern[str] | None:
    """The pattern for Python, None if there is none that surely means the same.

    Args:
        may_be_empty: Whether the pattern may match nothing. Where all matches of a text are asked for it must not:
            Java finds empty ones inside of characters that have two halves in UTF-16.

    >>> python_pattern("(&|^)channel_id=([^&]*)").pattern
    '(\\\\&|\\\\A)channel_id=([^\\\\&]*)'
    >>> python_pattern("(?<year>\\\\d+)") is None
    True
    """
    flags, body = re.ASCII, pattern
    if pattern.startswith("(?i)"):
        flags, body = re.ASCII | re.IGNORECASE, pattern[4:]
        if not body.isascii() or "[^" in body:
            return None
    try:
        text, nullable = _Parser(body).whole()
    except (_NoTranslation, IndexError):
        return None
    if nullable and not may_be_empty:
        return None
    try:
        return re.compile(text, flags)
    except (re.error, OverflowError, RecursionError):
        return None


class _Parser:
    """Reads a Java pattern and writes a Python one; each method also says whether its part may match nothing."""

    def __init__(self, pattern: str) -> None:
        self._pattern, self._at = pattern, 0

    def whole(self) -> tuple[str, bool]:
        found = self._alternatives()
        if self._at < len(self._pattern):
            raise _NoTranslation(")")
        return found

    def _alternatives(self) -> tuple[str, bool]:
        texts, nullable = [], False
        while True:
            text, empty = self._sequence()
            texts.append(text)
            nullable = nullable or empty
            if not self._skip("|"):
                return "|".join(texts), nullable

    def _sequence(self) -> tuple[str, bool]:
        text, nullable = "", True
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            atom, empty = self._repeated()
            text += atom
            nullable = nullable and empty
        return text, nullable

    def _repeated(self) -> tuple[str, bool]:
        atom, nullable = self._atom()
        found = _REPEAT.match(self._pattern, self._at)
        if not found:
            return atom, nullable
        if nullable or found[1] == "+":
            raise _NoTranslation("a repetition of what may be empty, or a possessive one")
        self._at = found.end()
        optional = found[0][0] in "*?" or found[0].startswith(("{0", "{00"))
        return atom + found[0], optional

    def _atom(self) -> tuple[str, bool]:
        if self._skip(_ANYTHING):
            return _ANYTHING, True
        c = self._next()
        if c == ".":
            return _DOT, False
        if c == "^":
            return "\\A", True
        if c == "$":
            return _DOLLAR, True
        if c == "(":
            return self._group()
        if c == "[":
            return self._class(), False
        if c == "\\":
            return self._escape()
        if c in "*+?{":
            raise _NoTranslation(c)
        return re.escape(c), False

    def _group(self) -> tuple[str, bool]:
        opening = "(?:" if self._skip("?:") else "("
        if self._pattern.startswith("?", self._at):
            raise _NoTranslation("(?")
        text, nullable = self._alternatives()
        if not self._skip(")"):
            raise _NoTranslation("(")
        return f"{opening}{text})", nullable

    def _escape(self) -> tuple[str, bool]:
        c = self._next()
        if c in ("A", "z"):
            return {"A": "\\A", "z": "\\Z"}[c], True
        if c in _ESCAPES or c in _CONTROLS:
            return "\\" + c, False
        if c.isalnum() or not c.isascii():
            raise _NoTranslation("\\" + c)
        return re.escape(c), False

    def _class(self) -> str:
        negation = "^" if self._skip("^") else ""
        text = ""
        while not self._skip("]"):
            text += self._member()
        if not text:
            raise _NoTranslation("[]")
        return f"[{negation}{text}]"

    def _member(self) -> str:
        low, is_set = self._class_character()
        following = self._pattern[self._at : self._at + 2]
        if not following.startswith("-") or following == "-]":
            return low
        self._at += 1
        high, is_other_set = self._class_character()
        if is_set or is_other_set or not (low + high).isascii():
            raise _NoTranslation("a range")
        return f"{low}-{high}"

    def _class_character(self) -> tuple[str, bool]:
        """One character, or a set such as \\d."""
        c = self._next()
        if c in "[]" or self._pattern.startswith("&&", self._at - 1):
            raise _NoTranslation(c)
        if c != "\\":
            return re.escape(c), False
        c = self._next()
        if c in _ESCAPES:
            return "\\" + c, True
        if c in _CONTROLS:
            return "\\" + c, False
        if c.isalnum() or not c.isascii():
            raise _NoTranslation("\\" + c)
        return re.escape(c), False

    def _next(self) -> str:
        self._at += 1
        return self._pattern[self._at - 1]

    def _skip(self, text: str) -> bool:
        found = self._pattern.startswith(text, self._at)
        self._at += len(text) if found else 0
        return found
