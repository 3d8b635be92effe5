"""distinct, order_by, offset and fetch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from penstock.sql.plan.algebra import Aggregate, Plan, Sort
from penstock.sql.plan.rex import InputRef
from penstock.table.expression_parts.nodes import Node
from penstock.table.resolving.binder import NodeBinder
from penstock.table.resolving.columns import Columns
from penstock.table.resolving.context import ProgramContext


def distinct(plan: Plan) -> Plan:
    """Each different row once: a grouping by all columns."""
    refs = tuple(InputRef(f.type, i, f.time) for i, f in enumerate(plan.fields))
    return Aggregate(plan.fields, plan, refs, ())


def order_by(ctx: ProgramContext, plan: Plan, nodes: Sequence[Node]) -> Plan:
    """The rows in an order. NULLs are the largest values here, as in Flink's Table API, but the smallest in SQL."""
    binder = NodeBinder(ctx, plan.fields, place=ctx.call)
    found = (binder.sort_key(n) for n in Columns(ctx, plan.fields).spread(nodes))
    keys = tuple(replace(key, nulls_first=key.descending) for key in found)
    if not keys:
        raise ctx.error("order_by needs a column")
    return Sort(plan.fields, plan, keys)


def offset(ctx: ProgramContext, plan: Plan, count: Any) -> Plan:
    """Without the first rows; comes before fetch."""
    _check(ctx, count)
    if isinstance(plan, Sort) and plan.fetch is not None:
        raise ctx.error("FETCH is already defined: offset comes before it", do="write limit(fetch, offset)")
    if isinstance(plan, Sort) and plan.offset:
        raise ctx.error("OFFSET is already defined")
    return replace(plan, offset=count) if isinstance(plan, Sort) else Sort(plan.fields, plan, (), count)


def fetch(ctx: ProgramContext, plan: Plan, count: Any) -> Plan:
    """Only the first rows."""
    _check(ctx, count)
    if isinstance(plan, Sort) and plan.fetch is not None:
        raise ctx.error("FETCH is already defined")
    return replace(plan, fetch=count) if isinstance(plan, Sort) else Sort(plan.fields, plan, (), 0, count)


def _check(ctx: ProgramContext, count: Any) -> None:
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise ctx.error(f"{ctx.call} takes a number of rows, got {count!r}")
