"""Carrying out statements: one function per statement class, found by `run_statement`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.common.errors import NotSupportedError
from penstock.sql.dialect import statements as st
from penstock.sql.operations import ddl, dml, jobs, plans, row_changes
from penstock.sql.operations import explain as explaining
from penstock.sql.operations import show as showing
from penstock.sql.result import StatementResult

if TYPE_CHECKING:
    from penstock.sql.session import SqlSession

__all__ = ["run_statement"]


def run_statement(session: SqlSession, statement: st.Statement) -> StatementResult:
    """Does what the statement says."""
    if isinstance(statement, st.UnsupportedStatement):
        raise NotSupportedError(statement.feature, statement.because)
    return _HANDLERS[type(statement)](session, statement)


Handler = Callable[["SqlSession", Any], StatementResult]

_HANDLERS: dict[type, Handler] = {
    st.QueryStatement: dml.query,
    st.InsertStatement: dml.insert,
    st.StatementSetStatement: dml.statement_set,
    st.BeginStatementSetStatement: dml.begin_statement_set,
    st.EndStatementSetStatement: dml.end_statement_set,
    st.UpdateStatement: row_changes.update,
    st.DeleteStatement: row_changes.delete,
    st.TruncateStatement: dml.truncate,
    st.CreateTableStatement: ddl.create_table,
    st.CreateViewStatement: ddl.create_view,
    st.CreateCatalogStatement: ddl.create_catalog,
    st.CreateDatabaseStatement: ddl.create_database,
    st.CreateFunctionStatement: ddl.create_function,
    st.AlterStatement: ddl.alter,
    st.DropStatement: ddl.drop,
    st.UseStatement: showing.use,
    st.ShowStatement: showing.show,
    st.DescribeStatement: showing.describe,
    st.SetStatement: showing.set_option,
    st.ResetStatement: showing.reset_option,
    st.AnalyzeTableStatement: showing.analyze,
    st.StopJobStatement: jobs.stop_job,
    st.ModuleStatement: showing.module,
    st.ExplainStatement: explaining.explain,
    st.CompilePlanStatement: plans.compile_statement,
    st.ExecutePlanStatement: plans.execute_statement,
}
