"""UPDATE and DELETE: the rows that are meant are found by a query, and written back as changes by their primary key.

    DELETE FROM t WHERE c               SELECT * FROM t WHERE c                written as deletions
    UPDATE t SET a = e WHERE c          SELECT e AS a, b FROM t WHERE c        written as what the rows are now

The query is done before anything is written, so a statement never meets its own rows. As in Flink both are for batch
mode; the connector has to be one that can be read and goes by a primary key (`TableConnector.changes_rows`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlglot.expressions as exp

from penstock.catalog.objects import CatalogTable
from penstock.common.datatypes import DataTypes
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.common.near_names import did_you_mean
from penstock.connectors.registry import find_connector
from penstock.formats.base import DELETE, UPDATE_AFTER
from penstock.sql.dialect import statements as st
from penstock.sql.operations.dml import plan_insert_of, target_table
from penstock.sql.result import StatementResult, table

if TYPE_CHECKING:
    from penstock.sql.session import SqlSession


def update(session: SqlSession, statement: st.UpdateStatement) -> StatementResult:
    target = _checked(session, "UPDATE", statement.path)
    names = target.sink_schema.names
    assigned = dict(statement.assignments)
    for name, _ in statement.assignments:
        if name not in names:
            raise ValidationError(f"there is no column '{name}' to set", do=did_you_mean(name, names))
    keys = [name for name in target.primary_key if name in assigned]
    if keys:
        raise NotSupportedError(
            f"UPDATE of the primary key column '{keys[0]}'",
            "rows are found again by their key",
            do="DELETE the rows, and INSERT them with other keys",
        )
    if len(assigned) < len(statement.assignments):
        raise ValidationError("a column is set twice")
    columns = [
        exp.alias_(_typed(assigned[n], n), n, quoted=True) if n in assigned else _column(n) for n in names
    ]
    return _run(session, statement.path, columns, statement.where, statement.sql, UPDATE_AFTER)


def delete(session: SqlSession, statement: st.DeleteStatement) -> StatementResult:
    target = _checked(session, "DELETE", statement.path)
    columns = [_column(name) for name in target.sink_schema.names]
    return _run(session, statement.path, columns, statement.where, statement.sql, DELETE)


def _checked(session: SqlSession, what: str, path: tuple[str, ...]) -> CatalogTable:
    """The table.

    Raises:
        ValidationError, NotSupportedError: Its rows cannot be changed.
    """
    identifier, target = target_table(session, path)
    if session.streaming:
        raise ValidationError(f"{what} is for batch only", do="SET 'execution.runtime-mode' = 'batch'")
    connector = find_connector(target.options, identifier.as_summary_string())
    if not connector.changes_rows:
        raise NotSupportedError(
            f"{what} on connector '{connector.name}'", "the connector cannot change rows that are written"
        )
    if not target.primary_key:
        raise ValidationError(
            f"{what} needs to know rows by their key, and table '{identifier.as_summary_string()}' has none",
            do="declare a PRIMARY KEY (...) NOT ENFORCED",
        )
    return target


def _column(name: str) -> exp.Expression:
    return exp.column(exp.to_identifier(name, quoted=True))


def _typed(value: Any, name: str) -> Any:
    """A bare NULL has the type of the column that it is for."""
    if not isinstance(value, exp.Null):
        return value
    return exp.Case(ifs=[exp.If(this=exp.false(), true=_column(name))])


def _run(
    session: SqlSession, path: tuple[str, ...], columns: list[Any], where: Any, sql: str, kind: int
) -> StatementResult:
    query = exp.select(*columns).from_(
        exp.table_(*reversed([exp.to_identifier(p, quoted=True) for p in path]))
    )
    if where is not None:
        query = query.where(where)
    sink = plan_insert_of(session, session.bind(query, sql), path)
    executor = session.executor_of(sink)
    executor.validate(sink)
    executor.insert(sink, kind)
    return table([(sink.identifier.as_summary_string(), DataTypes.BIGINT())], [[-1]])
