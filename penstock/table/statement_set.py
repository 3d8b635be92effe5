"""Several INSERTs that run together."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.common.errors import SqlError, ValidationError
from penstock.sql.compiled.plan import compile_plan
from penstock.sql.dialect.statements import InsertStatement
from penstock.sql.lineage import Lineage, lineage_of
from penstock.sql.operations.dml import execute_sinks, plan_insert
from penstock.sql.operations.explain import explain_plans
from penstock.sql.plan.algebra import InsertInto
from penstock.sql.streaming.jobs import lowered_inserts
from penstock.sql.streaming.planner import Planner
from penstock.table.compiled_plan import CompiledPlan
from penstock.table.explain_detail import detail_names
from penstock.table.table import Table, insert_of
from penstock.table.table_pipeline import TablePipeline
from penstock.table.table_result import TableResult

if TYPE_CHECKING:
    from penstock.sql.session import SqlSession

__all__ = ["StatementSet", "StreamStatementSet"]


class StatementSet:
    """Collects INSERT statements; `execute` plans all of them before it runs any."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session
        self._inserts: list[InsertStatement | InsertInto] = []

    def add_insert_sql(self, stmt: str) -> StatementSet:
        """Adds an INSERT statement; it is checked now and runs with the others.

        Example:
            ```python
            statements.add_insert_sql("INSERT INTO large SELECT * FROM orders WHERE amount > 100")
            statements.execute().wait()
            ```
        """
        statement = self._session.parse(stmt)
        if not isinstance(statement, InsertStatement):
            raise SqlError("a statement set takes only INSERT statements", sql=stmt, line=1, column=1)
        self._inserts.append(statement)
        return self

    def add(self, table_pipeline: TablePipeline) -> StatementSet:
        """An insertion that `Table.insert_into` has made, together with the other ones."""
        if not isinstance(table_pipeline, TablePipeline):
            raise ValidationError(
                f"add takes what Table.insert_into(...) returns, got {table_pipeline!r}",
                do="use add_insert(path, table) or add_insert_sql(text)",
            )
        self._inserts.append(table_pipeline.sink)
        return self

    def add_insert(
        self, target_path_or_descriptor: Any, table: Table, overwrite: bool = False
    ) -> StatementSet:
        """Writes a table to a table of the catalog, together with the other insertions."""
        if not isinstance(table, Table):
            raise ValidationError(f"add_insert takes a table, got {table!r}")
        self._inserts.append(insert_of(self._session, table.plan, target_path_or_descriptor, overwrite))
        return self

    def _sinks(self) -> list[InsertInto]:
        """All insertions, planned."""
        if not self._inserts:
            raise ValidationError("the statement set is empty", do="call add_insert_sql(…) first")
        return [i if isinstance(i, InsertInto) else plan_insert(self._session, i) for i in self._inserts]

    def explain(self, *extra_details: int) -> str:
        """How all statements will run together, as text."""
        return explain_plans(self._session, list(self._sinks()), detail_names(extra_details))

    def print_explain(self, *extra_details: int) -> None:
        """Writes the plans to standard output."""
        sys.stdout.write(self.explain(*extra_details) + "\n")

    def lineage(self) -> Lineage:
        """From which columns of which tables the columns of all targets come."""
        return lineage_of(list(self._sinks()), self._session.streaming)

    def compile_plan(self) -> CompiledPlan:
        """The plan of all insertions, in a form that can be stored; the set is empty afterwards."""
        sinks = self._sinks()
        texts = [i.sql for i in self._inserts if isinstance(i, InsertStatement)]
        self._inserts = []
        return CompiledPlan(compile_plan(self._session, sinks, texts))

    def attach_as_datastream(self) -> None:
        """Adds the insertions to a DataStream program; only a StreamTableEnvironment has one."""
        raise ValidationError(
            "this environment has no DataStream program to attach to",
            do="make it with StreamTableEnvironment.create(env), or call execute()",
        )

    def execute(self) -> TableResult:
        """Starts one job that does all INSERTs; what they share is read once."""
        sinks = self._sinks()
        self._inserts = []
        return TableResult(execute_sinks(self._session, sinks))


class StreamStatementSet(StatementSet):
    """A statement set whose insertions may become part of a DataStream program."""

    def __init__(self, session: SqlSession, environment: Any, make_prefix: Callable[[], str]) -> None:
        super().__init__(session)
        self._environment = environment
        self._make_prefix = make_prefix

    def attach_as_datastream(self) -> None:
        """Adds the insertions to the program: `env.execute()` runs them in one job with its streams."""
        sinks = self._sinks()
        self._inserts = []
        one_epoch = not self._session.streaming
        planner = Planner(self._session.config, prefix=self._make_prefix(), one_epoch=one_epoch)
        for end in lowered_inserts(planner, sinks):
            self._environment.register_transformation(end)
