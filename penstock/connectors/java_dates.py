"""Java's patterns for dates and times, in the letters of Python's strftime."""

from __future__ import annotations

import re

from penstock.common.errors import NotSupportedError

__all__ = ["to_strftime"]

_LETTERS = {
    "yyyy": "%Y", "uuuu": "%Y", "yy": "%y", "MM": "%m", "dd": "%d", "HH": "%H", "hh": "%I",
    "mm": "%M", "ss": "%S", "a": "%p", "DDD": "%j",
}  # fmt: skip
_TOKENS = re.compile(r"'([^']*)'|(([A-Za-z])\3*)|[^A-Za-z']+")


def to_strftime(pattern: str) -> str:
    """The pattern in strftime's letters.

    >>> to_strftime("yyyy-MM-dd--HH'h'"), to_strftime("yyyyMMdd")
    ('%Y-%m-%d--%Hh', '%Y%m%d')
    """

    def translate(match: re.Match[str]) -> str:
        quoted, letters = match[1], match[2]
        if letters is None:
            return (match[0] if quoted is None else quoted or "'").replace("%", "%%")
        if letters not in _LETTERS:
            raise NotSupportedError(
                f"'{letters}' in the date pattern '{pattern}'", f"only {', '.join(_LETTERS)} are translated"
            )
        return _LETTERS[letters]

    return _TOKENS.sub(translate, pattern)
