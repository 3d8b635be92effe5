"""filter, joins and set operations."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from penstock.sql.binder import literals
from penstock.sql.binder.query import QueryBinder
from penstock.sql.binder.relations import joined_fields
from penstock.sql.plan.algebra import Filter, Join, JoinKind, Plan
from penstock.sql.plan.rex import Rex
from penstock.table.expression_parts.nodes import Node
from penstock.table.resolving.binder import NodeBinder
from penstock.table.resolving.columns import Columns
from penstock.table.resolving.context import ProgramContext

_SET_OPERATIONS: dict[str, Any] = {"UNION": exp.Union, "EXCEPT": exp.Except, "INTERSECT": exp.Intersect}


def filtered(ctx: ProgramContext, plan: Plan, node: Node) -> Plan:
    """The rows for which a condition is true."""
    spread = Columns(ctx, plan.fields).spread([node])[0]
    return Filter(plan.fields, plan, NodeBinder(ctx, plan.fields, place=ctx.call).condition(spread))


def join(ctx: ProgramContext, left: Plan, right: Plan, kind: JoinKind, node: Node | None) -> Plan:
    """The join of two tables whose columns have different names."""
    names = {f.name for f in left.fields}
    twice = [f.name for f in right.fields if f.name in names]
    if twice:
        raise ctx.error(
            f"ambiguous column name: {twice[0]} is on both sides",
            do=f"rename it on one side: rename_columns(col('{twice[0]}').alias('{twice[0]}2'))",
        )
    condition: Rex | None = None
    if node is not None:
        both = (*left.fields, *right.fields)
        condition = NodeBinder(ctx, both, place=ctx.call).condition(node)
    elif kind != "inner":
        condition = literals.boolean(True)
    return Join(joined_fields(left.fields, right.fields, kind), left, right, kind, condition)


def set_operation(ctx: ProgramContext, left: Plan, right: Plan, kind: str, keep_all: bool) -> Plan:
    """UNION, EXCEPT or INTERSECT, with the types that both sides have in common."""
    return QueryBinder(ctx).combine(_SET_OPERATIONS[kind](distinct=not keep_all), left, right)
