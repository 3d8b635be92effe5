"""MATCH_RECOGNIZE: its clauses, and the pattern, which has a small language of its own.

    PATTERN (A B+? C{2,4} D*) WITHIN INTERVAL '1' HOUR

What standard SQL has beyond a sequence of variables with quantifiers (groups, alternatives, PERMUTE, exclusions,
anchors) is read far enough to be refused by name, as Flink does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

_TOKEN = re.compile(
    r"\s+|`(?P<quoted>(?:[^`]|``)+)`|(?P<name>[A-Za-z_]\w*)|(?P<number>\d+)|(?P<mark>\{-|-\}|.)", re.S
)


@dataclass(frozen=True)
class PatternVariable:
    """A variable of PATTERN with its quantifier: from `minimum` to `maximum` rows (None: no bound)."""

    name: str
    minimum: int = 1
    maximum: int | None = 1
    greedy: bool = True


@dataclass(frozen=True)
class MatchClause:
    """Everything between the parentheses of MATCH_RECOGNIZE; expressions are trees of sqlglot."""

    partition: list[Any]
    order: list[Any]
    measures: list[tuple[str, Any]]
    all_rows: bool
    skip: tuple[str, str | None]
    """PAST LAST ROW, TO NEXT ROW, TO FIRST or TO LAST, and the variable of the latter two."""
    pattern: list[PatternVariable]
    within: Any
    define: list[tuple[str, Any]]
    running: list[str] = field(default_factory=list)
    """Measures that ask for RUNNING."""


def parse_match_recognize(parser: Any) -> exp.MatchRecognize:
    """Reads from behind the words MATCH_RECOGNIZE to the end of the table's alias."""
    parser._match_l_paren()
    partition = parser._parse_partition_by()
    order = parser._parse_order()
    running: list[str] = []
    measures = _measures(parser, running) if parser._match_text_seq("MEASURES") else []
    all_rows = _rows(parser)
    skip = _skip(parser)
    if not parser._match_text_seq("PATTERN"):
        parser._fail("expected PATTERN here")
    pattern = _pattern(parser)
    within = parser._parse_interval() if parser._match_text_seq("WITHIN") else None
    if parser._match_text_seq("SUBSET"):
        parser._fail("SUBSET is not supported in MATCH_RECOGNIZE", do="name the variables one by one")
    if not parser._match_text_seq("DEFINE"):
        parser._fail(
            "expected DEFINE here", do="every pattern needs a DEFINE clause, at least for one variable"
        )
    define = _csv(parser, lambda: _definition(parser))
    parser._match_r_paren()
    clause = MatchClause(
        partition or [],
        order.expressions if order else [],
        measures,
        all_rows,
        skip,
        pattern,
        within,
        define,
        running,
    )
    node = exp.MatchRecognize(alias=parser._parse_table_alias())
    node.meta["clause"] = clause
    return node


def _csv(parser: Any, one: Any) -> list[Any]:
    from sqlglot.tokens import TokenType

    items = [one()]
    while parser._match(TokenType.COMMA):
        items.append(one())
    return items


def _measures(parser: Any, running: list[str]) -> list[tuple[str, Any]]:
    def measure() -> tuple[str, Any]:
        is_running = parser._match_text_seq("RUNNING")
        if not is_running:
            parser._match_text_seq("FINAL")
        node = parser._parse_expression()
        if not isinstance(node, exp.Alias):
            parser._fail("a measure needs a name: expression AS name")
        if is_running:
            running.append(node.alias)
        return node.alias, node.this

    return _csv(parser, measure)


def _definition(parser: Any) -> tuple[str, Any]:
    from sqlglot.tokens import TokenType

    name = parser._parse_id_var(any_token=True)
    parser._expect(TokenType.ALIAS, "AS")
    return name.name, parser._parse_disjunction()


def _rows(parser: Any) -> bool:
    if parser._match_text_seq("ALL", "ROWS", "PER", "MATCH"):
        for words in (
            ("SHOW", "EMPTY", "MATCHES"),
            ("OMIT", "EMPTY", "MATCHES"),
            ("WITH", "UNMATCHED", "ROWS"),
        ):
            parser._match_text_seq(*words)
        return True
    parser._match_text_seq("ONE", "ROW", "PER", "MATCH")
    return False


