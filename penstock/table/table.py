"""A table of the Table API: the plan of a query, not its rows.

    orders.filter(col("price") > 10).group_by(col("item")).select(col("item"), col("price").sum.alias("total"))

Every method gives a new table and checks at once what it was told, so that an error names the line of the program
that made it. Plans are those that SQL would have (`table/resolving/`); nothing runs until a table is executed.
"""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING, Any

from penstock.catalog.identifiers import split_path
from penstock.catalog.table_descriptor import TableDescriptor
from penstock.common.datatypes import RowField, RowType
from penstock.common.errors import NotSupportedError, UnknownColumnError
from penstock.common.near_names import did_you_mean
from penstock.common.types import Row
from penstock.sql.lineage import Lineage, lineage_of
from penstock.sql.operations.dml import execute_sinks, plan_insert_of
from penstock.sql.operations.explain import explain_plans
from penstock.sql.session import result_schema
from penstock.table.conveniences import Conveniences
from penstock.table.explain_detail import detail_names
from penstock.table.expression import Expression
from penstock.table.expressions import col
from penstock.table.grouped_tables import (
    AggregatedTable,
    FlatAggregateTable,
    GroupedTable,
    GroupWindowedTable,
    OverWindowedTable,
    WindowGroupedTable,
)
from penstock.table.resolving import column_operations, joining, ordering, row_based
from penstock.table.resolving.arguments import node_of_expression, nodes_of
from penstock.table.resolving.context import ProgramContext, RefusedBy, program_context
from penstock.table.resolving.projecting import Groups, checked_groups, select
from penstock.table.table_result import TableResult

if TYPE_CHECKING:
    from penstock.catalog.resolved_schema import ResolvedSchema
    from penstock.catalog.table_schema import TableSchema
    from penstock.sql.plan.algebra import InsertInto, Plan
    from penstock.sql.session import SqlSession
    from penstock.table.table_pipeline import TablePipeline
    from penstock.table.window import GroupWindow, OverWindow

__all__ = [
    "AggregatedTable",
    "FlatAggregateTable",
    "GroupWindowedTable",
    "GroupedTable",
    "OverWindowedTable",
    "Table",
    "WindowGroupedTable",
]

_anonymous = itertools.count(1)


def insert_of(session: SqlSession, plan: Plan, target: Any, overwrite: bool) -> InsertInto:
    """The insertion of a plan into a path, or into a table without a name."""
    if isinstance(target, TableDescriptor):
        path = (f"*anonymous_{target.get_options()['connector']}${next(_anonymous)}*",)
        session.catalogs.create_table(path, target.to_catalog_table(), temporary=True, if_not_exists=False)
        try:
            return plan_insert_of(session, plan, path, overwrite)
        finally:
            session.catalogs.drop_table(path, view=False, temporary=True, if_exists=True)
    return plan_insert_of(session, plan, split_path(target), overwrite)


