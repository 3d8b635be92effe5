"""Random typed scalar expressions and conditions over the columns of a scope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.properties.sql_differential.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    INT,
    NUMBERS,
    STRING,
    TIMESTAMP,
    TYPES,
    SqlType,
    Text,
    listed,
    sql,
)

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Expr:
    type: SqlType
    text: Text


Scope = Sequence[Expr]


class Expressions:
    """Draws expressions. `depth` bounds how far calls nest."""

    def __init__(self, draw: Callable[..., Any]) -> None:
        self.draw = draw

    def pick(self, options: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(options))

    def chance(self, of: int) -> bool:
        """True once in `of` times; False is the simpler choice."""
        return bool(self.draw(st.integers(0, of - 1)) == of - 1)

    # --- values -------------------------------------------------------------------------------------------

    def any_value(self, scope: Scope, depth: int = 1) -> Expr:
        """A column, or something computed from one."""
        if scope and not self.chance(3):
            return self.pick(scope)
        return self.value(scope, self.pick(scope).type if scope else self.pick(TYPES), depth)

    def value(self, scope: Scope, wanted: SqlType, depth: int = 1) -> Expr:
        """An expression of exactly this type."""
        columns = [e for e in scope if e.type is wanted]
        if columns and (depth <= 0 or not self.chance(3)):
            return self.pick(columns)
        if depth <= 0:
            return Expr(wanted, self.constant(wanted))
        made = self.draw(st.integers(0, 5))
        if made == 0:
            return Expr(wanted, self.constant(wanted))
        if made == 1:
            parts = [self.value(scope, wanted, depth - 1).text for _ in range(2)]
            return Expr(wanted, sql("COALESCE({}, {})", *parts))
        if made == 2:
            return self._case(scope, wanted, depth)
        if made == 3:
            parts = [self.value(scope, wanted, depth - 1).text for _ in range(2)]
            return Expr(wanted, sql("NULLIF({}, {})", *parts))
        return Expr(wanted, self._computed(scope, wanted, depth))

    def constant(self, wanted: SqlType) -> Text:
        return wanted.literal(self.pick((*wanted.domain, *wanted.domain, None)))

    def _case(self, scope: Scope, wanted: SqlType, depth: int) -> Expr:
        condition = self.condition(scope, depth - 1)
        then, other = (self.value(scope, wanted, depth - 1).text for _ in range(2))
        if self.chance(3):
            return Expr(wanted, sql("CASE WHEN {} THEN {} END", condition, then))
        return Expr(wanted, sql("CASE WHEN {} THEN {} ELSE {} END", condition, then, other))

    def _computed(self, scope: Scope, wanted: SqlType, depth: int) -> Text:
        if wanted is BOOLEAN:
            return sql("({})", self.condition(scope, depth - 1))
        if wanted in NUMBERS:
            return self._number(scope, wanted, depth)
        if wanted is STRING:
            first, second = (self.value(scope, STRING, depth - 1).text for _ in range(2))
            one = self.pick(("UPPER({})", "({} || {})", "LOWER({})", "SUBSTRING({} FROM 1 FOR 1)"))
            return sql(one, first, second)
        if wanted is DATE:
            return sql("CAST({} AS DATE)", self.value(scope, TIMESTAMP, depth - 1).text)
        moment = self.value(scope, TIMESTAMP, depth - 1).text
        return sql("({} + INTERVAL '1' DAY)", moment)

    def _number(self, scope: Scope, wanted: SqlType, depth: int) -> Text:
        made = self.draw(st.integers(0, 3))
        first = self.value(scope, wanted, depth - 1).text
        if made == 0 and wanted in (INT, BIGINT):
            divisor = sql(str(self.pick((2, 3, -2))))
            name, duck = self.pick((("({} / {})", "({} // {})"), ("MOD({}, {})", "({} % {})")))
            kept = sql(name, first, divisor, duck=duck)
            return sql("CAST({} AS BIGINT)", kept) if wanted is BIGINT else kept
        if made == 1 and wanted is BIGINT:
            return sql("CAST(CHAR_LENGTH({}) AS BIGINT)", self.value(scope, STRING, depth - 1).text,
                       duck="CAST(length({}) AS BIGINT)")  # fmt: skip
        if made == 2 and wanted is not INT:
            narrow = self.pick(NUMBERS[: NUMBERS.index(wanted)])
            text = self.value(scope, narrow, depth - 1).text
            return Text(f"CAST({text.flink} AS {_wide(wanted)})", f"CAST({text.duck} AS {_wide(wanted)})")
        second = self.value(scope, wanted, depth - 1).text
        return sql(self.pick(("({} + {})", "({} - {})")), first, second)

    # --- conditions ---------------------------------------------------------------------------------------

    def condition(self, scope: Scope, depth: int = 1) -> Text:
        made = self.draw(st.integers(0, 11))
        if depth > 0 and made in (8, 9):
            parts = [self.condition(scope, depth - 1) for _ in range(2)]
            return sql(f"({{}} {'AND' if made == 8 else 'OR'} {{}})", *parts)
        if depth > 0 and made == 10:
            return sql(self.pick(("NOT ({})", "({}) IS TRUE", "({}) IS NOT TRUE", "({}) IS NOT FALSE")),
                       self.condition(scope, depth - 1))  # fmt: skip
        first = self.any_value(scope, depth)
        if made == 11 and first.type is STRING and first in scope:  # outer joins have no LIKE over both sides
            return sql(self.pick(("{} LIKE 'a%'", "{} LIKE '_'", "{} NOT LIKE '%b'")), first.text)
        if made == 5:
            return sql(self.pick(("{} IS NULL", "{} IS NOT NULL")), first.text)
        if made == 6 and first.type is not BOOLEAN:
            low, high = (self.value(scope, first.type, depth - 1).text for _ in range(2))
            return sql(self.pick(("{} BETWEEN {} AND {}", "{} NOT BETWEEN {} AND {}")), first.text, low, high)
        if made == 7:
            return self._in_list(first)
        others = [e for e in scope if e != first]
        return self.comparison(first, self.counterpart(others, first.type, depth - 1))

    def _in_list(self, first: Expr) -> Text:
        values = self.draw(st.lists(st.sampled_from((*first.type.domain, None)), min_size=1, max_size=3))
        if values == [None]:  # a list of NULLs has no type of its own
            values = [first.type.domain[0], None]
        items = listed([first.type.literal(v) for v in values])
        return sql(self.pick(("{} IN ({})", "{} NOT IN ({})")), first.text, items)

    def counterpart(self, scope: Scope, compared: SqlType, depth: int = 0) -> Expr:
        """Something that may be compared with this type: numbers of different types may."""
        if compared in NUMBERS and self.chance(4):
            return self.value(scope, self.pick(NUMBERS), depth)
        return self.value(scope, compared, depth)

    def comparison(self, first: Expr, second: Expr) -> Text:
        if first.type is BOOLEAN:
            operator = self.pick(("=", "<>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"))
        else:
            operator = self.pick((*COMPARISONS, "IS DISTINCT FROM", "IS NOT DISTINCT FROM"))
        return sql(f"{{}} {operator} {{}}", first.text, second.text)


def _wide(wanted: SqlType) -> str:
    """The type to cast a number to: a sum of BIGINTs needs more digits than a column of decimals has."""
    return "DECIMAL(30, 2)" if wanted is DECIMAL else "DOUBLE" if wanted is DOUBLE else "BIGINT"
