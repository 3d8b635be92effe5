"""What could come next: keywords, functions, options, and the catalogs, tables and columns of the session.

`suggest` looks at the text before the cursor and asks `Names`; it knows nothing of the prompt, which
`repl.py` attaches. What fits the place comes first: columns and functions where an expression stands, tables behind
FROM, clauses behind an expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from penstock.cli.sql.keywords import COMMANDS, KEYWORDS
from penstock.cli.sql.script import split_script
from penstock.common.errors import PenstockError
from penstock.common.options import known_keys
from penstock.sql.dialect.reserved import RESERVED

__all__ = ["Names", "Suggestion", "suggest"]

_NAME = r"(?:`[^`]+`|\w+)"
_WORD = re.compile(rf"((?:{_NAME}\.)*)(`?\w*)$")
_OPTION = re.compile(r"\b(?:RE)?SET\s+'([\w.-]*)$", re.I)
_SOURCES = re.compile(
    rf"(?:\b(?:FROM|JOIN|INTO|TABLE|UPDATE)|,)\s+(?!FROM\b)((?:{_NAME}\.)*{_NAME})(?:\s+(?:AS\s+)?(\w+))?",
    re.I,
)
_AFTER_TABLE_WORD = re.compile(
    r"\b(?:FROM|JOIN|INTO|OVERWRITE|TABLE|VIEW|DESCRIBE|DESC|UPDATE)\s+$|\bFROM\s+[\w`.\s,]*,\s*$", re.I
)
_BEFORE_VALUE = re.compile(
    r"(?:\b(?:SELECT|DISTINCT|WHERE|ON|AND|OR|NOT|HAVING|BY|WHEN|THEN|ELSE|CASE|IN|BETWEEN|LIKE|VALUES)\s"
    r"|[(,=<>+\-*/|%])\s*$",
    re.I,
)
_STAR = re.compile(r"(?:\bSELECT|,|\.)\s*\*\s*$", re.I)
_STATEMENTS = (
    "SELECT INSERT CREATE DROP ALTER WITH VALUES SHOW DESCRIBE EXPLAIN USE SET RESET EXECUTE BEGIN END STOP"
)
_IN_VALUES = "CASE CAST DISTINCT NOT NULL TRUE FALSE INTERVAL EXISTS ARRAY MAP ROW DATE TIME TIMESTAMP SELECT"
_CLAUSES = (
    "FROM WHERE GROUP BY ORDER LIMIT AS AND OR JOIN ON LEFT INNER HAVING UNION IS NOT NULL IN BETWEEN LIKE OVER "
    "PARTITION WINDOW WITH VALUES INTO THEN ELSE END ASC DESC"
)
_CLIENT_OPTIONS = (
    "sql-client.display.color-schema",
    "sql-client.display.max-column-width",
    "sql-client.display.print-time-cost",
    "sql-client.display.show-line-numbers",
    "sql-client.display.show-types",
    "sql-client.execution.max-table-result.rows",
    "sql-client.execution.result-mode",
    "sql-client.verbose",
)


@dataclass(frozen=True)
class Suggestion:
    """A text that replaces the last `replaces` characters before the cursor; `kind` tells what it is."""

    text: str
    replaces: int
    kind: str


class Names:
    """The names of an environment, each looked up once; make a new one after a statement has run."""

    def __init__(self, environment: Any) -> None:
        self._environment = environment
        self._columns: dict[str, list[str]] = {}

    @cached_property
    def catalogs(self) -> list[str]:
        return list(self._environment.list_catalogs())

    @cached_property
    def databases(self) -> list[str]:
        return list(self._environment.list_databases())

    @cached_property
    def tables(self) -> list[str]:
        return list(self._environment.list_tables())

    @cached_property
    def functions(self) -> list[str]:
        return [name.upper() for name in self._environment.list_functions() if name.isidentifier()]

    @cached_property
    def options(self) -> list[str]:
        return sorted({*known_keys(), *_CLIENT_OPTIONS, *self._environment.get_config().to_map()})

    def columns(self, path: str) -> list[str]:
        """The columns of a table; none where there is no such table."""
        if path not in self._columns:
            self._columns[path] = self._first_column(f"DESCRIBE {path}")
        return self._columns[path]

    def inside(self, path: str) -> list[tuple[str, str]]:
        """(name, kind) of what a catalog or a database holds."""
        tables = [(name, "table") for name in self._first_column(f"SHOW TABLES FROM {path}")]
        if "." in path:
            return tables
        return tables + [(name, "database") for name in self._first_column(f"SHOW DATABASES FROM {path}")]

    def _first_column(self, statement: str) -> list[str]:
        try:
            with self._environment.execute_sql(statement).collect() as rows:
                return [str(row[0]) for row in rows]
        except PenstockError:
            return []


def suggest(before: str, names: Names, whole: str | None = None) -> list[Suggestion]:
    """What could stand at the cursor.

    Args:
        before: The text up to the cursor.
        whole: The text on both sides of it: `SELECT | FROM t` completes the columns of t.
    """
    statement = _current_statement(before)
    option = _OPTION.search(statement)
    if option:
        return _matching(option.group(1), [(key, "option") for key in names.options])
    if _in_quotes(statement):
        return []
    match = _WORD.search(statement)
    path, prefix = (match.group(1).rstrip("."), match.group(2)) if match else ("", "")
    sources = _sources(before if whole is None else whole)
    if path:
        return _matching(prefix, _members(path, sources, names))
    ahead = statement[: len(statement) - len(prefix)]
    if not ahead.strip() and not prefix:
        return []
    return _matching(prefix, _candidates(ahead, sources, names))


def _candidates(ahead: str, sources: dict[str, str], names: Names) -> list[tuple[str, str]]:
    if re.search(r"\bUSE\s+CATALOG\s+$", ahead, re.I):
        return [(name, "catalog") for name in names.catalogs]
    if re.search(r"\bUSE\s+$", ahead, re.I):
        return [("CATALOG", "keyword"), *((name, "database") for name in names.databases)]
    places = [(name, "database") for name in names.databases] + [(name, "catalog") for name in names.catalogs]
    tables = [(name, "table") for name in names.tables]
    if _AFTER_TABLE_WORD.search(ahead):
        return [*tables, *places]
    found: list[tuple[str, str]] = []
    for alias, path in sources.items():
        found += [(column, "column") for column in names.columns(path)]
        if alias != path:
            found.append((alias, "alias"))
    functions = [(name, "function") for name in names.functions]
    words = sorted(KEYWORDS)
    if not ahead.strip():
        return [
            *((word, "command") for word in COMMANDS),
            *_keywords(_STATEMENTS, words),
            *tables,
            *functions,
        ]
    if _wants_value(ahead):
        return [*found, *functions, *_keywords(_IN_VALUES, words), *tables]
    return [*_keywords(_CLAUSES, words), *found, *tables, *functions]


def _wants_value(ahead: str) -> bool:
    """Whether an expression must follow, and not a clause: `SELECT a, |` but not `SELECT a |`.

    >>> [_wants_value(text) for text in ("SELECT ", "SELECT a ", "SELECT * ", "SELECT a * ", "WHERE a = ")]
    [True, False, False, True, True]
    """
    return bool(_BEFORE_VALUE.search(ahead)) and not _STAR.search(ahead)


def _keywords(first: str, words: list[str]) -> list[tuple[str, str]]:
    """Keywords, those first that the place asks for."""
    chosen = first.split()
    return [(word, "keyword") for word in [*chosen, *(word for word in words if word not in chosen)]]


def _members(path: str, sources: dict[str, str], names: Names) -> list[tuple[str, str]]:
    """What may follow `path.`: the columns of a table or of its alias, else what a catalog or database holds."""
    columns = names.columns(sources.get(path, path))
    return [(name, "column") for name in columns] or names.inside(path)


def _sources(text: str) -> dict[str, str]:
    """Tables that the statement reads, by alias."""
    found = {}
    pieces = split_script(text)
    for path, alias in _SOURCES.findall(pieces[-1].text if pieces else ""):
        if path.upper() in KEYWORDS:
            continue
        found[alias if alias and alias.upper() not in KEYWORDS else path] = path
    return found


def _current_statement(text: str) -> str:
    """What was written since the last semicolon."""
    pieces = split_script(text)
    return text[pieces[-1].start :] if pieces and not pieces[-1].closed else ""


def _in_quotes(statement: str) -> bool:
    pieces = split_script(statement)
    if not pieces or pieces[-1].open_quote is None:
        return False
    return pieces[-1].text[pieces[-1].open_quote] != "`"


def _matching(prefix: str, candidates: Iterable[tuple[str, str]]) -> list[Suggestion]:
    wanted = prefix.lstrip("`").lower()
    found: dict[str, Suggestion] = {}
    for text, kind in candidates:
        if text.lower().startswith(wanted):
            shown = _as_written(text, kind, prefix)
            found.setdefault(shown, Suggestion(shown, len(prefix), kind))
    return list(found.values())


def _as_written(text: str, kind: str, prefix: str) -> str:
    """Names get backquotes where they need them; keywords and functions the case the user types in."""
    if kind in ("keyword", "function", "command"):
        return text.lower() if prefix.islower() else text
    if kind == "option":
        return text
    plain = re.fullmatch(r"[A-Za-z_]\w*", text) and text.upper() not in RESERVED
    return text if plain and not prefix.startswith("`") else f"`{text}`"
