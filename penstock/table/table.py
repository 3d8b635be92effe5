"""A table of the Table API: the plan of a query, not its rows."""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING, Any

from penstock.catalog.table_descriptor import TableDescriptor
from penstock.sql.operations.dml import execute_sinks, plan_insert_of
from penstock.sql.operations.explain import explain_plans
from penstock.sql.session import result_schema
from penstock.table.table_result import TableResult

if TYPE_CHECKING:
    from penstock.catalog.resolved_schema import ResolvedSchema
    from penstock.sql.plan.algebra import InsertInto, Plan
    from penstock.sql.session import SqlSession
    from penstock.table.explain_detail import ExplainDetail

__all__ = ["Table"]


_anonymous = itertools.count(1)


def insert_of(session: SqlSession, plan: Plan, target: Any, overwrite: bool) -> InsertInto:
    """The insertion of a plan into a path, or into a table without a name."""
    from penstock.table.table_environment import split_path

    if isinstance(target, TableDescriptor):
        path = (f"*anonymous_{target.get_options()['connector']}${next(_anonymous)}*",)
        session.catalogs.create_table(path, target.to_catalog_table(), temporary=True, if_not_exists=False)
        try:
            return plan_insert_of(session, plan, path, overwrite)
        finally:
            session.catalogs.drop_table(path, view=False, temporary=True, if_exists=True)
    return plan_insert_of(session, plan, split_path(target), overwrite)


class Table:
    """What a query or a stream gives; made by a TableEnvironment. Nothing runs until it is executed.

    `declared` is the schema of a table that is read as it was declared, with its watermark and computed columns.
    """

    def __init__(self, plan: Plan, session: SqlSession, declared: ResolvedSchema | None = None) -> None:
        self._plan = plan
        self._declared = declared
        self._session = session

    @property
    def plan(self) -> Plan:
        """The logical plan."""
        return self._plan

    def get_resolved_schema(self) -> ResolvedSchema:
        return self._declared or result_schema(self._plan, self._session.streaming)

    def get_schema(self) -> ResolvedSchema:
        """The columns; the same as `get_resolved_schema()`, which also knows the old names of TableSchema."""
        return self.get_resolved_schema()

    def print_schema(self) -> None:
        """Writes the columns and their types to standard output."""
        sys.stdout.write(f"{self.get_resolved_schema()}\n")

    def explain(self, *extra_details: ExplainDetail) -> str:
        """The plan as text."""
        return explain_plans(self._session, [self._plan], tuple(d.name for d in extra_details))

    def execute(self) -> TableResult:
        """Runs the query; its rows are there when they are collected."""
        return TableResult(self._session.query(self._plan))

    def execute_insert(self, table_path_or_descriptor: Any, overwrite: bool = False) -> TableResult:
        """Writes the rows to a table of the catalog, or to one that only a descriptor names."""
        sink = insert_of(self._session, self._plan, table_path_or_descriptor, overwrite)
        return TableResult(execute_sinks(self._session, [sink]))
