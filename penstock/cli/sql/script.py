"""Cuts a script into statements and remembers where each one stood.

A semicolon ends a statement, except inside quotes and comments and between `STATEMENT SET BEGIN` and its
`END`. (`BEGIN STATEMENT SET;` is a statement of its own, as are the INSERTs after it and the `END;`.) The text
of a statement is left as it was written, comments included, so that a place the parser names can be found
in the script.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Piece", "is_complete", "split_script"]

_TOKEN = re.compile(
    r"""(?P<skip>\s+|--[^\n]*|/\*(?!\+).*?\*/)
      |(?P<quoted>'(?:[^']|'')*'|`(?:[^`]|``)*`|"[^"]*")
      |(?P<unclosed>/\*(?!\+)|['`"])
      |(?P<word>\w+)
      |(?P<end>;)
      |(?P<other>.)""",
    re.S | re.X,
)


@dataclass(frozen=True)
class Piece:
    """One statement. `line` and `column` count from 1 and tell where its text begins in the script."""

    text: str
    number: int = 1
    line: int = 1
    column: int = 1
    start: int = 0
    """Where its text begins, in characters."""
    closed: bool = True
    """Whether a semicolon ended it."""
    open_quote: int | None = None
    """Where in `text` a quote or comment begins that nothing ends."""


def split_script(script: str) -> list[Piece]:
    """The statements of a script, in order; the last one may lack its semicolon.

    >>> [piece.text for piece in split_script("SET 'a' = ';'; -- no; more" + chr(10) + "SELECT 1")]
    ["SET 'a' = ';'", 'SELECT 1']
    """
    pieces = []
    for number, (start, end, closed, unclosed) in enumerate(_spans(script), start=1):
        line = script.count("\n", 0, start) + 1
        column = start - script.rfind("\n", 0, start)
        quote = None if unclosed is None else unclosed - start
        pieces.append(Piece(script[start:end].rstrip(), number, line, column, start, closed, quote))
    return pieces


def is_complete(text: str) -> bool:
    """Whether everything typed so far is ended by a semicolon, so that it can run."""
    pieces = split_script(text)
    return bool(pieces) and pieces[-1].closed


def _spans(script: str) -> Iterator[tuple[int, int, bool, int | None]]:
    """(start, end, closed, unclosed quote) of every statement."""
    start: int | None = None
    words: list[str] = []  # since the statement or, inside a set, the last semicolon began
    in_set = False
    for token in _TOKEN.finditer(script):
        kind = token.lastgroup
        if kind == "skip":
            continue
        if kind == "end":
            in_set = in_set and words[:1] != ["END"]
            words = []
            if start is not None and not in_set:
                yield start, token.start(), True, None
                start = None
            continue
        if start is None:
            start = token.start()
        if kind == "unclosed":
            yield start, len(script), False, token.start()
            return
        words.append(token.group().upper() if kind == "word" else "")
        if words[-3:] == ["STATEMENT", "SET", "BEGIN"]:
            in_set, words = True, []
    if start is not None:
        yield start, len(script), False, None
