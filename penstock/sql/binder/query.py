"""Queries: WITH, set operations, VALUES, ORDER BY and LIMIT; the SELECT itself is in `select.py`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from penstock.sql.binder.coercion import cast_columns, cast_rex
from penstock.sql.binder.context import BindContext
from penstock.sql.binder.expressions import ExpressionBinder
from penstock.sql.binder.scope import Relation, Scope
from penstock.sql.functions.common_types import common_type
from penstock.sql.plan.algebra import Field, Plan, Project, SetOp, Sort, Values
from penstock.sql.plan.rex import InputRef, Rex, SortKey

_SET_KINDS = {exp.Union: "UNION", exp.Except: "EXCEPT", exp.Intersect: "INTERSECT"}


@dataclass(frozen=True)
class CommonTable:
    """A WITH item: bound anew wherever it is used, among the items that stand before it."""

    ast: Any
    columns: tuple[str, ...]
    before: dict[str, CommonTable]


class QueryBinder:
    """Binds queries; one per statement, `with_tables` makes one for the inside of a WITH."""

    def __init__(self, ctx: BindContext, tables: dict[str, CommonTable] | None = None) -> None:
        self.ctx = ctx
        self.tables = tables or {}

    def bind(self, node: Any, outer: Scope | None = None) -> Plan:
        """The plan of a query inside the scope of another one."""
        with_ = node.args.get("with_")
        if with_ is not None:
            return self._with(node, with_, outer)
        if isinstance(node, exp.Subquery):
            plan = self.bind(node.this, outer)
            return self._modifiers(node, plan, outer)
        if isinstance(node, exp.Select):
            from penstock.sql.binder.select import SelectBinder

            return SelectBinder(self, node, outer).bind()
        if isinstance(node, exp.SetOperation):
            return self._modifiers(node, self._set_operation(node, outer), outer)
        if isinstance(node, exp.Values):
            return self._modifiers(node, self.values(node, outer), outer)
        if isinstance(node, exp.Table):
            from penstock.sql.binder.relations import RelationBinder

            return RelationBinder(self, outer).bind_from(node).plan
        raise self.ctx.error(f"expected a query here, found {node.key}", node)

    def _with(self, node: Any, with_: exp.With, outer: Scope | None) -> Plan:
        if with_.args.get("recursive"):
            raise self.ctx.error("WITH RECURSIVE is not possible", with_)
        tables = dict(self.tables)
        for item in with_.expressions:
            columns = tuple(c.name for c in item.args["alias"].args.get("columns") or ())
            tables[item.alias] = CommonTable(item.this, columns, dict(tables))
        inner = QueryBinder(self.ctx, tables)
        rest = node.copy()
        rest.set("with_", None)
        return inner.bind(rest, outer)

    # -- set operations --------------------------------------------------------------------------------

    def _set_operation(self, node: exp.SetOperation, outer: Scope | None) -> Plan:
        """sqlglot reads `a UNION b INTERSECT c` from left to right; INTERSECT binds tighter."""
        operands: list[Any] = []
        operators: list[exp.SetOperation] = []
        current: Any = node
        while isinstance(current, exp.SetOperation) and (current is node or not _has_modifiers(current)):
            operators.insert(0, current)
            operands.insert(0, current.expression)
            current = current.this
        operands.insert(0, current)
        plans = [self.bind(o, outer) for o in operands]
        for kinds in ({exp.Intersect}, {exp.Union, exp.Except}):
            i = 0
            while i < len(operators):
                if type(operators[i]) in kinds:
                    plans[i : i + 2] = [self.combine(operators[i], plans[i], plans[i + 1])]
                    del operators[i]
                else:
                    i += 1
        return plans[0]

    def combine(self, node: exp.SetOperation, left: Plan, right: Plan) -> Plan:
        """One UNION, INTERSECT or EXCEPT; both sides are cast to their common types."""
        kind = _SET_KINDS[type(node)]
        all_ = not node.args.get("distinct", True)
        label = kind + (" ALL" if all_ else "")
        if len(left.fields) != len(right.fields):
            raise self.ctx.error(
                f"column count mismatch in {label}: {len(left.fields)} and {len(right.fields)}", node
            )
        fields = []
        for i, (a, b) in enumerate(zip(left.fields, right.fields, strict=True)):
            merged = common_type([a.type, b.type])
            if merged is None:
                raise self.ctx.error(
                    f"type mismatch in column {i + 1} of {label}: "
                    f"{a.type.as_summary()} and {b.type.as_summary()}",
                    node,
                    do="CAST one of the two",
                )
            fields.append(Field(a.name, merged, a.time if a.time == b.time and kind == "UNION" else ""))
        types = [f.type for f in fields]
        left, right = cast_columns(left, types), cast_columns(right, types)
        return SetOp(tuple(fields), left, right, kind, all_)  # type: ignore[arg-type]

    def values(self, node: exp.Values, outer: Scope | None) -> Plan:
        """Rows of constants; a column's type is what its values have in common."""
        binder = ExpressionBinder(self.ctx, Scope([], outer), self, place="VALUES")
        rows = [[binder.bind(e) for e in row.expressions] for row in node.expressions]
        if len({len(r) for r in rows}) > 1:
            raise self.ctx.error("the rows of VALUES have different numbers of columns", node)
        fields = []
        for i in range(len(rows[0])):
            merged = common_type([r[i].type for r in rows])
            if merged is None:
                raise self.ctx.error(f"the values of column {i + 1} of VALUES have no common type", node)
            fields.append(Field(f"EXPR${i}", merged))
        cast = tuple(tuple(cast_rex(v, f.type) for v, f in zip(r, fields, strict=True)) for r in rows)
        return Values(tuple(fields), cast)

    # -- ORDER BY, LIMIT -------------------------------------------------------------------------------

    def _modifiers(self, node: Any, plan: Plan, outer: Scope | None) -> Plan:
        order = node.args.get("order")
        keys: tuple[SortKey, ...] = ()
        if order is not None:
            scope = Scope([Relation(None, 0, plan.fields)], outer)
            binder = ExpressionBinder(self.ctx, scope, self, place="ORDER BY")
            keys = tuple(self.sort_key(o, plan, binder) for o in order.expressions)
        return self.sorted(node, plan, keys)

    def sort_key(self, node: exp.Ordered, plan: Plan, binder: ExpressionBinder) -> SortKey:
        """An ORDER BY item over a query's own output; a whole number is a position."""
        literal = node.this
        if isinstance(literal, exp.Literal) and not literal.is_string:
            position = int(literal.this)
            if not 1 <= position <= len(plan.fields):
                raise self.ctx.error(f"ORDER BY {position}: there are {len(plan.fields)} columns", node)
            field = plan.fields[position - 1]
            rex: Rex = InputRef(field.type, position - 1, field.time)
            return SortKey(rex, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))
        return binder.sort_key(node)

    def sorted(self, node: Any, plan: Plan, keys: tuple[SortKey, ...]) -> Plan:
        """Puts a `Sort` on top if there is anything to sort or cut."""
        limit, offset = node.args.get("limit"), node.args.get("offset")
        fetch = None
        if isinstance(limit, exp.Fetch):
            fetch = self._count(limit.args.get("count"))
        elif limit is not None:
            if limit.args.get("offset") is not None:
                offset = exp.Offset(expression=limit.args["offset"])
            fetch = None if _is_all(limit.expression) else self._count(limit.expression)
        skip = self._count(offset.expression) if offset is not None else 0
        if not keys and fetch is None and not skip:
            return plan
        return Sort(plan.fields, plan, keys, skip, fetch)

    def _count(self, node: Any) -> int:
        if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit():
            return int(node.this)
        raise self.ctx.error("LIMIT and OFFSET need a whole number", node)

    # -- IN --------------------------------------------------------------------------------------------

    def align_in(self, left: list[Rex], plan: Plan, node: Any) -> tuple[list[Rex], Plan]:
        """Casts both sides of `IN (query)` to their common types."""
        types = []
        for rex, field in zip(left, plan.fields, strict=True):
            merged = common_type([rex.type, field.type])
            if merged is None:
                raise self.ctx.error(
                    f"values of type {rex.type.as_summary()} are not comparable with {field.type.as_summary()}",
                    node,
                )
            types.append(merged)
        casted = [cast_rex(r, t) for r, t in zip(left, types, strict=True)]
        return casted, cast_columns(plan, types)


def _has_modifiers(node: Any) -> bool:
    return any(node.args.get(k) for k in ("order", "limit", "offset", "with_"))


def _is_all(node: Any) -> bool:
    return isinstance(node, exp.Var) and node.name.upper() == "ALL"


def rename(plan: Plan, names: list[str]) -> Plan:
    """The plan with other column names: (a, b) of an alias."""
    fields = tuple(replace(f, name=n) for f, n in zip(plan.fields, names, strict=True))
    if fields == plan.fields:
        return plan
    exprs = tuple(InputRef(f.type, i, f.time) for i, f in enumerate(plan.fields))
    return Project(fields, plan, exprs)
