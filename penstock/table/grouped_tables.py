"""Tables between two calls: grouped, put into windows, or aggregated, but without a select list yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.table.resolving import row_based
from penstock.table.resolving.arguments import nodes_of
from penstock.table.resolving.binder import Windows
from penstock.table.resolving.projecting import Groups, checked_groups, is_name, select
from penstock.table.window import GroupWindow, OverWindow

if TYPE_CHECKING:
    from penstock.table.expression import Expression
    from penstock.table.table import Table


class GroupedTable:
    """Rows in groups of equal keys."""

    def __init__(self, table: Table, groups: Groups) -> None:
        self._table = table
        self._groups = groups

    def select(self, *fields: Expression[Any]) -> Table:
        """One row for each group: keys and aggregates."""
        ctx = self._table._context("select")
        return self._table._with(select(ctx, self._table.plan, nodes_of(ctx, fields), groups=self._groups))

    def aggregate(self, func: Any) -> AggregatedTable:
        """What an aggregate function gives for each group, its fields as columns."""
        ctx = self._table._context("aggregate")
        node = row_based.function_node(ctx, func, self._table.plan.fields, self._groups)
        plan, window = row_based.aggregated(ctx, self._table.plan, self._groups, node)
        return AggregatedTable(self._table._with(plan), window)

    def flat_aggregate(self, func: Any) -> FlatAggregateTable:
        """The rows that a table aggregate function gives for each group."""
        ctx = self._table._context("flat_aggregate")
        node = row_based.function_node(ctx, func, self._table.plan.fields, self._groups)
        plan, window = row_based.flat_aggregated(ctx, self._table.plan, self._groups, node)
        return FlatAggregateTable(self._table._with(plan), window)


class GroupWindowedTable:
    """Rows in windows."""

    def __init__(self, table: Table, window: GroupWindow) -> None:
        ctx = table._context("window")
        if not isinstance(window, GroupWindow):
            do = "write window(Tumble.over(lit(10).minutes).on(col('ts')).alias('w'))"
            raise ctx.error(f"window takes a group window, got {window!r}", do=do)
        self._table = table
        self._window = window._spec

    def group_by(self, *fields: Expression[Any]) -> WindowGroupedTable:
        """Groups of rows of one window and equal keys; the window's alias has to be among them."""
        ctx = self._table._context("group_by")
        nodes = nodes_of(ctx, fields)
        if not any(is_name(n, self._window.alias) for n in nodes):
            raise ctx.error(
                f"the window '{self._window.alias}' has to be one of the keys",
                do=f"write group_by(col('{self._window.alias}'), ...)",
            )
        return WindowGroupedTable(self._table, checked_groups(ctx, self._table.plan, nodes, self._window))


class WindowGroupedTable:
    """Rows in groups of one window and equal keys."""

    def __init__(self, table: Table, groups: Groups) -> None:
        self._table = table
        self._groups = groups

    def select(self, *fields: Expression[Any]) -> Table:
        """One row for each group: keys, aggregates, `w.start`, `w.end`, `w.rowtime`, `w.proctime`."""
        return GroupedTable(self._table, self._groups).select(*fields)

    def aggregate(self, func: Any) -> AggregatedTable:
        """What an aggregate function gives for each group, its fields as columns."""
        return GroupedTable(self._table, self._groups).aggregate(func)

    def flat_aggregate(self, func: Any) -> FlatAggregateTable:
        """The rows that a table aggregate function gives for each group."""
        return GroupedTable(self._table, self._groups).flat_aggregate(func)


class OverWindowedTable:
    """Rows with windows around them."""

    def __init__(self, table: Table, windows: Sequence[OverWindow]) -> None:
        ctx = table._context("over_window")
        for window in windows:
            if not isinstance(window, OverWindow):
                do = "write over_window(Over.partition_by(col('k')).order_by(col('ts')).alias('w'))"
                raise ctx.error(f"over_window takes windows, got {window!r}", do=do)
        if not windows:
            raise ctx.error("over_window needs a window")
        self._table = table
        self._windows = {w._spec.alias: w._spec for w in windows}

    def select(self, *fields: Expression[Any]) -> Table:
        """Columns and aggregates over the windows, for each row."""
        ctx = self._table._context("select")
        windows = Windows(over=self._windows)
        plan = select(ctx, self._table.plan, nodes_of(ctx, fields), windows=windows, aggregates=False)
        return self._table._with(plan)


class AggregatedTable:
    """Keys and what an aggregate function gave."""

    def __init__(self, table: Table, window: row_based.WindowColumns | None) -> None:
        self._table = table
        self._window = window

    def select(self, *fields: Expression[Any]) -> Table:
        """The columns that are wanted; aggregates are not possible any more."""
        ctx = self._table._context("select")
        nodes = row_based.over_window_columns(nodes_of(ctx, fields), self._window)
        visible = self._table.plan if self._window is None else self._window.visible(self._table.plan)
        return self._table._with(row_based.selected(ctx, self._table.plan, visible, nodes))


class FlatAggregateTable(AggregatedTable):
    """Keys and the rows that a table aggregate function gave."""