class Table(Conveniences):
    """What a query or a stream gives; made by a TableEnvironment. Columns are attributes too: `table.price`.

    `declared` is the schema of a table that is read as it was declared, with its watermark and computed columns.
    """

    def __init__(self, plan: Plan, session: SqlSession, declared: ResolvedSchema | None = None) -> None:
        self._plan = plan
        self._declared = declared
        self._session = session
        self._name: str | None = None

    @property
    def plan(self) -> Plan:
        """The logical plan."""
        return self._plan

    def __str__(self) -> str:
        """A name under which SQL finds the table: `sql_query(f"SELECT * FROM {table}")`."""
        if self._name is None:
            self._name = self._session.catalogs.name_unnamed(self._plan)
        return self._name

    def __repr__(self) -> str:
        return f"Table({', '.join(f'{f.name} {f.type.as_summary()}' for f in self._plan.fields)})"

    def __getattr__(self, name: str) -> Expression[Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        names = [f.name for f in self._plan.fields]
        if name not in names:
            raise UnknownColumnError(
                f"The current table has no column named '{name}', available columns: [{', '.join(names)}]",
                do=did_you_mean(name, [*names, *(m for m in dir(Table) if not m.startswith("_"))]),
            )
        return col(name)

    def _context(self, call: str) -> ProgramContext:
        return program_context(self._session, call)

    def _with(self, plan: Plan) -> Table:
        return Table(plan, self._session)

    # -- columns and rows ------------------------------------------------------------------------------

    def select(self, *fields: Expression[Any]) -> Table:
        """The named columns and expressions; with aggregates in them, one row for the whole table.

        Example:
            ```python
            orders.select(col("customer"), (col("amount") * 2).alias("twice"))
            ```
        """
        ctx = self._context("select")
        return self._with(select(ctx, self._plan, nodes_of(ctx, fields)))

    def alias(self, field: str, *fields: str) -> Table:
        """The table with other names for its first columns."""
        return self._with(column_operations.alias(self._context("alias"), self._plan, (field, *fields)))

    def filter(self, predicate: Expression[bool]) -> Table:
        """The rows for which the condition is true."""
        ctx = self._context("filter")
        return self._with(joining.filtered(ctx, self._plan, node_of_expression(ctx, predicate)))

    def where(self, predicate: Expression[bool]) -> Table:
        """The same as `filter`.

        Example:
            ```python
            orders.where((col("amount") > 100) & col("customer").is_not_null)
            ```
        """
        ctx = self._context("where")
        return self._with(joining.filtered(ctx, self._plan, node_of_expression(ctx, predicate)))

    def distinct(self) -> Table:
        """Each different row once."""
        return self._with(ordering.distinct(self._plan))

    def add_columns(self, *fields: Expression[Any]) -> Table:
        """The table with more columns; a name that is there already is refused.

        Example:
            ```python
            orders.add_columns((col("amount") * col("price")).alias("total"))
            ```
        """
        ctx = self._context("add_columns")
        return self._with(column_operations.add(ctx, self._plan, nodes_of(ctx, fields), replace=False))

    def add_or_replace_columns(self, *fields: Expression[Any]) -> Table:
        """The table with more columns, or others in the place of those of the same name."""
        ctx = self._context("add_or_replace_columns")
        return self._with(column_operations.add(ctx, self._plan, nodes_of(ctx, fields), replace=True))

    def rename_columns(self, *fields: Expression[Any]) -> Table:
        """The table with columns renamed: `col("a").alias("b")`."""
        ctx = self._context("rename_columns")
        return self._with(column_operations.rename_some(ctx, self._plan, nodes_of(ctx, fields)))

    def drop_columns(self, *fields: Expression[Any]) -> Table:
        """The table without these columns."""
        ctx = self._context("drop_columns")
        return self._with(column_operations.drop(ctx, self._plan, nodes_of(ctx, fields)))

    # -- groups and windows ----------------------------------------------------------------------------

    def group_by(self, *fields: Expression[Any]) -> GroupedTable:
        """Groups of rows with equal values of these; `select` says what becomes of a group.

        Example:
            ```python
            orders.group_by(col("customer")).select(col("customer"), col("amount").sum.alias("total"))
            ```
        """
        ctx = self._context("group_by")
        return GroupedTable(self, checked_groups(ctx, self._plan, nodes_of(ctx, fields)))

    def window(self, window: GroupWindow) -> GroupWindowedTable:
        """Puts rows into windows of time; `group_by` has to name the window.

        Example:
            ```python
            per_minute = (
                orders.window(Tumble.over(lit(1).minutes).on(col("ts")).alias("w"))
                .group_by(col("customer"), col("w"))
                .select(col("customer"), col("w").start, col("amount").sum)
            )
            ```
        """
        return GroupWindowedTable(self, window)

    def over_window(self, *over_windows: OverWindow) -> OverWindowedTable:
        """Windows around each row, for aggregates with `over`."""
        return OverWindowedTable(self, over_windows)

    # -- joins and set operations ----------------------------------------------------------------------

    def join(self, right: Table, join_predicate: Expression[bool] | None = None) -> Table:
        """Pairs of rows for which the condition holds; no column name may be on both sides.

        Example:
            ```python
            orders.join(customers, col("customer") == col("name")).select(col("amount"), col("city"))
            ```
        """
        return self._join("join", right, "inner", join_predicate)

    def left_outer_join(self, right: Table, join_predicate: Expression[bool] | None = None) -> Table:
        """The same, and rows of this table that have no partner."""
        return self._join("left_outer_join", right, "left", join_predicate)

    def right_outer_join(self, right: Table, join_predicate: Expression[bool]) -> Table:
        """The same, and rows of the other table that have no partner."""
        return self._join("right_outer_join", right, "right", join_predicate)

    def full_outer_join(self, right: Table, join_predicate: Expression[bool]) -> Table:
        """The same, and rows of both tables that have no partner."""
        return self._join("full_outer_join", right, "full", join_predicate)

    def _join(self, call: str, right: Table, kind: Any, predicate: Any) -> Table:
        ctx = self._context(call)
        condition = None if predicate is None else node_of_expression(ctx, predicate)
        return self._with(joining.join(ctx, self._plan, self._other(ctx, right), kind, condition))

    def _other(self, ctx: ProgramContext, right: Any) -> Plan:
        if not isinstance(right, Table):
            raise ctx.error(f"{ctx.call} takes a table, got {right!r}")
        if right._session is not self._session:
            raise ctx.error(
                "the two tables are of different environments", do="make both with one TableEnvironment"
            )
        return right._plan

    def join_lateral(self, table_function_call: Any, join_predicate: Expression[bool] | None = None) -> Table:
        """For each row, the rows that a table function gives for it.

        Example:
            ```python
            lines.join_lateral(split(col("line")).alias("word")).select(col("word"))
            ```
        """
        return self._lateral("join_lateral", table_function_call, False, join_predicate)

    def left_outer_join_lateral(
        self, table_function_call: Any, join_predicate: Expression[bool] | None = None
    ) -> Table:
        """The same, and rows for which it gives nothing."""
        return self._lateral("left_outer_join_lateral", table_function_call, True, join_predicate)

    def _lateral(self, call: str, function: Any, outer: bool, predicate: Any) -> Table:
        ctx = self._context(call)
        node = row_based.function_node(ctx, function, self._plan.fields)
        condition = None if predicate is None else node_of_expression(ctx, predicate)
        return self._with(row_based.lateral(ctx, self._plan, node, outer, condition))

    def minus(self, right: Table) -> Table:
        """The different rows that the other table does not have."""
        return self._set_operation("minus", right, "EXCEPT", False)

    def minus_all(self, right: Table) -> Table:
        """The rows, each as often as it is here more often than there."""
        return self._set_operation("minus_all", right, "EXCEPT", True)

    def union(self, right: Table) -> Table:
        """The different rows of both tables."""
        return self._set_operation("union", right, "UNION", False)

    def union_all(self, right: Table) -> Table:
        """All rows of both tables."""
        return self._set_operation("union_all", right, "UNION", True)

    def intersect(self, right: Table) -> Table:
        """The different rows that both tables have."""
        return self._set_operation("intersect", right, "INTERSECT", False)

    def intersect_all(self, right: Table) -> Table:
        """The rows that both tables have, each as often as in the one that has it less often."""
        return self._set_operation("intersect_all", right, "INTERSECT", True)

    def _set_operation(self, call: str, right: Table, kind: str, keep_all: bool) -> Table:
        ctx = self._context(call)
        return self._with(joining.set_operation(ctx, self._plan, self._other(ctx, right), kind, keep_all))

    # -- order -----------------------------------------------------------------------------------------

    def order_by(self, *fields: Expression[Any]) -> Table:
        """The rows in an order; in streaming, the first key is a time attribute, or `fetch` follows.

        Example:
            ```python
            orders.order_by(col("amount").desc).fetch(10)
            ```
        """
        ctx = self._context("order_by")
        return self._with(ordering.order_by(ctx, self._plan, nodes_of(ctx, fields)))

    def offset(self, offset: int) -> Table:
        """Without the first rows."""
        return self._with(ordering.offset(self._context("offset"), self._plan, offset))

    def fetch(self, fetch: int) -> Table:
        """Only the first rows."""
        return self._with(ordering.fetch(self._context("fetch"), self._plan, fetch))

    def limit(self, fetch: int, offset: int = 0) -> Table:
        """So many rows behind the first ones."""
        return self.offset(offset).fetch(fetch) if offset else self.fetch(fetch)

    # -- functions on rows -----------------------------------------------------------------------------

    def map(self, func: Any) -> Table:
        """One row for each row: the fields of what a scalar function gives.

        Example:
            ```python
            @udf(result_type=DataTypes.ROW([DataTypes.FIELD("id", DataTypes.BIGINT())]))
            def doubled(row):
                return Row(2 * row[0])

            numbers.map(doubled).alias("id")
            ```
        """
        ctx = self._context("map")
        return self._with(
            row_based.mapped(ctx, self._plan, row_based.function_node(ctx, func, self._plan.fields))
        )

    def flat_map(self, func: Any) -> Table:
        """The rows that a table function gives for each row."""
        ctx = self._context("flat_map")
        node = row_based.function_node(ctx, func, self._plan.fields)
        return self._with(row_based.flat_mapped(ctx, self._plan, node))

    def aggregate(self, func: Any) -> AggregatedTable:
        """What an aggregate function gives for the whole table, its fields as columns."""
        return GroupedTable(self, Groups(())).aggregate(func)

    def flat_aggregate(self, func: Any) -> FlatAggregateTable:
        """The rows that a table aggregate function gives for the whole table."""
        return GroupedTable(self, Groups(())).flat_aggregate(func)

    # -- schema and execution --------------------------------------------------------------------------

    def get_resolved_schema(self) -> ResolvedSchema:
        """The columns and their types."""
        return self._declared or result_schema(self._plan, self._session.streaming)

    def get_schema(self) -> TableSchema:
        """The columns and their types, in the form of Flink 1.x."""
        return self.get_resolved_schema().to_table_schema()

    def print_schema(self) -> None:
        """Writes the columns and their types to standard output."""
        sys.stdout.write(f"{self.get_resolved_schema()}\n")

    def explain(self, *extra_details: int) -> str:
        """The plan as text."""
        return explain_plans(self._session, [self._plan], detail_names(extra_details))

    def print_explain(self, *extra_details: int) -> None:
        """Writes the plan to standard output."""
        sys.stdout.write(self.explain(*extra_details) + "\n")

    def lineage(self) -> Lineage:
        """From which columns of which tables each column comes, and through which functions; nothing runs."""
        return lineage_of([self._plan], self._session.streaming)

    def execute(self) -> TableResult:
        """Runs the query; its rows are there when they are collected.

        Example:
            ```python
            with orders.execute().collect() as rows:
                for row in rows:
                    print(row)
            ```
        """
        return TableResult(self._session.query(self._plan))

    def execute_insert(self, table_path_or_descriptor: Any, overwrite: bool = False) -> TableResult:
        """Writes the rows to a table of the catalog, or to one that only a descriptor names.

        Example:
            ```python
            orders.where(col("amount") > 100).execute_insert("large_orders").wait()
            ```
        """
        with RefusedBy("execute_insert"):
            sink = insert_of(self._session, self._plan, table_path_or_descriptor, overwrite)
            return TableResult(execute_sinks(self._session, [sink]))

    def insert_into(self, table_path_or_descriptor: Any, overwrite: bool = False) -> TablePipeline:
        """The insertion, to be executed, explained, or added to a statement set."""
        from penstock.table.table_pipeline import TablePipeline

        with RefusedBy("insert_into"):
            sink = insert_of(self._session, self._plan, table_path_or_descriptor, overwrite)
        return TablePipeline(self._session, sink, isinstance(table_path_or_descriptor, TableDescriptor))

    def to_pandas(self) -> Any:
        """Runs the query; its rows as a pandas DataFrame. Changes are applied, so that the final rows remain.

        Example:
            ```python
            frame = tables.from_path("orders").to_pandas()
            ```
        """
        from penstock.table.pandas_frames import frame_of

        return frame_of(self._session, self._plan)

    def cache(self) -> Table:
        """Runs the query of a bounded table once; what comes back has its rows and computes nothing again."""
        if self._session.streaming:
            raise NotSupportedError(
                "Table.cache in streaming mode",
                "a table that changes has no rows to keep",
                do="use batch mode",
            )
        from penstock.table.elements import local_rows

        columns = RowType([RowField(f.name, f.type) for f in self._plan.fields])
        rows = [Row(*row) for row in self._session.query(self._plan).rows()]
        return self._with(local_rows(rows, columns, "UTC", verify=False))

    def create_temporal_table_function(self, time_attribute: Any, primary_key: Any) -> Any:
        """Flink 1.x's temporal table function."""
        raise NotSupportedError(
            "create_temporal_table_function",
            "Flink 2.x has no temporal table functions in Python",
            do="join with FOR SYSTEM_TIME AS OF in SQL: sql_query(...)",
        )

    def to_changelog(self, *arguments: Expression[Any]) -> Table:
        """Changes as rows of a table that is only appended to."""
        raise _changelog_functions("to_changelog")

    def from_changelog(self, *arguments: Expression[Any]) -> Table:
        """Rows that describe changes, as a table that changes."""
        raise _changelog_functions("from_changelog")


def _changelog_functions(call: str) -> Exception:
    return NotSupportedError(
        f"Table.{call}",
        "it needs process table functions",
        do="go through a stream: to_changelog_stream(...) and from_changelog_stream(...)",
    )
