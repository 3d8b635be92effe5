"""SELECT: from FROM to the select list, in the order SQL defines.

    FROM → WHERE → GROUP BY and aggregates → HAVING → OVER → QUALIFY → select list → DISTINCT → ORDER BY, LIMIT

Select items are bound once, over the columns of FROM, with aggregates left in as `AggCall`. If the query
groups, `_Grouping` then rewrites them over the aggregate's output: a part that equals a key becomes that
key's column, an `AggCall` becomes its result column, and a column that is left over was not grouped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sqlglot import exp

from penstock.common.datatypes import RowType
from penstock.sql.binder import literals
from penstock.sql.binder.context import BindContext
from penstock.sql.binder.expressions import ExpressionBinder
from penstock.sql.binder.group_windows import GroupWindows
from penstock.sql.binder.grouping import Grouping, grouping_elements
from penstock.sql.binder.hints import select_hints
from penstock.sql.binder.overs import with_windows
from penstock.sql.binder.query import QueryBinder
from penstock.sql.binder.relations import RelationBinder
from penstock.sql.binder.scope import Merged, Scope
from penstock.sql.binder.tables import time_of
from penstock.sql.plan.algebra import Aggregate, Field, Filter, Plan, Project
from penstock.sql.plan.rex import AggCall, InputRef, OverCall, Rex, SortKey, walk


class SelectBinder:
    """Binds one SELECT."""

    def __init__(self, queries: QueryBinder, node: exp.Select, outer: Scope | None) -> None:
        self._queries = queries
        self._ctx: BindContext = queries.ctx
        self._node = node
        self._outer = outer
        self._ttl: int | None = None
        self._windows = {w.this.name: w for w in node.args.get("windows") or [] if w.this is not None}

    def bind(self) -> Plan:
        plan, scope = self._from()
        plan = self._where(plan, scope)
        names, items = self._items(scope)
        having = self._having(scope)
        order = self._order_items(scope, names, items)
        items += self._qualify(scope, names, items)  # goes through grouping and OVER as an item would
        group_windows = GroupWindows(self._ctx, self._binder(scope, "GROUP BY"))
        if self._is_grouped([*items, *([having] if having is not None else []), *(k.rex for k, _ in order)]):
            plan, items, having, order = self._group(plan, scope, items, having, order, group_windows)
        if having is not None:
            plan = Filter(plan.fields, plan, having)
        plan, rexes = with_windows(self._ctx, plan, [*items, *(k.rex for k, _ in order)], self._node)
        items, sort_rexes = rexes[: len(items)], rexes[len(items) :]
        for condition in items[len(names) :]:
            plan = Filter(plan.fields, plan, condition)
        items = items[: len(names)]
        fields = tuple(Field(n, r.type, time_of(r)) for n, r in zip(names, items, strict=True))
        keys = [SortKey(r, k.descending, k.nulls_first) for r, (k, _) in zip(sort_rexes, order, strict=True)]
        plan = self._project(plan, fields, items, keys, [own for _, own in order])
        return plan

    # -- clauses ---------------------------------------------------------------------------------------

    def _from(self) -> tuple[Plan, Scope]:
        relations = RelationBinder(self._queries, self._outer)
        from_ = self._node.args.get("from_")
        bound = relations.bind_from(from_.this if from_ is not None else None, self._node)
        self._ttl = self._ttl_ms(bound.scope)
        return bound.plan, bound.scope

    def _binder(self, scope: Scope, place: str, **flags: Any) -> ExpressionBinder:
        return ExpressionBinder(self._ctx, scope, self._queries, place=place, windows=self._windows, **flags)

    def _where(self, plan: Plan, scope: Scope) -> Plan:
        where = self._node.args.get("where")
        if where is None:
            return plan
        return Filter(plan.fields, plan, self._binder(scope, "WHERE").condition(where.this))

    def _having(self, scope: Scope) -> Rex | None:
        having = self._node.args.get("having")
        if having is None:
            return None
        return self._binder(scope, "HAVING", aggregates=True).condition(having.this)

    def _qualify(self, scope: Scope, names: list[str], items: list[Rex]) -> list[Rex]:
        """The condition of QUALIFY, if there is one. Names of the select list come before those of FROM."""
        node = self._node.args.get("qualify")
        if node is None:
            return []
        selected = [Merged(name, rex, ()) for name, rex in zip(names, items, strict=True)]
        both = Scope(scope.relations, scope.parent, [*selected, *scope.merged])
        condition = self._binder(both, "QUALIFY", aggregates=True, over=True).condition(node.this)
        if not any(isinstance(part, OverCall) for part in walk(condition)):
            raise self._ctx.error(
                "QUALIFY needs a window function", node, do="use WHERE or HAVING for conditions without one"
            )
        return [condition]

    def _items(self, scope: Scope) -> tuple[list[str], list[Rex]]:
        """Names and expressions of the select list, stars spread out."""
        binder = self._binder(scope, "the select list", aggregates=True, over=True)
        names: list[str] = []
        items: list[Rex] = []
        for node in self._node.expressions:
            for name, rex in self._item(node, scope, binder):
                names.append(name or f"EXPR${len(items)}")
                items.append(rex)
        return names, items

    def _item(self, node: Any, scope: Scope, binder: ExpressionBinder) -> Iterable[tuple[str | None, Rex]]:
        if isinstance(node, exp.Star):
            if not scope.relations:
                raise self._ctx.error("'*' needs a FROM clause", node)
            return scope.star()
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            qualifier = [p.name for p in node.parts[:-1]]
            if scope.has_relation(qualifier):
                return scope.star(qualifier)
            return self._row_star(node, binder)
        if isinstance(node.unalias(), exp.Null):
            raise self._ctx.error("illegal use of NULL: its type is not known", node, do="CAST it to a type")
        if isinstance(node, exp.Alias):
            return [(node.alias, binder.bind(node.this))]
        name = None
        if isinstance(node, exp.Column):
            name = node.name
        elif isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
            name = node.expression.name
        rex = binder.bind(node)
        if (
            isinstance(node, exp.Column)
            and not isinstance(rex, InputRef)
            and name
            and name.upper().startswith("CURRENT_")
        ):
            name = None
        return [(name, rex)]

    def _row_star(self, node: exp.Column, binder: ExpressionBinder) -> list[tuple[str | None, Rex]]:
        """`row_column.*`: one column per field."""
        parts = list(node.parts[:-1])
        inner = exp.Column(
            **dict(zip(("this", "table", "db"), [p.copy() for p in reversed(parts)], strict=False))
        )
        row = binder.bind(inner)
        if not isinstance(row.type, RowType):
            raise self._ctx.error(f"'{'.'.join(p.name for p in parts)}' is neither a table nor a row", node)
        names = row.type.field_names()
        return [(n, binder.call("DOT", (row, literals.text(n)), node)) for n in names]

    def _order_items(
        self, scope: Scope, names: list[str], items: list[Rex]
    ) -> list[tuple[SortKey, int | None]]:
        """Sort keys over FROM, each with the select item it is, if it is one."""
        order = self._node.args.get("order")
        if order is None:
            return []
        binder = self._binder(scope, "ORDER BY", aggregates=True, over=True)
        found: list[tuple[SortKey, int | None]] = []
        for node in order.expressions:
            position = self._output_position(node.this, names)
            if position is None:
                key = binder.sort_key(node)
                position = next((i for i, item in enumerate(items) if item == key.rex), None)
            else:
                key = SortKey(
                    items[position], bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
                )
            found.append((key, position))
        return found

    def _output_position(self, node: Any, names: list[str]) -> int | None:
        if isinstance(node, exp.Literal) and not node.is_string:
            position = int(node.this) - 1
            if not 0 <= position < len(names):
                raise self._ctx.error(f"ORDER BY {node.this}: there are {len(names)} columns", node)
            return position
        if isinstance(node, exp.Column) and len(node.parts) == 1 and names.count(node.name) == 1:
            return names.index(node.name)
        return None

    # -- grouping --------------------------------------------------------------------------------------

    def _is_grouped(self, rexes: list[Rex]) -> bool:
        if self._node.args.get("group") is not None or self._node.args.get("having") is not None:
            return True
        return any(isinstance(part, AggCall) for rex in rexes for part in walk(rex))

    def _group(
        self,
        plan: Plan,
        scope: Scope,
        items: list[Rex],
        having: Rex | None,
        order: list[tuple[SortKey, int | None]],
        group_windows: GroupWindows,
    ) -> tuple[Plan, list[Rex], Rex | None, list[tuple[SortKey, int | None]]]:
        elements = grouping_elements(self._node.args.get("group"))
        plan, keys, sets, windows = group_windows.apply(plan, elements)
        names = [f.name for f in plan.fields]
        grouping = Grouping(self._ctx, keys, sets, windows, self._node, names)
        items = [grouping.rewrite(i) for i in items]
        having = grouping.rewrite(having) if having is not None else None
        order = [(SortKey(grouping.rewrite(k.rex), k.descending, k.nulls_first), own) for k, own in order]
        return replace(grouping.aggregate(plan), ttl_ms=self._ttl), items, having, order

    def _ttl_ms(self, scope: Scope) -> int | None:
        """What STATE_TTL says about the groups of a query of one table."""
        names = [r.alias for r in scope.relations]
        return select_hints(self._node).ttl_ms.get(names[0] or "") if len(names) == 1 else None

    # -- output ----------------------------------------------------------------------------------------

    def _project(
        self,
        plan: Plan,
        fields: tuple[Field, ...],
        items: list[Rex],
        keys: list[SortKey],
        own: list[int | None],
    ) -> Plan:
        """Select list, DISTINCT and sorting; sort keys that are not selected travel along hidden."""
        distinct = self._node.args.get("distinct") is not None
        hidden = [k for k, position in zip(keys, own, strict=True) if position is None]
        if distinct and hidden:
            raise self._ctx.error("ORDER BY of SELECT DISTINCT must use selected columns", self._node)
        extra = tuple(Field(f"$sort{i}", k.rex.type, time_of(k.rex)) for i, k in enumerate(hidden))
        projected: Plan = Project((*fields, *extra), plan, (*items, *(k.rex for k in hidden)))
        if distinct:
            refs = tuple(InputRef(f.type, i, f.time) for i, f in enumerate(fields))
            projected = Aggregate(fields, projected, refs, (), ttl_ms=self._ttl)
        sort_keys = []
        for key, position in zip(keys, own, strict=True):
            index = len(fields) + hidden.index(key) if position is None else position
            column = projected.fields[index]
            ref = InputRef(column.type, index, column.time)
            sort_keys.append(SortKey(ref, key.descending, key.nulls_first))
        result = self._queries.sorted(self._node, projected, tuple(sort_keys))
        if hidden:
            refs = tuple(InputRef(f.type, i, f.time) for i, f in enumerate(fields))
            result = Project(fields, result, refs)
        return result