def _skip(parser: Any) -> tuple[str, str | None]:
    if not parser._match_text_seq("AFTER", "MATCH", "SKIP"):
        return "TO NEXT ROW", None
    if parser._match_text_seq("PAST", "LAST", "ROW"):
        return "PAST LAST ROW", None
    if parser._match_text_seq("TO", "NEXT", "ROW"):
        return "TO NEXT ROW", None
    if not parser._match_text_seq("TO"):
        parser._fail("expected PAST LAST ROW, TO NEXT ROW, TO FIRST or TO LAST here")
    direction = "FIRST" if parser._match_text_seq("FIRST") else "LAST"
    if direction == "LAST":
        parser._match_text_seq("LAST")
    return f"TO {direction}", parser._parse_id_var(any_token=True).name


def _pattern(parser: Any) -> list[PatternVariable]:
    from sqlglot.tokens import TokenType

    opening = parser._curr
    parser._match_l_paren()
    depth = 1
    while parser._curr and depth:
        kind = parser._curr.token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        parser._advance()
    if depth:
        parser._fail("expected ) at the end of the pattern", opening)
    text = parser.sql[opening.end + 1 : parser._prev.start]
    return _PatternReader(parser, text, opening).read()


_REFUSED = {
    "(": "Group patterns are not supported yet.",
    "|": "Currently, CEP doesn't support branching patterns.",
    "{-": "Currently, CEP doesn't support '{-' '-}' patterns.",
    "^": "Anchors are not supported in patterns.",
    "$": "Anchors are not supported in patterns.",
}


class _PatternReader:
    """Reads variables and quantifiers one after the other."""

    def __init__(self, parser: Any, text: str, place: Any) -> None:
        self._parser = parser
        self._place = place
        found = [m for m in _TOKEN.finditer(text) if not m[0].isspace()]
        self._tokens = [(m.lastgroup or "", (m["quoted"] or "").replace("``", "`") or m[0]) for m in found]
        self._at = 0

    def read(self) -> list[PatternVariable]:
        variables = []
        while self._at < len(self._tokens):
            variables.append(self._variable())
        if not variables:
            self._fail("an empty pattern matches nothing")
        return variables

    def _variable(self) -> PatternVariable:
        kind, text = self._tokens[self._at]
        if text in _REFUSED:
            self._fail(_REFUSED[text])
        if kind not in ("name", "quoted"):
            self._fail(f"expected a pattern variable, got '{text}'")
        if text.upper() == "PERMUTE" and self._peek(1) == "(":
            self._fail("Currently, CEP doesn't support PERMUTE patterns.")
        self._at += 1
        return self._quantified(text)

    def _quantified(self, name: str) -> PatternVariable:
        mark = self._peek()
        bounds: tuple[int, int | None]
        if mark in ("*", "+", "?"):
            self._at += 1
            bounds = {"*": (0, None), "+": (1, None), "?": (0, 1)}[mark]
        elif mark == "{":
            bounds = self._bounds()
        else:
            return PatternVariable(name)
        reluctant = self._peek() == "?"
        self._at += reluctant
        return PatternVariable(name, *bounds, greedy=not reluctant)

    def _bounds(self) -> tuple[int, int | None]:
        """{n}, {n,} or {n,m}; {,m} is refused, as in Flink."""
        self._at += 1
        low = self._number()
        if self._peek() != ",":
            self._take("}")
            return low or 0, low
        self._at += 1
        high = self._number()
        self._take("}")
        if low is None:
            self._fail("The from should be a positive number greater than 0.")
        return low or 0, high

    def _number(self) -> int | None:
        if self._at < len(self._tokens) and self._tokens[self._at][0] == "number":
            self._at += 1
            return int(self._tokens[self._at - 1][1])
        return None

    def _take(self, mark: str) -> None:
        if self._peek() != mark:
            self._fail(f"expected '{mark}' in the pattern")
        self._at += 1

    def _peek(self, ahead: int = 0) -> str:
        place = self._at + ahead
        return self._tokens[place][1] if place < len(self._tokens) else ""

    def _fail(self, what: str) -> None:
        self._parser._fail(what, self._place)
