"""Where in a statement an expression stands that failed while rows were computed.

An error of a running query says what failed (`/ by zero`, `cannot cast 'two' to INT`), not where the expression came
from: by then it has been planned, merged with others and perhaps given to Spark. But only certain pieces of the
statement can fail like that, and most statements have one of them. So the statement is searched for them:

    one place      it is underlined
    several        the first is underlined, and the others are named, for nobody knows which it was

>>> [place.text for place in places("SELECT 1, a / b FROM t -- a / b", "/ by zero")]
['a / b']
>>> [place.text for place in places("SELECT CAST(a AS INT), CAST(b AS DATE) FROM t", "cannot cast 'x' to DATE")]
['CAST(b AS DATE)']
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import JobExecutionError, PenstockError, underlined
from penstock.sql.result import StatementResult

__all__ = ["Place", "places", "with_places"]

_TOKEN = re.compile(
    r"""(?P<skip>\s+|--[^\n]*|/\*.*?\*/)|(?P<quoted>'(?:[^']|'')*'|`(?:[^`]|``)*`)|(?P<word>[\w.]+)|(?P<sign>.)""",
    re.S | re.X,
)
_CAST = re.compile(r"cannot cast .* to (?P<type>[A-Z]\w*)", re.S)
_DO = {
    "zero": "let the divisor never be 0: NULLIF(x, 0) gives NULL there",
    "cast": "TRY_CAST gives NULL for what cannot be cast",
}


@dataclass(frozen=True)
class Place:
    """A piece of a statement; `line` and `column` count from 1."""

    text: str
    line: int
    column: int


def with_places(result: StatementResult, sql: str) -> StatementResult:
    """The result, whose failures say where in the statement they come from."""
    rows, waiter = result.rows, result.details.get("wait")

    def placed_wait(timeout_ms: int | None = None) -> None:
        try:
            waiter(timeout_ms)  # type: ignore[operator]
        except JobExecutionError as error:
            raise _placed(error, sql) from error.__cause__

    if result.is_query:
        result.rows = lambda: _PlacedRows(rows, sql)
    if callable(waiter):
        result.details["wait"] = placed_wait
    return result


class _PlacedRows(Iterator[Any]):
    """Rows as they come; a failure learns its place. The query starts at once, as without this."""

    def __init__(self, rows: Callable[[], Iterator[Any]], sql: str) -> None:
        self._sql = sql
        self._rows = self._guarded(rows)

    def __next__(self) -> Any:
        return self._guarded(lambda: next(self._rows))

    def _guarded(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except JobExecutionError as error:
            raise _placed(error, self._sql) from error.__cause__

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rows, name)


def _placed(error: JobExecutionError, sql: str) -> PenstockError:
    found = places(sql, error.what)
    if not found:
        return error
    first, *others = found
    source, marks = underlined(sql.splitlines()[first.line - 1], first.column, len(first.text))
    error.where = f"line {first.line}, column {first.column}\n    {source}\n    {marks}"
    error.do = _DO["zero" if "by zero" in error.what else "cast"]
    if others:
        listed = ", ".join(f"{p.text} in line {p.line}" for p in others)
        error.do += f"\n(or it is another one of this kind: {listed})"
    # The same fields as those of a SqlError: a client underlines the piece in its script.
    error.sql, error.line, error.column, error.length = sql, first.line, first.column, len(first.text)  # type: ignore[attr-defined]
    return error


def places(sql: str, failure: str) -> list[Place]:
    """The pieces of a statement that can have failed like this, in their order."""
    tokens = [m for m in _TOKEN.finditer(sql) if m.lastgroup != "skip"]
    if "by zero" in failure:
        return [_place(sql, *span) for span in _divisions(tokens)]
    cast = _CAST.search(failure)
    if cast is None:
        return []
    spans = [_place(sql, *span) for span in _casts(tokens)]
    return [p for p in spans if re.search(rf"\bAS\s+{cast['type']}\b[^)]*(\([^)]*\))?[^)]*\)$", p.text, re.I)]


def _divisions(tokens: list[re.Match[str]]) -> Iterator[tuple[int, int]]:
    for i, token in enumerate(tokens):
        if token.group() in ("/", "%") and 0 < i < len(tokens) - 1:
            yield _begin(tokens, i - 1), _end(tokens, i + 1)
        elif token.group().upper() == "MOD" and i + 1 < len(tokens) and tokens[i + 1].group() == "(":
            yield token.start(), _closing(tokens, i + 1)


def _casts(tokens: list[re.Match[str]]) -> Iterator[tuple[int, int]]:
    for i, token in enumerate(tokens[:-1]):
        if token.group().upper() == "CAST" and tokens[i + 1].group() == "(":
            yield token.start(), _closing(tokens, i + 1)


def _begin(tokens: list[re.Match[str]], i: int) -> int:
    """Where the operand that ends with token `i` begins: at its parenthesis, or the function before that."""
    if tokens[i].group() != ")":
        return tokens[i].start()
    depth = 0
    for j in range(i, -1, -1):
        depth += {")": 1, "(": -1}.get(tokens[j].group(), 0)
        if depth == 0:
            return tokens[j - 1].start() if j > 0 and tokens[j - 1].lastgroup == "word" else tokens[j].start()
    return tokens[i].start()


def _end(tokens: list[re.Match[str]], i: int) -> int:
    """Where the operand that begins with token `i` ends."""
    if tokens[i].group() == "(":
        return _closing(tokens, i)
    if i + 1 < len(tokens) and tokens[i].lastgroup == "word" and tokens[i + 1].group() == "(":
        return _closing(tokens, i + 1)
    return tokens[i].end()


def _closing(tokens: list[re.Match[str]], i: int) -> int:
    depth = 0
    for token in tokens[i:]:
        depth += {"(": 1, ")": -1}.get(token.group(), 0)
        if depth == 0:
            return token.end()
    return tokens[-1].end()


def _place(sql: str, start: int, end: int) -> Place:
    text = sql[start:end].split("\n")[0]
    return Place(text, sql.count("\n", 0, start) + 1, start - sql.rfind("\n", 0, start))
