"""CREATE, DROP and the rest of DDL; ALTER TABLE is in `alter_table.py`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.catalog.errors import CatalogError
from penstock.catalog.identifiers import ObjectIdentifier, ObjectPath
from penstock.catalog.objects import CatalogDatabase, CatalogFunction, CatalogTable, CatalogView
from penstock.catalog.schema import Schema
from penstock.common.errors import ValidationError
from penstock.sql.binder.tables import bind_table
from penstock.sql.catalog_types import check_catalog_options, create_catalog_from_options
from penstock.sql.dialect import statements as st
from penstock.sql.operations.alter_table import alter_table
from penstock.sql.operations.like import merge_like
from penstock.sql.result import StatementResult, ok
from penstock.sql.user_functions import load_function

if TYPE_CHECKING:
    from penstock.sql.plan.algebra import Plan
    from penstock.sql.session import SqlSession


# -- tables --------------------------------------------------------------------------------------------


def create_table(session: SqlSession, statement: st.CreateTableStatement) -> StatementResult:
    if statement.query is not None:
        return _create_table_as(session, statement)
    if statement.or_replace:
        raise ValidationError("CREATE OR REPLACE TABLE needs AS and a query")
    table = table_of(session, statement)
    check_table(session, session.catalogs.identifier(statement.path), table)
    session.catalogs.create_table(
        statement.path, table, temporary=statement.temporary, if_not_exists=statement.if_not_exists
    )
    return ok()


def table_of(session: SqlSession, statement: st.CreateTableStatement) -> CatalogTable:
    """The catalog table a CREATE TABLE describes, LIKE merged in."""
    if statement.column_order:
        raise ValidationError(
            f"column '{statement.column_order[0]}' has no type",
            do="only CREATE TABLE … AS may leave types out",
        )
    table = CatalogTable(
        statement.schema,
        statement.options,
        statement.comment,
        statement.partition_keys,
        statement.distribution,
    )
    if statement.like is not None:
        _, base = session.catalogs.resolve_table(statement.like)
        if not isinstance(base, CatalogTable):
            raise ValidationError(f"LIKE needs a table, '{'.'.join(statement.like)}' is a view")
        table = merge_like(table, base, statement.like_options)
    return replace(table, schema=with_key_not_null(table.schema))


def with_key_not_null(schema: Schema) -> Schema:
    """Key columns hold no NULL."""
    columns = tuple(
        replace(c, data_type=c.data_type.not_null()) if c.name in schema.primary_key and c.data_type else c
        for c in schema.columns
    )
    return replace(schema, columns=columns)


def check_table(session: SqlSession, identifier: ObjectIdentifier, table: CatalogTable) -> Plan:
    """Refuses schemas that contradict themselves; computed columns and watermark are bound to see."""
    names = [c.name for c in table.schema.columns]
    double = [n for n in names if names.count(n) > 1]
    if double:
        raise ValidationError(f"a column named '{double[0]}' already exists in the table")
    physical = [c.name for c in table.schema.columns if c.is_physical]
    for key in table.schema.primary_key:
        if key not in names:
            raise ValidationError(f"primary key column '{key}' is not defined in the schema")
        if key not in physical:
            raise ValidationError(f"primary key column '{key}' must be a physical column")
    for key in table.partition_keys:
        if key not in physical:
            raise ValidationError(f"partition column '{key}' is not a physical column of the table")
    from penstock.sql.binder.query import QueryBinder

    ctx = session.context("")
    return bind_table(table, identifier, QueryBinder(ctx), ctx)


def _create_table_as(session: SqlSession, statement: st.CreateTableStatement) -> StatementResult:
    from penstock.sql.operations.dml import execute_sinks, plan_insert
    from penstock.sql.session import result_schema

    plan = session.bind(statement.query, statement.sql)
    query_schema = result_schema(plan).to_schema()
    declared = statement.schema
    if statement.column_order:
        picked = [query_schema.column(name) for name in statement.column_order]
        if None in picked or len(picked) != len(query_schema.columns):
            raise ValidationError("the column list of CREATE TABLE AS must name the query's columns")
        query_schema = replace(query_schema, columns=tuple(c for c in picked if c is not None))
    own = {c.name: c for c in declared.columns}
    columns = [
        *(c for c in declared.columns if query_schema.column(c.name) is None),
        *(own.get(c.name, c) for c in query_schema.columns),
    ]
    schema = replace(declared, columns=tuple(columns))
    table = CatalogTable(
        with_key_not_null(schema),
        statement.options,
        statement.comment,
        statement.partition_keys,
        statement.distribution,
    )
    identifier = session.catalogs.identifier(statement.path)
    exists = session.catalogs.find_table(statement.path) is not None
    if exists and statement.if_not_exists:
        return ok()
    if exists and statement.or_replace:
        session.catalogs.drop_table(statement.path, view=False, temporary=False, if_exists=True)
    check_table(session, identifier, table)
    session.catalogs.create_table(statement.path, table, temporary=statement.temporary, if_not_exists=False)
    names = (
        tuple(f.name for f in plan.fields)
        if not statement.column_order
        else tuple(c.name for c in result_schema(plan).get_columns())
    )
    insert = st.InsertStatement(statement.path, statement.query, names, sql=statement.sql)
    return execute_sinks(session, [plan_insert(session, insert)])


# -- views ---------------------------------------------------------------------------------------------


def create_view(session: SqlSession, statement: st.CreateViewStatement) -> StatementResult:
    from penstock.sql.session import result_schema

    catalogs = session.catalogs
    if statement.if_not_exists and catalogs.find_table(statement.path) is not None:
        return ok()
    plan = session.bind(statement.ast, statement.sql)
    names = list(statement.columns) or result_schema(plan).get_column_names()
    if len(names) != len(plan.fields):
        raise ValidationError(f"the view names {len(names)} columns, but its query has {len(plan.fields)}")
    if len(set(names)) < len(names):
        raise ValidationError("a view needs different column names", do="give the columns aliases")
    builder = Schema.new_builder()
    for name, column in zip(names, plan.fields, strict=True):
        builder.column(name, column.type)
    view = CatalogView(
        builder.build(),
        {},
        statement.comment,
        statement.query,
        statement.query,
        catalogs.current_catalog,
        catalogs.current_database or "",
    )
    if statement.replace:
        return _replace_view(session, statement, view)
    catalogs.create_table(statement.path, view, temporary=statement.temporary, if_not_exists=False)
    return ok()


def _replace_view(
    session: SqlSession, statement: st.CreateViewStatement, view: CatalogView
) -> StatementResult:
    identifier, old = session.catalogs.resolve_table(statement.path)
    if not isinstance(old, CatalogView):
        raise CatalogError(f"view '{identifier.as_summary_string()}' does not exist")
    if identifier in session.catalogs.temporary:
        session.catalogs.temporary[identifier] = view
    else:
        catalog = session.catalogs.catalog(identifier.catalog_name)
        catalog.alter_table(identifier.to_object_path(), view, False)
    return ok()


# -- catalogs, databases, functions --------------------------------------------------------------------


def create_catalog(session: SqlSession, statement: st.CreateCatalogStatement) -> StatementResult:
    if statement.name in session.catalogs.catalogs and statement.if_not_exists:
        return ok()
    catalog = create_catalog_from_options(statement.name, statement.options)
    session.catalogs.register_catalog(statement.name, catalog, statement.options)
    session.catalogs.comments.pop(statement.name, None)
    if statement.comment is not None:
        session.catalogs.comments[statement.name] = statement.comment
    return ok()


def create_database(session: SqlSession, statement: st.CreateDatabaseStatement) -> StatementResult:
    catalog_name, database = session.catalogs.database_path(statement.path)
    info = CatalogDatabase(statement.options, statement.comment)
    session.catalogs.catalog(catalog_name).create_database(database, info, statement.if_not_exists)
    return ok()


def create_function(session: SqlSession, statement: st.CreateFunctionStatement) -> StatementResult:
    function = CatalogFunction(statement.class_name, statement.language, statement.resources)
    catalogs = session.catalogs
    if statement.system:
        name = statement.path[-1].lower()
        if name in catalogs.system_functions and statement.if_not_exists:
            return ok()
        catalogs.system_functions[name] = load_function(function)
        return ok()
    path = (*statement.path[:-1], statement.path[-1].lower())
    identifier = catalogs.identifier(path)
    if statement.temporary:
        catalogs.temporary_functions[identifier] = load_function(function)
        return ok()
    catalog = catalogs.catalog(identifier.catalog_name)
    if statement.alter:
        catalog.alter_function(identifier.to_object_path(), function, statement.if_not_exists)
    else:
        catalog.create_function(identifier.to_object_path(), function, statement.if_not_exists)
    return ok()


def alter(session: SqlSession, statement: st.AlterStatement) -> StatementResult:
    if statement.kind in ("TABLE", "VIEW"):
        return alter_table(session, statement)
    if statement.kind == "DATABASE":
        catalog_name, database = session.catalogs.database_path(statement.path)
        catalog = session.catalogs.catalog(catalog_name)
        old = catalog.get_database(database)
        if not isinstance(statement.action, st.SetOptions):
            raise ValidationError("ALTER DATABASE knows only SET (…)")
        new = CatalogDatabase({**old.properties, **statement.action.options}, old.comment)
        catalog.alter_database(database, new, False)
        return ok()
    session.catalogs.catalog(statement.path[0])
    options = session.catalogs.descriptors[statement.path[0]]
    if isinstance(statement.action, st.SetOptions):
        check_catalog_options(statement.path[0], {**options, **statement.action.options})
        options.update(statement.action.options)
    elif isinstance(statement.action, st.ResetOptions):
        for key in statement.action.keys:
            options.pop(key, None)
    elif isinstance(statement.action, str):
        session.catalogs.comments[statement.path[0]] = statement.action
    return ok()


def drop(session: SqlSession, statement: st.DropStatement) -> StatementResult:
    catalogs = session.catalogs
    if statement.kind in ("TABLE", "VIEW"):
        catalogs.drop_table(
            statement.path,
            view=statement.kind == "VIEW",
            temporary=statement.temporary,
            if_exists=statement.if_exists,
        )
    elif statement.kind == "DATABASE":
        catalog_name, database = catalogs.database_path(statement.path)
        if (catalog_name, database) == (catalogs.current_catalog, catalogs.current_database):
            raise CatalogError(f"database {database} is the current database", do="USE another one first")
        catalogs.catalog(catalog_name).drop_database(database, statement.if_exists, statement.cascade)
    elif statement.kind == "CATALOG":
        catalogs.drop_catalog(statement.path[0], statement.if_exists)
    else:
        _drop_function(session, statement)
    return ok()


def _drop_function(session: SqlSession, statement: st.DropStatement) -> None:
    catalogs = session.catalogs
    name = statement.path[-1].lower()
    if statement.system:
        if catalogs.system_functions.pop(name, None) is None and not statement.if_exists:
            raise CatalogError(f"temporary system function {name} does not exist")
        return
    identifier = catalogs.identifier((*statement.path[:-1], name))
    if statement.temporary:
        if catalogs.temporary_functions.pop(identifier, None) is None and not statement.if_exists:
            raise CatalogError(f"temporary function {name} does not exist")
        return
    path = ObjectPath(identifier.database_name, name)
    catalogs.catalog(identifier.catalog_name).drop_function(path, statement.if_exists)
