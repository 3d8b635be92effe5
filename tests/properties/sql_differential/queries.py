"""Random queries over tables, nested to a given depth.

A `Relation` is what may stand in FROM. Every maker draws its inputs, gives them aliases of their own, and names its
result columns c0, c1, ... so that whatever uses it needs to know nothing about how it was made. Results are
deterministic as multisets: LIMIT, Top-N and OVER are ordered by all columns. Where Flink's answer is not standard,
DuckDB's text says the same in its own way:

    a global aggregate over no rows           no row, as in streaming Flink
    ORDER BY                                  NULL is the smallest value
    x / y, SUM, AVG                           see `aggregates.py`
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.properties.sql_differential.aggregates import aggregate
from tests.properties.sql_differential.expressions import Expr
from tests.properties.sql_differential.joins import From, JoinQueries, Relation
from tests.properties.sql_differential.tables import Table
from tests.properties.sql_differential.types import (
    BIGINT,
    SqlType,
    Text,
    listed,
    sql,
    wider,
)


@dataclass(frozen=True)
class Program:
    """A query with its views."""

    query: Text
    types: tuple[SqlType, ...]


class Queries(JoinQueries):
    """Draws queries over the tables of a program."""

    def __init__(self, draw: Any, tables: Sequence[Table]) -> None:
        super().__init__(draw)
        self._bases = [
            Relation(sql(t.name), tuple((c.name, c.type) for c in t.columns), t.updating, t.rowtime)
            for t in tables
        ]
        self._views: list[tuple[str, Text]] = []
        self._aliases = 0

    def program(self, depth: int) -> Program:
        relation = self.query(depth)
        body = Text(relation.text.flink[1:-1], relation.text.duck[1:-1])
        if self._views:
            views = listed([sql(f"{name} AS {{}}", text) for name, text in self._views])
            body = sql("WITH {} {}", views, body)
        return Program(body, tuple(t for _, t in relation.columns))

    def query(self, depth: int) -> Relation:
        makers = (
            self._select,
            self._group,
            self._group,
            self._join,
            self._join,
            self._join,
            self._comma_join,
            self._comma_join,
            self._join_chain,
            self._mixed_join,
            self._mixed_join,
            self._star,
            self._star,
            self._set_operation,
            self._set_operation,
            self._membership,
            self._membership,
            self._top_n,
            self._scalar,
            self._limit,
            self._over,
            self._grouping_sets,
        )
        made: Relation = self.pick(makers)(depth)
        return made

    # --- inputs -------------------------------------------------------------------------------------------

    def source(self, depth: int) -> From:
        """Something to read from: a table, a view that may be read twice, or a query."""
        return From(self._relation(depth), self._alias())

    def _relation(self, depth: int) -> Relation:
        if depth <= 1 or self.chance(4):
            return self.pick(self._bases)
        relation = self.query(depth - 1)
        if self.chance(4):
            name = f"v{len(self._views)}"
            self._views.append((name, relation.text))
            relation = Relation(sql(name), relation.columns, relation.updating, relation.rowtime)
            self._bases.append(relation)
        return relation

    def _alias(self) -> str:
        self._aliases += 1
        return f"r{self._aliases}"

    def _where(self, scope: list[Expr]) -> Text:
        return sql(" WHERE {}", self.condition(scope, 2)) if self.chance(4) else sql("")

    def _result(self, items: Sequence[Expr], rest: Text, updating: bool, word: str = "") -> Relation:
        shown = listed([sql(f"{{}} AS c{i}", e.text) for i, e in enumerate(items)])
        columns = tuple((f"c{i}", e.type) for i, e in enumerate(items))
        return Relation(sql(f"(SELECT {word}{{}} FROM {{}})", shown, rest), columns, updating)

    def _some(self, scope: list[Expr], most: int = 4) -> list[Expr]:
        return [self.any_value(scope, 2) for _ in range(self.draw(st.integers(1, most)))]

    # --- makers -------------------------------------------------------------------------------------------

    def _select(self, depth: int) -> Relation:
        source = self.source(depth)
        word = "DISTINCT " if self.chance(3) else ""
        rest = sql("{}{}", source.text, self._where(source.scope))
        return self._result(self._some(source.scope), rest, source.relation.updating, word)

    def _group(self, depth: int) -> Relation:
        source = self.source(depth)
        where = self._where(source.scope)
        keys = self._keys(source, 0)
        calls = [aggregate(self, source.scope) for _ in range(self.draw(st.integers(1, 3)))]
        having = [aggregate(self, source.scope)] if self.chance(3) else []
        conditions = [self.comparison(h, self.counterpart((), h.type)) for h in having]
        if self.chance(6):
            conditions.append(self.condition([*keys, *calls], 1))
        rest = sql("{}{}{}", source.text, where, self._group_by(listed([k.text for k in keys]), bool(keys)))
        return self._result([*keys, *calls], _having(rest, conditions, not keys), True)

    def _keys(self, source: From, least: int) -> list[Expr]:
        count = self.draw(st.integers(least, 2))
        chosen = [self.pick(source.scope) for _ in range(count)]
        return list(dict.fromkeys(chosen))

    @staticmethod
    def _group_by(keys: Text, present: bool) -> Text:
        return sql(" GROUP BY {}", keys) if present else sql("")

    def _grouping_sets(self, depth: int) -> Relation:
        source = self.source(depth)
        where = self._where(source.scope)
        keys = self._keys(source, 1)
        names = [k.text for k in keys]
        form = self.pick(("ROLLUP ({})", "CUBE ({})", "GROUPING SETS ({})"))
        inside = listed(names)
        if form.startswith("GROUPING"):
            inside = listed([sql("({})", listed(names)), *(sql("({})", n) for n in names[1:]), sql("()")])
        calls = [aggregate(self, source.scope, plain=True) for _ in range(self.draw(st.integers(1, 2)))]
        calls.append(Expr(BIGINT, sql("GROUPING({})", names[0])))
        rest = sql("{}{} GROUP BY {}", source.text, where, sql(form, inside))
        return self._result([*keys, *calls], _having(rest, [], True), True)

    def _set_operation(self, depth: int) -> Relation:
        left, right = self.source(depth), self.source(depth)
        if self.chance(3):
            first = self._some(left.scope, 3)
            second = [self.counterpart(right.scope, e.type, 1) for e in first]
        else:  # few columns as they are: rows that both sides have, and have several times
            first = [self.pick(left.scope) for _ in range(self.pick((1, 1, 2)))]
            second = [self.value(right.scope, e.type, 0) for e in first]
        operator = self.pick(("INTERSECT ALL", "EXCEPT ALL", "UNION ALL", "UNION", "INTERSECT", "EXCEPT"))
        arms = [
            self._result(items, sql("{}{}", arm.text, self._where(arm.scope)), False).text
            for items, arm in ((first, left), (second, right))
        ]
        text = sql(
            f"(SELECT * FROM {{}} AS {self._alias()} {operator} SELECT * FROM {{}} AS {self._alias()})", *arms
        )
        columns = tuple(
            (f"c{i}", wider(a.type, b.type)) for i, (a, b) in enumerate(zip(first, second, strict=True))
        )
        return Relation(text, columns, True)

    def _membership(self, depth: int) -> Relation:
        """IN, NOT IN, EXISTS, NOT EXISTS."""
        outer, inner = self.source(depth), self.source(max(depth - 1, 1))
        negated = self.pick(("", "NOT "))
        if self.chance(2):
            conditions = self._equalities(outer, inner)
            if not conditions or self.chance(3):
                conditions.append(self.condition([*outer.scope, *inner.scope], 1))
            if self.chance(2):
                conditions.append(self.condition(inner.scope, 1))
            test = sql(
                f"{negated}EXISTS (SELECT 1 FROM {{}} WHERE {{}})", inner.text, listed(conditions, " AND ")
            )
        else:
            needle = self.any_value(outer.scope)
            items = self.counterpart(inner.scope, needle.type, 1).text
            test = sql(f"{{}} {negated}IN (SELECT {{}} FROM {{}}{{}})", needle.text, items, inner.text,
                       self._where(inner.scope))  # fmt: skip
        if self.chance(4):
            test = sql("{} AND {}", self.condition(outer.scope, 1), test)
        rest = sql("{} WHERE {}", outer.text, test)
        updating = bool(negated) or outer.relation.updating or inner.relation.updating
        return self._result(self._some(outer.scope), rest, updating)

    def _scalar(self, depth: int) -> Relation:
        """A subquery as a value: in the select list or compared in WHERE."""
        outer, inner = self.source(depth), self.source(max(depth - 1, 1))
        call = aggregate(self, inner.scope, plain=True)
        correlated = self._equalities(outer, inner, strict=True) if self.chance(2) else []
        conditions = [*correlated, self.condition(inner.scope, 1)] if self.chance(2) else correlated
        where = sql(" WHERE {}", listed(conditions, " AND ")) if conditions else sql("")
        body = _having(sql("{}{}", inner.text, where), [], not correlated)
        value = Expr(call.type, sql("(SELECT {} FROM {})", call.text, body))
        items, rest = self._some(outer.scope), sql("{}{}", outer.text, self._where(outer.scope))
        if self.chance(2):
            other = self.value(outer.scope, value.type, 0)
            rest = sql(
                "{} WHERE {}",
                outer.text,
                sql(f"{{}} {self.pick(('=', '<', '>='))} {{}}", other.text, value.text),
            )
        else:
            items.append(value)
        return self._result(items, rest, True)

    def _order(self, scope: Sequence[Expr]) -> Text:
        """A total order: all columns, in some order and direction."""
        first = self.draw(st.integers(0, len(scope) - 1))
        down = self.chance(2)
        keys = []
        for i, e in enumerate([*scope[first:], *scope[:first]]):
            falling = down if i == 0 else not down
            ends = ("DESC", "DESC NULLS LAST") if falling else ("ASC", "ASC NULLS FIRST")
            keys.append(sql(f"{{}} {ends[0]}", e.text, duck=f"{{}} {ends[1]}"))
        return listed(keys)

    def _top_n(self, depth: int) -> Relation:
        source = self.source(depth)
        keys = self._keys(source, 0)
        partition = sql("PARTITION BY {} ", listed([k.text for k in keys])) if keys else sql("")
        number = Expr(BIGINT, sql("ROW_NUMBER() OVER ({}ORDER BY {})", partition, self._order(source.scope)))
        rest = sql("{}{}", source.text, self._where(source.scope))
        ranked = From(self._result([*source.scope, number], rest, True), self._alias())
        *visible, rank = ranked.scope
        limit = sql(self.pick(("{} <= 2", "{} = 1", "{} < 4", "{} <= 1", "{} BETWEEN 2 AND 3")), rank.text)
        shown = [*visible, rank] if self.chance(2) else visible
        return self._result(shown, sql("{} WHERE {}", ranked.text, limit), True)

    def _limit(self, depth: int) -> Relation:
        source = self.source(depth)
        items = [*dict.fromkeys(self._some(source.scope))]
        inner = self._result(items, sql("{}{}", source.text, self._where(source.scope)), True)
        below = From(inner, self._alias())
        offset = sql(" OFFSET 1") if self.chance(3) else sql("")
        rest = sql("{} ORDER BY {} LIMIT {}{}", below.text, self._order(below.scope),
                   sql(str(self.draw(st.integers(1, 5)))), offset)  # fmt: skip
        return self._result(below.scope, rest, True)

    def _over(self, depth: int) -> Relation:
        timed = [r for r in self._bases if r.rowtime]
        if timed and not self.chance(3):
            source = From(self.pick(timed), self._alias())
            order = sql(f"{source.alias}.{source.relation.rowtime}")
            frame = self.pick(("UNBOUNDED", "2"))
        else:
            source = self.source(depth)
            order, frame = self._order(source.scope), "UNBOUNDED"
        kind = "ROWS" if frame == "2" or self.chance(2) else "RANGE"
        keys = self._keys(source, 0)
        partition = sql("PARTITION BY {} ", listed([k.text for k in keys])) if keys else sql("")
        over = sql(
            f" OVER ({{}}ORDER BY {{}} {kind} BETWEEN {frame} PRECEDING AND CURRENT ROW)", partition, order
        )
        calls = [aggregate(self, source.scope, over, plain=True) for _ in range(self.draw(st.integers(1, 2)))]
        rest = sql("{}{}", source.text, self._where(source.scope))
        return self._result([*source.scope, *calls], rest, True)


def _having(rest: Text, conditions: list[Text], may_be_global: bool) -> Text:
    """HAVING; DuckDB alone would answer with a row for no rows, which streaming Flink does not."""
    duck = [c.duck for c in conditions] + (["COUNT(*) > 0"] if may_be_global else [])
    flink = [c.flink for c in conditions]
    texts = [" HAVING " + " AND ".join(part) if part else "" for part in (flink, duck)]
    return Text(rest.flink + texts[0], rest.duck + texts[1])
