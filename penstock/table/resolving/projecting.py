"""select: from the columns of a plan to the columns that were asked for.

The walk is that of SQL's SELECT (`sql/binder/select.py`): aggregates are bound in place, then moved into an
`Aggregate` below, window calls into an `Over`, and what is left is a `Project`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.common.datatypes import DataTypes
from penstock.common.errors import NotSupportedError
from penstock.datastream.builder import call_site
from penstock.sql.binder.group_windows import GroupWindows
from penstock.sql.binder.grouping import GroupElement, Grouping
from penstock.sql.binder.overs import with_windows
from penstock.sql.binder.tables import time_of
from penstock.sql.plan.algebra import Aggregate, Field, Plan, Project
from penstock.sql.plan.rex import AggCall, InputRef, Rex, walk
from penstock.table.expression_parts.nodes import Apply, Name, Node, Rows, Value
from penstock.table.resolving.binder import NodeBinder, Windows
from penstock.table.resolving.columns import Columns, column_names
from penstock.table.resolving.context import ProgramContext
from penstock.table.window_specs import GroupWindowSpec


@dataclass(frozen=True)
class Groups:
    """What rows are grouped by: keys and, maybe, a window."""

    keys: tuple[Node, ...]
    window: GroupWindowSpec | None = None

    def rows(self) -> tuple[int, int] | None:
        """Size and slide of a window of a number of rows."""
        return None if self.window is None or not self.window.counts_rows else self.window.row_counts()

    def named(self) -> dict[str, Node]:
        """Keys that were given a name."""
        return {
            str(k.args[1].value): k.args[0]
            for k in self.keys
            if isinstance(k, Apply) and k.function == "as" and isinstance(k.args[1], Value)
        }


def checked_groups(
    ctx: ProgramContext, plan: Plan, nodes: Sequence[Node], window: GroupWindowSpec | None = None
) -> Groups:
    """The keys of `group_by(...)`, of which each is an expression of the table's columns."""
    keys = Columns(ctx, plan.fields).spread(nodes)
    binder = NodeBinder(ctx, plan.fields, place=ctx.call, windows=Windows(window))
    if window is not None and window.counts_rows:
        _check_row_window(ctx, window, binder)
    for key in keys:
        if not (window is not None and window.counts_rows and is_name(key, window.alias)):
            binder.bind(key)
    return Groups(tuple(keys), window)


def select(
    ctx: ProgramContext,
    plan: Plan,
    nodes: Sequence[Node],
    *,
    groups: Groups | None = None,
    windows: Windows | None = None,
    aggregates: bool = True,
) -> Plan:
    """The plan of `select(...)`."""
    items = Columns(ctx, plan.fields).spread(nodes)
    if not items:
        raise ctx.error("select needs at least one column")
    window = groups.window if groups is not None else None
    over = windows.over if windows is not None else None
    binder = NodeBinder(
        ctx,
        plan.fields,
        place=ctx.call,
        aggregates=aggregates,
        windows=Windows(window, over),
        named=groups.named() if groups is not None else None,
    )
    rexes = [binder.bind(item) for item in items]
    grouped = groups is not None or any(isinstance(part, AggCall) for r in rexes for part in walk(r))
    names = column_names(items, grouped)
    if grouped:
        plan, rexes = group(ctx, plan, rexes, groups or Groups(()), binder)
    plan, rexes = with_windows(ctx, plan, rexes)
    return project(ctx, plan, names, rexes)


def project(ctx: ProgramContext, plan: Plan, names: Sequence[str], rexes: Sequence[Rex]) -> Plan:
    """A projection whose columns have different names."""
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ctx.error(f"ambiguous column name: {name}", do="rename one of the two with alias(...)")
    fields = tuple(Field(n, r.type, time_of(r)) for n, r in zip(names, rexes, strict=True))
    return Project(fields, plan, tuple(rexes))


def group(
    ctx: ProgramContext, plan: Plan, rexes: Sequence[Rex], groups: Groups, binder: NodeBinder
) -> tuple[Plan, list[Rex]]:
    """The aggregate, and the expressions over its columns."""
    rows = groups.rows()
    keyed = [
        k for k in groups.keys if rows is None or groups.window is None or not is_name(k, groups.window.alias)
    ]
    elements = [GroupElement([_unnamed(k)], [[0]]) for k in keyed]
    names = [f.name for f in plan.fields]
    plan, keys, sets, meanings = GroupWindows(ctx, binder).apply(plan, elements)
    grouping = Grouping(ctx, keys, sets, meanings)
    for rex in rexes:
        _check_grouped(ctx, rex, keys, [*meanings], names)
    items = [grouping.rewrite(r) for r in rexes]
    made = grouping.aggregate(plan)
    return made if rows is None else _of_row_windows(ctx, made, rows), items


def _check_row_window(ctx: ProgramContext, window: GroupWindowSpec, binder: NodeBinder) -> None:
    """Refuses windows of rows where Flink does, with its words."""
    if window.kind == "SESSION":
        raise ctx.error("a session window expects a gap literal of a day-time interval type")
    if not all(isinstance(length, Rows) for length in window.lengths):
        raise ctx.error("a sliding window expects the same type of size and slide")
    if not ctx.streaming:
        raise NotSupportedError(
            "group windows of a number of rows in batch mode",
            "the rows of a bounded table have no order of arrival; Flink refuses them too",
            where=call_site(),
            do="use ROW_NUMBER() OVER (...) in SQL",
        )
    time = binder.bind(window.time)
    if not isinstance(time, InputRef) or time.time != "proctime":
        raise ctx.error(
            "event-time grouping windows on row intervals are not supported",
            do="give a processing time attribute: on(col('proctime'))",
        )
    if min(window.row_counts()) < 1:
        raise ctx.error("a window has at least one row", do="write row_interval(1) or more")


def _of_row_windows(ctx: ProgramContext, plan: Aggregate, rows: tuple[int, int]) -> Aggregate:
    """The aggregate once for each window of rows; it counts them if nothing else is asked for."""
    if plan.calls:
        return replace(plan, row_window=rows)
    count = AggCall(DataTypes.BIGINT(False), "COUNT", ())
    fields = (*plan.fields, Field("$rows", count.type))
    return replace(plan, fields=fields, calls=(count,), row_window=rows)


def _unnamed(node: Node) -> Node:
    return node.args[0] if isinstance(node, Apply) and node.function == "as" else node


def _check_grouped(
    ctx: ProgramContext, rex: Rex, keys: Sequence[Rex], windows: Sequence[Rex], names: Sequence[str]
) -> None:
    """Refuses a column that differs within a group, by its name."""
    if isinstance(rex, AggCall) or rex in keys or rex in windows:
        return
    if isinstance(rex, InputRef):
        keyed = [names[k.index] for k in keys if isinstance(k, InputRef) and k.index < len(names)]
        shown = ", ".join(keyed) or "nothing"
        raise ctx.error(
            f"column '{names[rex.index]}' is not being grouped (rows are grouped by {shown})",
            do="add it to group_by(...), or aggregate it: col('a').max",
        )
    for child in rex.children():
        _check_grouped(ctx, child, keys, windows, names)


def is_name(node: Node, name: str) -> bool:
    """Whether the node is a column of this name."""
    return isinstance(node, Name) and node.name == name
