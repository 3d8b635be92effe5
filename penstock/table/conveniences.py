"""Short forms that Flink does not have: FLIP-155 proposed them, and pandas users look for them.

Each is made of the calls around it, so that its plan is one that Flink could have.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.common.datatypes import DataType
from penstock.common.near_names import did_you_mean
from penstock.sql.functions.common_types import common_type
from penstock.sql.plan.algebra import Field, Filter, Over
from penstock.sql.plan.rex import Const, InputRef, OverCall
from penstock.table.expression_parts.base import literal, make, node_of
from penstock.table.expression_parts.nodes import Apply, Name, Node
from penstock.table.resolving.arguments import node_of_expression, nodes_of
from penstock.table.resolving.binder import NodeBinder
from penstock.table.resolving.column_operations import refs
from penstock.table.resolving.context import ProgramContext
from penstock.table.resolving.projecting import project

if TYPE_CHECKING:
    from penstock.sql.plan.algebra import Plan
    from penstock.table.table import Table


class Conveniences:
    """What `Table` has beyond PyFlink's."""

    _plan: Plan

    @abstractmethod
    def _context(self, call: str) -> ProgramContext:
        """What names in the arguments of a call stand for."""

    @abstractmethod
    def _with(self, plan: Plan) -> Table:
        """A table of the same session with another plan."""

    def _self(self) -> Table:
        return self._with(self._plan)

    def deduplicate(self, keys: Sequence[Any], order: Any, keep: str = "first") -> Table:
        """One row for each key: the first or the last by a time attribute, or in batch by any column.

        Args:
            keys: Expressions or names of columns.
            order: What the rows are ordered by.
            keep: "first" or "last".
        """
        ctx = self._context("deduplicate")
        if keep not in ("first", "last"):
            raise ctx.error(f"deduplicate keeps 'first' or 'last', got {keep!r}")
        node = _node(ctx, order)
        return self._with(
            _numbered(ctx, self._plan, keys, [Apply("desc", (node,)) if keep == "last" else node], 1)
        )

    def top_n(self, n: int, order: Any, partition_by: Sequence[Any] = ()) -> Table:
        """The first n rows in an order, of the table or of each partition.

        Args:
            order: An expression with `asc` or `desc`, or several.
            partition_by: Expressions or names of columns.
        """
        ctx = self._context("top_n")
        if not isinstance(n, int) or n < 1:
            raise ctx.error(f"top_n takes a number of rows, got {n!r}")
        items = order if isinstance(order, (list, tuple)) else [order]
        return self._with(_numbered(ctx, self._plan, partition_by, [_node(ctx, i) for i in items], n))

    def fillna(self, value: Any, subset: Sequence[str] | None = None) -> Table:
        """NULLs replaced: by a value wherever its type fits, or by the values of a dict of columns."""
        ctx = self._context("fillna")
        chosen = _chosen(ctx, self._plan, list(value) if isinstance(value, Mapping) else subset)
        changed = []
        for name, data_type in chosen:
            new = value[name] if isinstance(value, Mapping) else value
            if not isinstance(value, Mapping) and subset is None and not _fits(new, data_type):
                continue
            changed.append(make(Apply("IFNULL", (Name(name), node_of(new)))).alias(name))
        return self._self().add_or_replace_columns(*changed) if changed else self._self()

    def dropna(self, how: str = "any", subset: Sequence[str] | None = None) -> Table:
        """Without rows that have a NULL ("any"), or nothing but NULLs ("all"), in the columns."""
        ctx = self._context("dropna")
        if how not in ("any", "all"):
            raise ctx.error(f"dropna takes how='any' or how='all', got {how!r}")
        tests = tuple(Apply("isNotNull", (Name(n),)) for n, _ in _chosen(ctx, self._plan, subset))
        test: Node = tests[0] if len(tests) == 1 else Apply("and" if how == "any" else "or", tests)
        return self._self().filter(make(test))

    def replace(self, to_replace: Any, value: Any = None, subset: Sequence[str] | None = None) -> Table:
        """Values replaced by others: one by one, or as a dict says, in columns whose type fits."""
        ctx = self._context("replace")
        pairs = to_replace if isinstance(to_replace, Mapping) else {to_replace: value}
        changed = []
        for name, data_type in _chosen(ctx, self._plan, subset):
            fitting = {old: new for old, new in pairs.items() if _fits(old, data_type)}
            if not fitting:
                continue
            node: Node = Name(name)
            for old, new in reversed(list(fitting.items())):
                to = make(Apply("equals", (Name(name), node_of(old))))
                node = to.then(new, make(node))._node
            changed.append(make(node).alias(name))
        return self._self().add_or_replace_columns(*changed) if changed else self._self()


def _node(ctx: ProgramContext, value: Any) -> Node:
    return Name(value) if isinstance(value, str) else node_of_expression(ctx, value)


def _chosen(ctx: ProgramContext, plan: Plan, subset: Sequence[str] | None) -> list[tuple[str, DataType]]:
    types = {f.name: f.type for f in plan.fields}
    for name in subset or ():
        if name not in types:
            raise ctx.error(f"column '{name}' not found in {ctx.call}", do=did_you_mean(name, types))
    return [(n, t) for n, t in types.items() if subset is None or n in subset]


def _fits(value: Any, data_type: DataType) -> bool:
    return common_type([literal(value).type.nullable(), data_type.nullable()]) is not None


def _numbered(ctx: ProgramContext, plan: Plan, keys: Sequence[Any], order: Sequence[Node], n: int) -> Plan:
    """ROW_NUMBER() OVER (PARTITION BY keys ORDER BY order) <= n, which the planner knows as a rank."""
    binder = NodeBinder(ctx, plan.fields, place=ctx.call)
    partition = tuple(binder.bind(k) for k in nodes_of(ctx, [make(_node(ctx, k)) for k in keys]))
    sort = tuple(binder.sort_key(o) for o in order)
    number = binder.call_type("ROW_NUMBER", ())
    call = OverCall(number, "ROW_NUMBER", (), partition, sort)
    over = Over((*plan.fields, Field("w0", number)), plan, (call,))
    inner = project(ctx, over, [*(f.name for f in plan.fields), "$number"], refs(over))
    at = InputRef(number, len(plan.fields))
    limit = Const(_INT, n)
    condition = binder.call("<=", (at, limit))
    return project(ctx, Filter(inner.fields, inner, condition), [f.name for f in plan.fields], refs(plan))


_INT = literal(1).type
