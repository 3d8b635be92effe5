"""Queries and INSERT."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.catalog.identifiers import ObjectIdentifier
from penstock.catalog.objects import CatalogTable, CatalogView
from penstock.common.config_check import tell_mistyped_keys
from penstock.common.configuration import Configuration
from penstock.common.datatypes import DataType, DataTypes
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.common.near_names import did_you_mean
from penstock.sql.binder.coercion import cast_rex
from penstock.sql.binder.expressions import ExpressionBinder
from penstock.sql.binder.query import QueryBinder
from penstock.sql.binder.scope import Scope
from penstock.sql.dialect import statements as st
from penstock.sql.dialect.flink import parse_hints
from penstock.sql.functions.implicit_casts import implicitly_castable
from penstock.sql.operations.constraints import enforce
from penstock.sql.plan.algebra import Field, InsertInto, Plan, Project
from penstock.sql.plan.rex import Const, InputRef, Rex
from penstock.sql.result import StatementResult, ok, table
from penstock.sql.streaming.describing import statement_text

if TYPE_CHECKING:
    from penstock.sql.session import SqlSession


def query(session: SqlSession, statement: st.QueryStatement) -> StatementResult:
    return session.query(session.bind(statement.ast, statement.sql))


def insert(session: SqlSession, statement: st.InsertStatement) -> StatementResult:
    if session.pending_inserts is not None:
        session.pending_inserts.append(statement)
        return ok()
    return run_inserts(session, [statement])


def statement_set(session: SqlSession, statement: st.StatementSetStatement) -> StatementResult:
    return run_inserts(session, list(statement.inserts))


def begin_statement_set(session: SqlSession, statement: st.BeginStatementSetStatement) -> StatementResult:
    if session.pending_inserts is not None:
        raise ValidationError("a statement set is open already", do="END it first")
    session.pending_inserts = []
    return ok()


def end_statement_set(session: SqlSession, statement: st.EndStatementSetStatement) -> StatementResult:
    if session.pending_inserts is None:
        raise ValidationError("there is no statement set to END", do="open one with BEGIN STATEMENT SET")
    inserts, session.pending_inserts = session.pending_inserts, None
    if not inserts:
        raise ValidationError("the statement set is empty", do="put INSERT statements between BEGIN and END")
    return run_inserts(session, inserts)


def run_inserts(session: SqlSession, statements: list[st.InsertStatement]) -> StatementResult:
    """Plans and validates all of them, then runs them."""
    sinks = [plan_insert(session, s) for s in statements]
    with statement_text(*(s.sql for s in statements)):
        return execute_sinks(session, sinks)


def check_inserts(session: SqlSession, statement: st.Statement) -> None:
    """Raises what running INSERTs would raise before any job starts; other statements are not looked at."""
    planned_inserts(session, statement)


def planned_inserts(session: SqlSession, statement: st.Statement) -> list[InsertInto]:
    """The sinks that a statement would write to, planned and validated; none if it is no INSERT.

    For END they are those of the open set, which stays open.
    """
    if isinstance(statement, st.EndStatementSetStatement):
        statements = list(session.pending_inserts or ())
    elif isinstance(statement, st.StatementSetStatement):
        statements = list(statement.inserts)
    else:
        statements = [statement] if isinstance(statement, st.InsertStatement) else []
    sinks = [plan_insert(session, s) for s in statements]
    for sink in sinks:
        session.executor_of(sink).validate(sink)
    return sinks


def execute_sinks(session: SqlSession, sinks: list[InsertInto]) -> StatementResult:
    tell_mistyped_keys(Configuration.from_dict(session.config))
    for sink in sinks:
        session.executor_of(sink).validate(sink)
    if session.streaming:
        result: StatementResult = session.executor.insert_all(sinks)
        return result
    for sink in sinks:
        session.executor_of(sink).insert(sink)
    columns = [(sink.identifier.as_summary_string(), DataTypes.BIGINT()) for sink in sinks]
    return table(columns, [[-1] * len(sinks)])


def plan_insert(session: SqlSession, statement: st.InsertStatement) -> InsertInto:
    """The sink of an INSERT: its input has the target's columns, in order and of their types."""
    identifier, target = target_table(session, statement.target)
    options = dict(target.options)
    for name, pairs in parse_hints(statement.hint):
        if name == "OPTIONS":
            options.update({k: v for k, v in pairs if k is not None})
    target = target.with_options(options)
    if statement.overwrite and session.streaming:
        raise ValidationError("INSERT OVERWRITE is for batch only", do="use batch mode or INSERT INTO")
    source = session.bind(statement.ast, statement.sql)
    static = _static_partition(session, statement, target)
    return _sink(session, source, identifier, target, statement, static)


def plan_insert_of(
    session: SqlSession, source: Plan, path: tuple[str, ...], overwrite: bool = False
) -> InsertInto:
    """The same for a plan that is there already: all columns of the target, in order."""
    identifier, target = target_table(session, path)
    if overwrite and session.streaming:
        raise ValidationError("INSERT OVERWRITE is for batch only", do="use batch mode or INSERT INTO")
    statement = st.InsertStatement(sql="", target=path, ast=None, overwrite=overwrite)
    return _sink(session, source, identifier, target, statement, {})


