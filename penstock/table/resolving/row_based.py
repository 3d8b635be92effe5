"""Functions on whole rows: map, flat_map, lateral joins, aggregate and flat_aggregate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.common.datatypes import ArrayType, RowType
from penstock.sql.binder import literals
from penstock.sql.plan.algebra import Field, Fields, Filter, Plan, TableFunctionScan, Unnest
from penstock.sql.plan.rex import AggCall, Call, Const, InputRef, Rex, UdfCall
from penstock.sql.user_functions import UserFunction, find_user_function
from penstock.table.expression_parts.base import Operand
from penstock.table.expression_parts.nodes import Apply, CallByName, CallOf, Name, Node, Value
from penstock.table.list_aggregates import as_list_aggregate, rows_of_list
from penstock.table.resolving.binder import NodeBinder, Windows
from penstock.table.resolving.columns import Columns
from penstock.table.resolving.context import ProgramContext
from penstock.table.resolving.projecting import Groups, group, project, select

_PROPERTIES = ("start", "end", "rowtime", "proctime")


def function_node(ctx: ProgramContext, given: Any, fields: Fields, groups: Groups | None = None) -> Node:
    """The call of a function: as it was written, or of the function itself with the whole row."""
    columns = Columns(ctx, fields)
    if isinstance(given, Operand):
        return columns.spread([given._node])[0]
    adapt = getattr(given, "to_user_function", None)
    if adapt is None:
        raise ctx.error(f"{ctx.call} takes the call of a function, got {given!r}", do="write f(col('a'))")
    name = getattr(given, "_name", type(given).__name__)
    time = groups.window.time if groups is not None and groups.window is not None else None
    row = tuple(Name(n) for n in columns.names if Name(n) != time)
    call: Node = CallOf(adapt(name), name, row, takes_row=True)
    names = getattr(given, "_alias_names", None)
    return call if not names else Apply("as", (call, *(Value(n, literals.text(n).type) for n in names)))


def _unaliased(node: Node) -> tuple[Node, list[str]]:
    if isinstance(node, Apply) and node.function == "as":
        return node.args[0], [str(a.value) for a in node.args[1:] if isinstance(a, Value)]
    return node, []


# -- scalar and table functions --------------------------------------------------------------------------


def mapped(ctx: ProgramContext, plan: Plan, node: Node) -> Plan:
    """The fields of what a scalar function gives, as columns."""
    rex = NodeBinder(ctx, plan.fields, place=ctx.call).bind(node)
    if not isinstance(rex, UdfCall | Call) or _unaliased(node)[1]:
        raise ctx.error(f"map takes the call of a scalar function, got {node}")
    if not isinstance(rex.type, RowType):
        return project(ctx, plan, ["f0"], [rex])
    inner = project(ctx, plan, ["f0"], [rex])
    fields = _fields_of_row(InputRef(rex.type, 0), ctx)
    return project(ctx, inner, rex.type.field_names(), fields)


def _fields_of_row(row: Rex, ctx: ProgramContext) -> list[Rex]:
    assert isinstance(row.type, RowType)
    binder = NodeBinder(ctx, (), place=ctx.call)
    return [binder.call("DOT", (row, literals.text(name))) for name in row.type.field_names()]


def lateral(ctx: ProgramContext, plan: Plan, node: Node, outer: bool, condition: Node | None) -> Plan:
    """Each row with the rows of a table function, under the names of its alias."""
    call, names = _unaliased(node)
    scan = _table_function(ctx, plan, call, names, outer)
    taken = {f.name for f in plan.fields}
    for field in scan.fields[len(plan.fields) :]:
        if field.name in taken:
            raise ctx.error(
                f"ambiguous column name: {field.name}", do="name the function's columns: f(...).alias(...)"
            )
    if condition is None:
        return scan
    rex = NodeBinder(ctx, scan.fields, place=ctx.call).condition(condition)
    if isinstance(rex, Const) and rex.value is True:
        return scan
    if outer:
        raise ctx.error("an outer join with a table function takes no condition but lit(True)")
    return Filter(scan.fields, scan, rex)


def flat_mapped(ctx: ProgramContext, plan: Plan, node: Node) -> Plan:
    """Only the rows of a table function."""
    call, names = _unaliased(node)
    scan = _table_function(ctx, plan, call, names, False)
    added = scan.fields[len(plan.fields) :]
    columns = [InputRef(f.type, len(plan.fields) + i) for i, f in enumerate(added)]
    return project(ctx, scan, [f.name for f in added], columns)


def _table_function(ctx: ProgramContext, plan: Plan, node: Node, names: list[str], outer: bool) -> Plan:
    name, function, args = _called(ctx, plan, node)
    if function is None or function.kind != "table":
        raise ctx.error(
            f"{ctx.call} takes the call of a table function, got {node}", do="make one with udtf(...)"
        )
    fields = [Field(f"f{i}", t) for i, (_, t) in enumerate(function.result_fields([a.type for a in args]))]
    if names:
        if len(names) != len(fields):
            raise ctx.error(f"{name} gives {len(fields)} columns, the alias names {len(names)}")
        fields = [replace(f, name=n) for f, n in zip(fields, names, strict=True)]
    if outer:
        fields = [replace(f, type=f.type.nullable()) for f in fields]
    added = tuple(fields)
    return TableFunctionScan((*plan.fields, *added), plan, name, function, args, added, outer)


def _called(ctx: ProgramContext, plan: Plan, node: Node) -> tuple[str, UserFunction | None, tuple[Rex, ...]]:
    binder = NodeBinder(ctx, plan.fields, place=ctx.call)
    if isinstance(node, CallOf):
        function: Any = node.function
        args = (binder.row_of(node.args),) if node.takes_row else tuple(binder.bind(a) for a in node.args)
        return node.name, function, binder.fitting(function, args)
    if isinstance(node, CallByName):
        function = find_user_function(ctx.catalogs, node.path)
        if function is not None:
            return node.path, function, binder.fitting(function, tuple(binder.bind(a) for a in node.args))
    return str(node), None, ()


# -- aggregate functions ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class WindowColumns:
    """Which hidden columns of an aggregated table are the properties of its window."""

    alias: str
    names: tuple[str, ...]

    def visible(self, plan: Plan) -> Plan:
        """What `*` means."""
        return replace(plan, fields=tuple(f for f in plan.fields if f.name not in self.names))


def aggregated(
    ctx: ProgramContext, plan: Plan, groups: Groups, node: Node
) -> tuple[Plan, WindowColumns | None]:
    """The keys and the fields of what an aggregate function gives; properties of a window are hidden columns."""
    call, names = _unaliased(node)
    windows = Windows(groups.window)
    binder = NodeBinder(ctx, plan.fields, place=ctx.call, aggregates=True, windows=windows)
    rex = binder.bind(call)
    if not isinstance(rex, AggCall):
        raise ctx.error(
            f"aggregate takes the call of an aggregate function, got {node}", do="make one with udaf(...)"
        )
    keys = [k for k in groups.keys if groups.window is None or k != Name(groups.window.alias)]
    shown = [_key_name(k, i) for i, k in enumerate(keys)]
    hidden = _window_properties(ctx, plan, groups)
    bound = [binder.bind(_unaliased(k)[0]) for k in keys]
    properties = [binder.bind(Apply(p, (Name(groups.window.alias),))) for p in hidden if groups.window]
    below, items = group(ctx, plan, [*bound, rex, *properties], groups, binder)
    result = items[len(keys)]
    values = _fields_of_row(result, ctx) if isinstance(result.type, RowType) else [result]
    labels = _labels(ctx, result, names)
    columns = [f"${groups.window.alias}.{p}" for p in hidden if groups.window]
    made = project(
        ctx, below, [*shown, *labels, *columns], [*items[: len(keys)], *values, *items[len(keys) + 1 :]]
    )
    return made, None if not columns or groups.window is None else WindowColumns(
        groups.window.alias, tuple(columns)
    )


def _key_name(key: Node, index: int) -> str:
    _, names = _unaliased(key)
    return names[0] if names else str(key)


def _labels(ctx: ProgramContext, result: Rex, names: list[str]) -> list[str]:
    own = [f"TMP_0${n}" for n in result.type.field_names()] if isinstance(result.type, RowType) else ["TMP_0"]
    if names and len(names) != len(own):
        raise ctx.error(f"the function gives {len(own)} columns, the alias names {len(names)}")
    return names or own


def _window_properties(ctx: ProgramContext, plan: Plan, groups: Groups) -> list[str]:
    if groups.window is None or groups.window.counts_rows:
        return []
    time = NodeBinder(ctx, plan.fields, place=ctx.call).bind(groups.window.time)
    kind = time.time if isinstance(time, InputRef) else ""
    return ["start", "end", *([kind] if kind else [])]


def over_window_columns(nodes: Sequence[Node], window: WindowColumns | None) -> list[Node]:
    """`w.start` as the hidden column that it is by now."""
    return [n if window is None else _with_columns(n, window) for n in nodes]


def _with_columns(node: Node, window: WindowColumns) -> Node:
    if not isinstance(node, Apply):
        return node
    if node.function in _PROPERTIES and node.args[0] == Name(window.alias):
        return Name(f"${window.alias}.{node.function}")
    return replace(node, args=tuple(_with_columns(a, window) for a in node.args))


def selected(ctx: ProgramContext, plan: Plan, visible: Plan, nodes: Sequence[Node]) -> Plan:
    """select over an aggregated table: properties of the window get the names they have elsewhere."""
    items = Columns(ctx, visible.fields).spread(nodes)
    made = select(ctx, plan, items, aggregates=False)
    names = iter(range(len(items)))
    fields = tuple(
        replace(f, name=f"EXPR${next(names)}") if f.name.startswith("$") else f for f in made.fields
    )
    return replace(made, fields=fields)


def flat_aggregated(
    ctx: ProgramContext, plan: Plan, groups: Groups, node: Node
) -> tuple[Plan, WindowColumns | None]:
    """The keys and the rows that a table aggregate function gives; properties of the window follow, hidden."""
    call, names = _unaliased(node)
    if not isinstance(call, CallOf) or getattr(call.function, "kind", "") != "table aggregate":
        raise ctx.error(
            f"flat_aggregate takes the call of a table aggregate function, got {node}",
            do="make one with udtaf(...)",
        )
    lists, window = aggregated(ctx, plan, groups, replace(call, function=as_list_aggregate(call.function)))
    hidden = 0 if window is None else len(window.names)
    at = len(lists.fields) - hidden - 1
    spread, added = _spread(ctx, lists, at)
    places = [*range(at), *range(len(lists.fields), len(spread.fields)), *range(at + 1, len(lists.fields))]
    refs = [InputRef(spread.fields[i].type, i, spread.fields[i].time) for i in places]
    labels = [
        *(f.name for f in lists.fields[:at]),
        *_flat_labels(ctx, added, names),
        *(f.name for f in lists.fields[at + 1 :]),
    ]
    return project(ctx, spread, labels, refs), window


def _spread(ctx: ProgramContext, lists: Plan, at: int) -> tuple[Plan, Fields]:
    """The rows of the list in a column, each with the other columns.

    A stream does it with a function in Python, where the lists come from: UNNEST would go through Catalyst.
    """
    collection = InputRef(lists.fields[at].type, at)
    assert isinstance(collection.type, ArrayType) and isinstance(collection.type.element_type, RowType)
    added = tuple(Field(f.name, f.data_type) for f in collection.type.element_type)
    fields = (*lists.fields, *added)
    if not ctx.streaming:
        return Unnest(fields, lists, collection), added
    function = UserFunction("UNNEST", rows_of_list, collection.type.element_type, "table")
    return TableFunctionScan(fields, lists, "UNNEST", function, (collection,), added, False), added


def _flat_labels(ctx: ProgramContext, added: Fields, names: list[str]) -> list[str]:
    if names and len(names) != len(added):
        raise ctx.error(f"the function gives {len(added)} columns, the alias names {len(names)}")
    return names or [f.name for f in added]
