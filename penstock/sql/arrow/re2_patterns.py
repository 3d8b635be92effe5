"""Regular expressions for Arrow's kernels, which are RE2's.

RE2 prefers the same match as a backtracking matcher does, and knows everything that `java_patterns.py` translates but
the look-ahead in the translation of `$`. It is asked for a whole column at once. Three things are spelled
differently: the end of the text, characters by their number, and \\s, which lacks the vertical tab there.
"""

from __future__ import annotations

import re
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["re2_pattern"]

_SPACE = "\\s\\x0B"
_TOKEN = re.compile(
    r"\\u(?P<number>[0-9a-fA-F]{4})|\\x(?P<byte>[0-9a-fA-F]{2})|\\(?P<escaped>.)|(?P<plain>.)", re.S
)


@lru_cache(maxsize=512)
def re2_pattern(pattern: re.Pattern[str]) -> str | None:
    """A translated pattern (`python_pattern`) in RE2's spelling; None if it has none.

    >>> re2_pattern(re.compile("([^\\\\&]*)x\\\\Z", re.ASCII)), re2_pattern(re.compile("a(?=b)", re.ASCII))
    ('([^\\\\&]*)x\\\\z', None)
    """
    text = pattern.pattern
    if pattern.flags & re.IGNORECASE or "(?=" in text or "(?<" in text or "\0" in text:
        return None
    written = _written(text)
    if written is None:
        return None
    try:
        pc.match_substring_regex(pa.array([""]), written)
    except pa.ArrowInvalid:  # more repetitions than RE2 allows
        return None
    return written


def _written(text: str) -> str | None:
    out, in_class = [], False
    for token in _TOKEN.finditer(text):
        escaped = token["escaped"]
        if token["number"] or token["byte"]:
            out.append(f"\\x{{{token['number'] or token['byte']}}}")
        elif escaped == "Z":
            out.append("\\z")
        elif escaped == "s":
            out.append(_SPACE if in_class else f"[{_SPACE}]")
        elif escaped == "S":
            if in_class:
                return None
            out.append(f"[^{_SPACE}]")
        else:
            out.append(token[0])
            in_class = token[0] == "[" or (in_class and token[0] != "]")
    return "".join(out)