def _sink(
    session: SqlSession,
    source: Plan,
    identifier: ObjectIdentifier,
    target: CatalogTable,
    statement: st.InsertStatement,
    static: dict[str, Const],
) -> InsertInto:
    plan = _arrange(source, target, statement, static, identifier)
    columns = tuple(Field(f.name, f.data_type) for f in target.sink_schema)
    plan = replace(enforce(session.config, plan, columns), fields=columns)
    texts = tuple((k, _partition_text(v)) for k, v in static.items())
    return InsertInto(plan.fields, plan, identifier, target, statement.overwrite, texts)


def target_table(session: SqlSession, path: tuple[str, ...]) -> tuple[ObjectIdentifier, CatalogTable]:
    identifier, found = session.catalogs.resolve_table(path)
    if isinstance(found, CatalogView):
        raise ValidationError(f"'{identifier.as_summary_string()}' is a view: nothing can be written to it")
    if not isinstance(found, CatalogTable):
        raise ValidationError(f"'{identifier.as_summary_string()}' cannot be written to")
    return identifier, found


def _static_partition(
    session: SqlSession, statement: st.InsertStatement, target: CatalogTable
) -> dict[str, Const]:
    found: dict[str, Const] = {}
    ctx = session.context(statement.sql)
    binder = ExpressionBinder(ctx, Scope(), QueryBinder(ctx), place="PARTITION")
    for name, tree in statement.partition.items():
        if name not in target.partition_keys:
            hint = did_you_mean(name, target.partition_keys)
            raise ValidationError(f"'{name}' is not a partition column", do=hint)
        if tree is None:
            continue
        value = binder.bind(tree)
        if not isinstance(value, Const):
            raise ValidationError(f"the value of partition column '{name}' must be a constant")
        found[name] = value
    return found


def _partition_text(value: Const) -> str:
    return str(value.value)


def _arrange(
    source: Plan,
    target: CatalogTable,
    statement: st.InsertStatement,
    static: dict[str, Const],
    identifier: ObjectIdentifier,
) -> Plan:
    fields = list(target.sink_schema)
    names = [f.name for f in fields]
    wanted = _target_columns(statement, names, static)
    path = identifier.as_summary_string()
    if len(wanted) != len(source.fields):
        raise ValidationError(
            f"column types of query result and sink for '{path}' do not match: different number of columns, "
            f"the query has {len(source.fields)} and the sink takes {len(wanted)}",
            where=_schemas(source, fields),
            do="select a value for each column, or name those that get one: INSERT INTO t (a, b) SELECT …",
        )
    exprs: list[Rex] = []
    for field in fields:
        value: Rex
        if field.name in static:
            value = static[field.name]
        elif field.name in wanted:
            index = wanted.index(field.name)
            column = source.fields[index]
            value = InputRef(column.type, index, column.time)
        else:
            value = Const(DataTypes.NULL(), None)
        exprs.append(_store(value, field.data_type, field.name, path, source, fields))
    output = tuple(Field(f.name, e.type) for f, e in zip(fields, exprs, strict=True))
    return Project(output, source, tuple(exprs))


def _target_columns(statement: st.InsertStatement, names: list[str], static: dict[str, Const]) -> list[str]:
    if statement.columns is None:
        return [n for n in names if n not in static]
    for name in statement.columns:
        if name not in names:
            raise ValidationError(f"unknown target column '{name}'", do=did_you_mean(name, names))
    if len(set(statement.columns)) < len(statement.columns):
        raise ValidationError("a target column is named twice")
    return [n for n in statement.columns if n not in static]


def _store(value: Rex, target: DataType, name: str, path: str, source: Plan, fields: list[Any]) -> Rex:
    if not implicitly_castable(value.type, target):
        raise ValidationError(
            f"column types of query result and sink for '{path}' do not match: incompatible types for sink "
            f"column '{name}', {value.type.as_summary()} cannot be stored as {target.as_summary()}",
            where=_schemas(source, fields),
            do=f"CAST the value to {target.nullable().as_summary()}",
        )
    return cast_rex(value, target.with_nullability(value.type.is_nullable))


def _schemas(source: Plan, fields: list[Any]) -> str:
    have = ", ".join(f"{f.name}: {f.type.as_summary()}" for f in source.fields)
    want = ", ".join(f"{f.name}: {f.data_type.as_summary()}" for f in fields)
    return f"query schema: [{have}]\n         sink schema:  [{want}]"


def truncate(session: SqlSession, statement: st.TruncateStatement) -> StatementResult:
    identifier, target = target_table(session, statement.path)
    from penstock.connectors.registry import find_connector

    connector = find_connector(target.options, identifier.as_summary_string())
    action = getattr(connector, "truncate", None)
    if action is None:
        raise NotSupportedError(
            f"TRUNCATE TABLE on connector '{connector.name}'", "the connector cannot remove rows"
        )
    action(session.executor.spark, target)
    return ok()
