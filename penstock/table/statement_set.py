"""Several INSERTs that run together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.common.errors import SqlError, ValidationError
from penstock.sql.dialect.statement_parser import parse_statement
from penstock.sql.dialect.statements import InsertStatement
from penstock.sql.operations.dml import plan_insert, run_inserts
from penstock.sql.operations.explain import explain_plans
from penstock.table.explain_detail import ExplainDetail
from penstock.table.table_result import TableResult

if TYPE_CHECKING:
    from penstock.sql.session import SqlSession

__all__ = ["StatementSet"]


class StatementSet:
    """Collects INSERT statements; `execute` plans all of them before it runs any."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session
        self._inserts: list[InsertStatement] = []

    def add_insert_sql(self, stmt: str) -> StatementSet:
        statement = parse_statement(stmt)
        if not isinstance(statement, InsertStatement):
            raise SqlError("a statement set takes only INSERT statements", sql=stmt, line=1, column=1)
        self._inserts.append(statement)
        return self

    def explain(self, *extra_details: ExplainDetail) -> str:
        plans: list[Any] = [plan_insert(self._session, i) for i in self._inserts]
        return explain_plans(self._session, plans, tuple(d.name for d in extra_details))

    def execute(self) -> TableResult:
        if not self._inserts:
            raise ValidationError("the statement set is empty", do="call add_insert_sql(…) first")
        inserts, self._inserts = self._inserts, []
        return TableResult(run_inserts(self._session, inserts))
