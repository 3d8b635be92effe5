"""What kind of answer a statement gives, which decides how it is shown and where it may stand."""

from __future__ import annotations

import enum

from penstock.common.errors import PenstockError
from penstock.sql.dialect import statements as st
from penstock.sql.dialect.statement_parser import parse_statement

__all__ = ["StatementKind", "kind_of"]


class StatementKind(enum.Enum):
    QUERY = "query"
    """Rows that a job computes."""
    CHANGE = "change"
    """A job that writes."""
    SETTING = "setting"
    """SET and RESET."""
    DEFINITION = "definition"
    """CREATE, ALTER, DROP, USE, LOAD: changes the session and the catalogs, reads no data."""
    TEXT = "text"
    """EXPLAIN and SHOW CREATE: one text, shown as it is."""
    SET_BEGIN = "begin"
    SET_END = "end"
    OTHER = "other"
    """SHOW, DESCRIBE and everything that cannot be read."""


_KINDS: dict[type[st.Statement], StatementKind] = {
    st.QueryStatement: StatementKind.QUERY,
    st.InsertStatement: StatementKind.CHANGE,
    st.StatementSetStatement: StatementKind.CHANGE,
    st.UpdateStatement: StatementKind.CHANGE,
    st.DeleteStatement: StatementKind.CHANGE,
    st.TruncateStatement: StatementKind.CHANGE,
    st.BeginStatementSetStatement: StatementKind.SET_BEGIN,
    st.EndStatementSetStatement: StatementKind.SET_END,
    st.SetStatement: StatementKind.SETTING,
    st.ResetStatement: StatementKind.SETTING,
    st.ExplainStatement: StatementKind.TEXT,
    st.CreateTableStatement: StatementKind.DEFINITION,
    st.CreateViewStatement: StatementKind.DEFINITION,
    st.CreateCatalogStatement: StatementKind.DEFINITION,
    st.CreateDatabaseStatement: StatementKind.DEFINITION,
    st.CreateFunctionStatement: StatementKind.DEFINITION,
    st.AlterStatement: StatementKind.DEFINITION,
    st.DropStatement: StatementKind.DEFINITION,
    st.UseStatement: StatementKind.DEFINITION,
    st.ModuleStatement: StatementKind.DEFINITION,
}


def kind_of(text: str) -> StatementKind:
    """The kind of a statement; a text that cannot be read is OTHER, and running it tells what is wrong.

    >>> kind_of("SHOW CREATE TABLE t")
    <StatementKind.TEXT: 'text'>
    """
    try:
        statement = parse_statement(text)
    except PenstockError:
        return StatementKind.OTHER
    if isinstance(statement, st.ShowStatement) and statement.kind.startswith("CREATE "):
        return StatementKind.TEXT
    if isinstance(statement, st.CreateTableStatement) and statement.query is not None:
        return StatementKind.CHANGE
    return _KINDS.get(type(statement), StatementKind.OTHER)
