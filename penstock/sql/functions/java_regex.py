"""Java regular expressions for Python's `re`: the few spellings that differ."""

from __future__ import annotations

import re
from functools import lru_cache

_CLASSES = {
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Upper": "A-Z",
    "Lower": "a-z",
    "Punct": "!-/:-@\\[-`{-~",
    "Space": "\\s",
    "XDigit": "0-9a-fA-F",
}


def _quoted(found: re.Match[str]) -> str:
    return re.escape(found[1])


def _posix(found: re.Match[str]) -> str:
    name = found[2]
    if name in ("L", "IsAlphabetic", "IsL"):
        return "[^\\W\\d_]" if found[1] == "p" else "[\\W\\d_]"
    if name in ("N", "Nd", "IsDigit"):
        return "\\d" if found[1] == "p" else "\\D"
    chars = _CLASSES.get(name)
    if chars is None:
        raise re.error(f"no class {name}")
    return f"[{'^' if found[1] == 'P' else ''}{chars}]"


@lru_cache(maxsize=512)
def java_pattern(pattern: str) -> re.Pattern[str] | None:
    """The compiled pattern, None if it is none. In Java \\w, \\d, \\s and \\b know only ASCII."""
    text = re.sub(r"\\Q(.*?)(?:\\E|$)", _quoted, pattern, flags=re.DOTALL)
    text = re.sub(r"\(\?<(?![=!])", "(?P<", text)
    text = text.replace("\\z", "\\Z").replace("\\h", "[ \\t]")
    try:
        text = re.sub(r"\\([pP])\{(\w+)\}", _posix, text)
        return re.compile(text, re.ASCII)
    except (re.error, OverflowError, RecursionError):
        return None
