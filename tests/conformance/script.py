"""Reads a case's SQL script: its header comments and its statements."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""(?P<quoted>'[^']*'|`[^`]*`|"[^"]*")   # a quote doubled inside is two quoted texts in a row
      |(?P<comment>--[^\n]*|/\*(?!\+).*?\*/)  # /*+ is a hint and stays
      |(?P<end>;)
      |(?P<other>.)""",
    re.S | re.X,
)


def statements(script: str) -> list[str]:
    """The statements of a script, without comments; a `BEGIN … END` block is one statement."""
    found: list[str] = []
    current = ""
    for match in _TOKEN.finditer(script):
        if match.lastgroup == "comment":
            continue
        if match.lastgroup == "end" and not _inside_block(current):
            found.append(current.strip())
            current = ""
        else:
            current += match.group()
    found.append(current.strip())
    return [statement for statement in found if statement]


def _inside_block(text: str) -> bool:
    begins = re.findall(r"\bBEGIN\b", text, re.I)
    return bool(begins) and re.search(r"\bEND\b", text[text.upper().rfind("BEGIN") :], re.I) is None


def settings(script: str) -> dict[str, str]:
    """The configuration keys of the `-- @set key=value` lines."""
    return {
        key: value.strip() for key, value in re.findall(r"^--\s*@set\s+([^=\s]+)\s*=\s*(.*)$", script, re.M)
    }


def writes(statement: str) -> bool:
    """Whether to wait for the statement's job before the next one runs."""
    return re.match(r"(INSERT|EXECUTE|BEGIN|WITH|UPDATE|DELETE)\b", statement, re.I) is not None
