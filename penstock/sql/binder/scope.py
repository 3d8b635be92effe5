"""Which columns a name can mean at a place in a query."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from penstock.common.near_names import did_you_mean
from penstock.sql.binder.context import BindContext
from penstock.sql.plan.algebra import Fields
from penstock.sql.plan.rex import InputRef, OuterRef, Rex


@dataclass
class Relation:
    """A named group of columns in FROM: columns `start` .. of the joined row.

    `path` is the full name of a table, which may qualify columns too where no alias was given.
    """

    alias: str | None
    start: int
    fields: Fields
    path: tuple[str, ...] = ()


@dataclass
class Merged:
    """A column that USING or NATURAL made of two: what it is and which positions it hides."""

    name: str
    rex: Rex
    hides: tuple[int, ...]


@dataclass
class Scope:
    """The relations of one FROM clause, inside the scopes of the queries around it."""

    relations: list[Relation] = field(default_factory=list)
    parent: Scope | None = None
    merged: list[Merged] = field(default_factory=list)

    @property
    def width(self) -> int:
        return sum(len(r.fields) for r in self.relations)

    def column_names(self) -> list[str]:
        return [f.name for r in self.relations for f in r.fields]

    def resolve(self, parts: list[exp.Identifier], ctx: BindContext) -> tuple[Rex, list[exp.Identifier]]:
        """The column the parts begin with, and the parts that are left (fields inside a row).

        Raises:
            SqlError: Unknown or ambiguous, with the piece underlined.
        """
        scope: Scope | None = self
        depth = 0
        while scope is not None:
            found = scope._find(parts, ctx)
            if found is not None:
                rex, rest = found
                if depth and isinstance(rex, InputRef):
                    return OuterRef(rex.type, depth, rex.index, rex.time), rest
                return rex, rest
            scope, depth = scope.parent, depth + 1
        raise self._unknown(parts, ctx)

    def _find(self, parts: list[exp.Identifier], ctx: BindContext) -> tuple[Rex, list[exp.Identifier]] | None:
        names = [p.name for p in parts]
        for size in range(min(3, len(parts) - 1), 0, -1):
            matches = [r for r in self.relations if _is_named(r, names[:size])]
            for relation in matches:
                column = self._in_relation(relation, names[size], parts[size], ctx)
                if column is not None:
                    return column, parts[size + 1 :]
            if matches and size == len(parts) - 1:
                raise self._no_column(matches[0], parts[size], ctx)
        column = self._unqualified(names[0], parts[0], ctx)
        return None if column is None else (column, parts[1:])

    def _in_relation(
        self, relation: Relation, name: str, node: exp.Identifier, ctx: BindContext
    ) -> Rex | None:
        hits = [i for i, f in enumerate(relation.fields) if f.name == name]
        if len(hits) > 1:
            raise ctx.error(f"column '{name}' is ambiguous", node)
        return self._ref(relation, hits[0]) if hits else None

    def _unqualified(self, name: str, node: exp.Identifier, ctx: BindContext) -> Rex | None:
        for merged in self.merged:
            if merged.name == name:
                return merged.rex
        hits = [(r, i) for r in self.relations for i, f in enumerate(r.fields) if f.name == name]
        if len(hits) > 1:
            raise ctx.error(
                f"column '{name}' is ambiguous", node, do="put the table's name or alias and a dot before it"
            )
        return self._ref(*hits[0]) if hits else None

    def _ref(self, relation: Relation, index: int) -> InputRef:
        column = relation.fields[index]
        return InputRef(column.type, relation.start + index, column.time)

    def _no_column(self, relation: Relation, node: exp.Identifier, ctx: BindContext) -> Exception:
        hint = did_you_mean(node.name, [f.name for f in relation.fields])
        return ctx.error(f"column '{node.name}' not found in table '{relation.alias}'", node, do=hint)

    def _unknown(self, parts: list[exp.Identifier], ctx: BindContext) -> Exception:
        name = parts[0].name
        if len(parts) > 1 and name not in self.column_names():
            hint = did_you_mean(name, [r.alias for r in self.relations if r.alias])
            return ctx.error(f"table '{name}' not found", parts[0], do=hint)
        hint = did_you_mean(name, self.column_names())
        return ctx.error(f"column '{name}' not found in any table", parts[0], do=hint)

    def star(self, qualifier: list[str] | None = None) -> list[tuple[str, Rex]]:
        """The columns of `*` or `t.*`; merged ones once, in front."""
        if qualifier:
            relations = [r for r in self.relations if _is_named(r, qualifier)]
            return [(f.name, self._ref(r, i)) for r in relations for i, f in enumerate(r.fields)]
        hidden = {index for m in self.merged for index in m.hides}
        columns: list[tuple[str, Rex]] = [(m.name, m.rex) for m in self.merged]
        for relation in self.relations:
            for i, column in enumerate(relation.fields):
                if relation.start + i not in hidden:
                    columns.append((column.name, self._ref(relation, i)))
        return columns

    def has_relation(self, qualifier: list[str]) -> bool:
        return any(_is_named(r, qualifier) for r in self.relations)


def _is_named(relation: Relation, names: list[str]) -> bool:
    if len(names) == 1:
        return relation.alias == names[0]
    return len(relation.path) >= len(names) and list(relation.path[-len(names) :]) == names
