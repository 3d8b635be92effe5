"""Random joins: of two and of many tables, by commas and by JOIN, with conditions in every place."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from tests.properties.sql_differential.expressions import Expr, Expressions
from tests.properties.sql_differential.types import NUMBERS, SqlType, Text, listed, sql


@dataclass(frozen=True)
class Relation:
    """Something with columns: a table or view by name, or a query in parentheses."""

    text: Text
    columns: tuple[tuple[str, SqlType], ...]
    updating: bool
    rowtime: str = ""


@dataclass(frozen=True)
class From:
    """A relation under an alias."""

    relation: Relation
    alias: str

    @property
    def text(self) -> Text:
        return sql(f"{{}} AS {self.alias}", self.relation.text)

    @property
    def scope(self) -> list[Expr]:
        return [Expr(t, sql(f"{self.alias}.{name}")) for name, t in self.relation.columns]


class JoinQueries(Expressions):
    """Draws joins of what `source` draws."""

    @abstractmethod
    def source(self, depth: int) -> From: ...

    @abstractmethod
    def _where(self, scope: list[Expr]) -> Text: ...

    @abstractmethod
    def _result(self, items: Sequence[Expr], rest: Text, updating: bool, word: str = "") -> Relation: ...

    @abstractmethod
    def _some(self, scope: list[Expr], most: int = 4) -> list[Expr]: ...

    def _join(self, depth: int) -> Relation:
        left, right = self.source(depth), self.source(depth)
        kind = self.pick(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
        scope = [*left.scope, *right.scope]
        conditions = self._equalities(left, right)
        if not conditions or self.chance(3):
            conditions.append(self.condition(scope, 1))
        rest = sql(f"{{}} {kind} {{}} ON {{}}{{}}", left.text, right.text, listed(conditions, " AND "),
                   self._where(scope))  # fmt: skip
        updating = left.relation.updating or right.relation.updating or kind != "JOIN"
        return self._result(self._some(scope), rest, updating)

    def _comma_join(self, depth: int) -> Relation:
        """FROM a, b, c WHERE ...: equalities between any two, in any order, and conditions on one or several."""
        count = self.pick((2, 2, 3, 3, 4))
        sources = [self.source(depth if i == 0 else min(depth, 2)) for i in range(count)]
        scope = [e for source in sources for e in source.scope]
        conditions: list[Text] = []
        for at in range(1, count):
            conditions += self._equalities(sources[self.draw(st.integers(0, at - 1))], sources[at])[:1]
        for _ in range(self.draw(st.integers(0, 2))):
            chosen = scope if self.chance(2) else self.pick(sources).scope
            conditions.append(self.condition(chosen, 2))
        if len(conditions) > 1 and self.chance(4):
            first, *rest = conditions
            branches = [sql("({} AND {})", first, other) for other in (*rest, rest[0])]
            conditions = [sql("({})", listed(branches, " OR "))]
        conditions = self.draw(st.permutations(conditions))
        tables = listed([source.text for source in self.draw(st.permutations(sources))])
        where = sql(" WHERE {}", listed(conditions, " AND ")) if conditions else sql("")
        return self._result(self._some(scope), sql("{}{}", tables, where), True)

    def _join_chain(self, depth: int) -> Relation:
        """Joins of several kinds in a row, and a condition above that may drop what outer ones fill up."""
        sources = [self.source(depth if i == 0 else 1) for i in range(self.pick((3, 3, 4)))]
        text, scope = sources[0].text, list(sources[0].scope)
        for at, source in enumerate(sources[1:], 1):
            kind = self.pick(("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
            conditions = self._equalities(self.pick(sources[:at]), source)
            scope += source.scope
            if not conditions or self.chance(3):
                conditions.append(self.condition(self.pick((source.scope, scope)), 1))
            text = sql(f"{{}} {kind} {{}} ON {{}}", text, source.text, listed(conditions, " AND "))
        where = sql(" WHERE {}", self.condition(self.pick((sources[0].scope, sources[-1].scope, scope)), 2))
        return self._result(self._some(scope), sql("{}{}", text, where if self.chance(2) else sql("")), True)

    def _equalities(self, left: From, right: From, strict: bool = False) -> list[Text]:
        """Equalities between columns that can be compared; `strict`: in none of them NULL equals NULL."""
        pairs = [
            (a, b) for a in left.scope for b in right.scope
            if a.type is b.type or (a.type in NUMBERS and b.type in NUMBERS)
        ]  # fmt: skip
        chosen = [self.pick(pairs) for _ in range(self.pick((1, 1, 1, 2)))] if pairs else []
        null_safe = not strict and self.chance(6)
        operator = "IS NOT DISTINCT FROM" if null_safe else "="
        return [sql(f"{{}} {operator} {{}}", a.text, b.text) for a, b in chosen]

    def _mixed_join(self, depth: int) -> Relation:
        """FROM a, b JOIN c ON ..., d WHERE ...: what stands before the comma is connected in WHERE."""
        groups: list[list[From]] = []
        texts: list[Text] = []
        for at in range(self.pick((2, 2, 3))):
            group = [self.source(depth if at == 0 else 1)]
            text = group[0].text
            for _ in range(self.pick((0, 1, 1, 2))):
                right = self.source(1)
                kind = self.pick(("JOIN", "LEFT JOIN"))
                on = self._equalities(self.pick(group), right)
                group.append(right)
                if not on or self.chance(4):
                    on.append(self.condition([e for source in group for e in source.scope], 1))
                text = sql(f"{{}} {kind} {{}} ON {{}}", text, right.text, listed(on, " AND "))
            groups.append(group)
            texts.append(text)
        scope = [e for group in groups for source in group for e in source.scope]
        conditions = [
            equal
            for at in range(1, len(groups))
            for equal in self._equalities(self.pick(groups[at - 1]), self.pick(groups[at]))[:1]
        ]
        for _ in range(self.draw(st.integers(0, 2))):
            conditions.append(self.condition(self.pick((scope, self.pick(self.pick(groups)).scope)), 2))
        where = (
            sql(" WHERE {}", listed(self.draw(st.permutations(conditions)), " AND "))
            if conditions
            else sql("")
        )
        return self._result(self._some(scope), sql("{}{}", listed(texts), where), True)

    def _star(self, depth: int) -> Relation:
        """Inner and left joins in a row on one key, which any of the tables before may name."""
        sources = [self.source(depth if i == 0 else 1) for i in range(self.pick((3, 3, 4)))]
        types = list(dict.fromkeys(e.type for e in sources[0].scope))
        shared = max(types, key=lambda t: sum(any(e.type is t for e in s.scope) for s in sources))
        sources = [source for source in sources if any(e.type is shared for e in source.scope)]
        keys = [self.pick([e for e in source.scope if e.type is shared]) for source in sources]
        text, scope = sources[0].text, list(sources[0].scope)
        for at, source in enumerate(sources[1:], 1):
            scope += source.scope
            named = keys[0] if self.chance(2) else self.pick(keys[:at])
            on = [sql("{} = {}", *self.draw(st.permutations([named.text, keys[at].text])))]
            if self.chance(6):
                on.append(self.condition(self.pick((source.scope, scope)), 1))
            kind = self.pick(("JOIN", "JOIN", "LEFT JOIN"))
            text = sql(f"{{}} {kind} {{}} ON {{}}", text, source.text, listed(on, " AND "))
        where = sql(" WHERE {}", self.condition(self.pick((sources[0].scope, sources[-1].scope, scope)), 2))
        return self._result(self._some(scope), sql("{}{}", text, where if self.chance(3) else sql("")), True)
