"""Writes the tables of options in the pages of connectors: names, types and defaults come from the code.

A table stands between two comments. What an option means is said in the page, in the last column, and stays as it is:

    <!-- options: filesystem: path, format, source.* -->     a connector, and which of its options; all without a list
    <!-- end of options -->

A row whose name ends with `.*` speaks of options that only a prefix makes known, and stays too.

    python docs/option_tables.py        writes the pages; a test compares them with what it would write
"""

from __future__ import annotations

import fnmatch
import inspect
import pathlib
import re
from collections.abc import Iterator
from typing import Any

from penstock.connectors.registry import CONNECTORS
from penstock.formats.base import Option

DOCS = pathlib.Path(__file__).parent
_TABLE = re.compile(r"(<!-- options: ([\w-]+)(?:: ([^>]*?))? -->\n)(.*?)(<!-- end of options -->)", re.DOTALL)
_CELLS = re.compile(r"(?<!\\)\|")
_KINDS = {
    "int": "Integer", "_at_least_one": "Integer", "at_least.<locals>.parse": "Integer", "_tasks": "Integer",
    "boolean": "Boolean", "millis": "Duration", "_millis": "Duration", "parse_duration": "Duration",
    "_seconds": "Duration", "size_bytes": "MemorySize", "parse_memory": "MemorySize", "_list": "List",
    "_hosts": "List",
}  # fmt: skip
_SECONDS = frozenset({"_seconds"})
_MORE_TIME = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"))


def pages() -> list[pathlib.Path]:
    """Those that have such a table."""
    found = [*sorted((DOCS / "connectors").glob("*.md")), DOCS / "connectors_sql.md"]
    return [path for path in found if _TABLE.search(path.read_text())]


def rewritten(text: str) -> str:
    """A page with its tables as the code has them."""
    return _TABLE.sub(lambda m: m[1] + _table(m[2], m[3], _known(m[4])) + m[5], text)


def documented() -> dict[str, set[str]]:
    """Which options of which connector are in a table."""
    found: dict[str, set[str]] = {}
    for path in pages():
        for match in _TABLE.finditer(path.read_text()):
            names = {option.name for option in _chosen(match[2], match[3])}
            found.setdefault(match[2], set()).update(names)
    return found


def _chosen(connector: str, patterns: str | None) -> Iterator[Option]:
    wanted = [pattern.strip() for pattern in patterns.split(",")] if patterns else ["*"]
    for option in CONNECTORS[connector].options:
        if any(fnmatch.fnmatchcase(option.name, pattern) for pattern in wanted):
            yield option


def _table(connector: str, patterns: str | None, known: dict[str, tuple[str, str]]) -> str:
    lines = ["| option | type | default | meaning |", "| --- | --- | --- | --- |"]
    for option in _chosen(connector, patterns):
        said, meaning = known.pop(option.name, ("", ""))
        default = "required" if option.required else _default(option) or said
        lines.append(_row(option.name, _type(option), default, meaning))
    for name, (said, meaning) in known.items():
        if name.endswith(".*"):
            lines.append(_row(name, "String", said, meaning))
    return "\n".join(lines) + "\n"


def _row(name: str, *cells: str) -> str:
    return f"| `{name}` " + "".join(f"| {cell} " if cell else "| " for cell in cells) + "|"


def _known(table: str) -> dict[str, tuple[str, str]]:
    """What the page says of each option: of its default, and what it means."""
    found = {}
    for line in table.splitlines():
        cells = [cell.strip() for cell in _CELLS.split(line)[1:-1]]
        if not line.startswith("| `") or len(cells) < 2:
            continue
        for name in _names(cells[0]):
            found[name] = (cells[-2] if len(cells) > 2 else "", cells[-1])
    return found


def _names(cell: str) -> list[str]:
    """All names in a cell; `.b` after `x.a` is `x.b`."""
    names: list[str] = []
    for name in re.findall(r"`([^`]+)`", cell):
        names.append(names[0].rpartition(".")[0] + name if name.startswith(".") and names else name)
    return names


def _type(option: Option) -> str:
    parse = option.parse
    if getattr(parse, "__qualname__", "") == "one_of.<locals>.parse":
        allowed = inspect.getclosurevars(parse).nonlocals["allowed"]
        return ", ".join(f"`{value}`" for value in allowed)
    return _KINDS.get(getattr(parse, "__qualname__", ""), "String")


def _default(option: Option) -> str:
    value, kind = option.default, _type(option)
    if value is None or value == ():
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if kind == "Duration":
        return _duration(value, getattr(option.parse, "__qualname__", "") in _SECONDS)
    if kind == "MemorySize":
        return f"{value >> 20} mb" if value and not value % (1 << 20) else f"{value} b"
    if value == "":
        return "empty"
    return str(value) if isinstance(value, int) else f"`{value}`"


def _duration(value: Any, in_seconds: bool) -> str:
    millis = value * 1000 if in_seconds else value if isinstance(value, int) else value.to_millis()
    for unit, name in _MORE_TIME:
        if millis and not millis % unit:
            return f"{millis // unit} {name}"
    return f"{millis} ms"


if __name__ == "__main__":
    for page in pages():
        page.write_text(rewritten(page.read_text()))
