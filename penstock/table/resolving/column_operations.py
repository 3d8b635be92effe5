"""alias, add_columns, rename_columns, drop_columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.sql.binder.query import rename
from penstock.sql.plan.algebra import Plan
from penstock.sql.plan.rex import InputRef, Rex
from penstock.table.expression_parts.nodes import Apply, Name, Node, Value
from penstock.table.resolving.binder import NodeBinder
from penstock.table.resolving.columns import Columns, column_names
from penstock.table.resolving.context import ProgramContext
from penstock.table.resolving.projecting import project


def refs(plan: Plan) -> list[Rex]:
    """All columns as they are."""
    return [InputRef(f.type, i, f.time) for i, f in enumerate(plan.fields)]


def alias(ctx: ProgramContext, plan: Plan, names: Sequence[Any]) -> Plan:
    """Other names for the first columns."""
    for name in names:
        if not isinstance(name, str):
            raise ctx.error(f"alias takes names, got {name!r}")
    if len(names) > len(plan.fields):
        raise ctx.error(f"aliasing {len(names)} columns where the table has {len(plan.fields)}")
    wanted = [*names, *(f.name for f in plan.fields[len(names) :])]
    for i, name in enumerate(wanted):
        if name in wanted[:i]:
            raise ctx.error(f"ambiguous column name: {name}")
    return rename(plan, wanted)


def add(ctx: ProgramContext, plan: Plan, nodes: Sequence[Node], *, replace: bool) -> Plan:
    """More columns; with `replace`, in the place of those that have their names."""
    binder = NodeBinder(ctx, plan.fields, place=ctx.call)
    items = Columns(ctx, plan.fields).spread(nodes)
    old = [f.name for f in plan.fields]
    made = column_names([*(Name(n) for n in old), *items], grouped=False)[len(old) :]
    names, rexes = list(old), refs(plan)
    for name, item in zip(made, items, strict=True):
        rex = binder.bind(item)
        if replace and name in names:
            rexes[names.index(name)] = rex
            continue
        names.append(name)
        rexes.append(rex)
    return project(ctx, plan, names, rexes)


def rename_some(ctx: ProgramContext, plan: Plan, nodes: Sequence[Node]) -> Plan:
    """`col("a").alias("b")`: the column under another name, where it was."""
    names = [f.name for f in plan.fields]
    wanted = list(names)
    binder = NodeBinder(ctx, plan.fields, place=ctx.call)
    for node in nodes:
        ok = isinstance(node, Apply) and node.function == "as" and isinstance(node.args[0], Name)
        if not ok or not isinstance(node, Apply) or not isinstance(node.args[1], Value):
            raise ctx.error(
                f"rename_columns takes columns with their new names, got {node}",
                do="write col('a').alias('b')",
            )
        wanted[binder.column(str(node.args[0])).index] = str(node.args[1].value)
    return alias(ctx, plan, wanted)


def drop(ctx: ProgramContext, plan: Plan, nodes: Sequence[Node]) -> Plan:
    """Without the chosen columns."""
    dropped = set(Columns(ctx, plan.fields).chosen(nodes))
    kept = [(f.name, r) for f, r in zip(plan.fields, refs(plan), strict=True) if f.name not in dropped]
    if not kept:
        raise ctx.error("drop_columns would leave no column")
    return project(ctx, plan, [n for n, _ in kept], [r for _, r in kept])
