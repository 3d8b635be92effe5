"""A table on its way into another one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from penstock.sql.compiled.plan import compile_plan
from penstock.sql.lineage import Lineage, lineage_of
from penstock.sql.operations.dml import execute_sinks
from penstock.sql.operations.explain import explain_plans
from penstock.table.compiled_plan import CompiledPlan
from penstock.table.explain_detail import detail_names
from penstock.table.table_result import TableResult

if TYPE_CHECKING:
    from penstock.catalog.identifiers import ObjectIdentifier
    from penstock.sql.plan.algebra import InsertInto
    from penstock.sql.session import SqlSession

__all__ = ["TablePipeline"]


class TablePipeline:
    """What `Table.insert_into` returns: an insertion that has been checked and has not run."""

    def __init__(self, session: SqlSession, sink: InsertInto, anonymous: bool = False) -> None:
        self._session = session
        self._sink = sink
        self._anonymous = anonymous

    @property
    def sink(self) -> InsertInto:
        """The plan."""
        return self._sink

    def __str__(self) -> str:
        columns = ", ".join(f.name for f in self._sink.fields)
        return f"TablePipeline(target={self._sink.identifier.as_summary_string()}, columns=[{columns}])"

    def execute(self) -> TableResult:
        """Runs the insertion."""
        return TableResult(execute_sinks(self._session, [self._sink]))

    def explain(self, *extra_details: int) -> str:
        """The plan as text."""
        return explain_plans(self._session, [self._sink], detail_names(extra_details))

    def print_explain(self, *extra_details: int) -> None:
        """Writes the plan to standard output."""
        sys.stdout.write(self.explain(*extra_details) + "\n")

    def lineage(self) -> Lineage:
        """From which columns of which tables the columns of the target come."""
        return lineage_of([self._sink], self._session.streaming)

    def get_sink_identifier(self) -> ObjectIdentifier | None:
        """The table that is written to; None where only a descriptor names it."""
        return None if self._anonymous else self._sink.identifier

    def compile_plan(self) -> CompiledPlan:
        """The plan in a form that can be stored."""
        return CompiledPlan(compile_plan(self._session, [self._sink]))
