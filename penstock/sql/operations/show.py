"""USE, SHOW, DESCRIBE, SET: looking at the session and moving in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from penstock.catalog.modules import CORE
from penstock.catalog.objects import CatalogTable
from penstock.catalog.resolved_schema import ResolvedSchema
from penstock.common.config_check import check_configuration
from penstock.common.configuration import Configuration
from penstock.common.datatypes import DataTypes
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.connectors.registry import find_connector
from penstock.sql.dialect import statements as st
from penstock.sql.functions import FUNCTIONS
from penstock.sql.operations.jobs import describe_job, show_jobs
from penstock.sql.operations.show_create import show_create
from penstock.sql.result import StatementResult, ok, strings, table
from penstock.sql.session_schema import resolved_schema
from penstock.sql.user_functions import find_user_function

if TYPE_CHECKING:
    from penstock.sql.session import SqlSession

_STRING = DataTypes.STRING()


def use(session: SqlSession, statement: st.UseStatement) -> StatementResult:
    if statement.kind == "CATALOG":
        session.catalogs.use_catalog(statement.path[0])
    elif statement.kind == "DATABASE":
        session.catalogs.use_database(statement.path)
    else:
        session.catalogs.modules.use(statement.path)
    return ok()


def module(session: SqlSession, statement: st.ModuleStatement) -> StatementResult:
    modules = session.catalogs.modules
    if not statement.load:
        modules.unload(statement.name)
    elif statement.name == CORE:
        modules.load(CORE, None)
    else:
        raise NotSupportedError(
            f"module {statement.name}",
            "SQL only knows the module core",
            do="load a module of the program with TableEnvironment.load_module",
        )
    return ok()


def set_option(session: SqlSession, statement: st.SetStatement) -> StatementResult:
    if statement.key is None:
        rows = sorted(dict(session.config).items())
        return table([("key", _STRING), ("value", _STRING)], rows)
    value = statement.value or ""
    check_configuration(Configuration.from_dict({statement.key: value}))
    session.config[statement.key] = value
    return ok()


def reset_option(session: SqlSession, statement: st.ResetStatement) -> StatementResult:
    if statement.key is None:
        session.config.clear()
    else:
        session.config.pop(statement.key, None)
    return ok()


def analyze(session: SqlSession, statement: st.AnalyzeTableStatement) -> StatementResult:
    """Checks the names; Spark collects its statistics while a query runs."""
    identifier, found = session.catalogs.resolve_table(statement.path)
    if session.streaming:
        raise ValidationError("ANALYZE TABLE is for batch only")
    if isinstance(found, CatalogTable):
        find_connector(found.options, identifier.as_summary_string()).validate(found, "source")
    names = resolved_schema(session, identifier, found).get_column_names()
    for name in statement.columns:
        if name not in names:
            raise ValidationError(f"column '{name}' not found in '{identifier.as_summary_string()}'")
    return ok()


# -- SHOW ----------------------------------------------------------------------------------------------


def show(session: SqlSession, statement: st.ShowStatement) -> StatementResult:
    kind = statement.kind
    if kind.startswith("CREATE "):
        return show_create(session, statement)
    catalogs = session.catalogs
    if kind == "CURRENT CATALOG":
        return strings("current catalog name", [catalogs.current_catalog])
    if kind == "CURRENT DATABASE":
        return strings("current database name", [catalogs.current_database or ""])
    if kind == "JOBS":
        return show_jobs()
    if kind == "COLUMNS":
        return _columns(session, statement)
    if kind == "FULL MODULES":
        return table(
            [("module name", _STRING), ("used", DataTypes.BOOLEAN())], session.catalogs.modules.entries()
        )
    lister = _LISTS.get(kind)
    if lister is None:
        raise NotSupportedError(f"SHOW {kind}", "there is nothing of that kind here")
    column, names = lister
    return strings(column, _matching(names(session, statement.path), statement))


def _databases(session: SqlSession, path: tuple[str, ...]) -> list[str]:
    return session.catalogs.catalog(path[0] if path else session.catalogs.current_catalog).list_databases()


def _models(session: SqlSession, path: tuple[str, ...]) -> list[str]:
    catalog_name, database = session.catalogs.database_path(path)
    return session.catalogs.catalog(catalog_name).list_models(database)


def _functions(session: SqlSession, path: tuple[str, ...]) -> list[str]:
    builtin = [n for n in FUNCTIONS if re.fullmatch(r"[A-Z_][A-Z0-9_]*", n)]
    return sorted({*(n.lower() for n in builtin), *_user_functions(session, path)})


def _user_functions(session: SqlSession, path: tuple[str, ...]) -> list[str]:
    catalog_name, database = session.catalogs.database_path(path)
    names = set(session.catalogs.catalog(catalog_name).list_functions(database))
    names |= set(session.catalogs.system_functions)
    names |= {
        i.object_name
        for i in session.catalogs.temporary_functions
        if (i.catalog_name, i.database_name) == (catalog_name, database)
    }
    return sorted(names)


_LISTS: dict[str, tuple[str, Any]] = {
    "CATALOGS": ("catalog name", lambda s, p: sorted(s.catalogs.catalogs)),
    "DATABASES": ("database name", _databases),
    "TABLES": ("table name", lambda s, p: s.catalogs.list_tables(p)),
    "VIEWS": ("view name", lambda s, p: s.catalogs.list_tables(p, views_only=True)),
    "FUNCTIONS": ("function name", _functions),
    "USER FUNCTIONS": ("function name", _user_functions),
    "MODULES": ("module name", lambda s, p: s.catalogs.modules.used),
    "MATERIALIZED TABLES": ("materialized table", lambda s, p: []),
    "MODELS": ("model name", _models),
    "CONNECTIONS": ("connection name", lambda s, p: []),
    "PROCEDURES": ("procedure name", lambda s, p: []),
    "JARS": ("jars", lambda s, p: []),
}


def _matching(names: list[str], statement: st.ShowStatement) -> list[str]:
    if statement.like is None:
        return names
    pattern = like_pattern(statement.like, statement.ignore_case)
    return [n for n in names if (pattern.fullmatch(n) is not None) != statement.negated]


def like_pattern(text: str, ignore_case: bool = False) -> re.Pattern[str]:
    """A SQL LIKE pattern as a regular expression."""
    parts = {"%": ".*", "_": "."}
    body = "".join(parts.get(c, re.escape(c)) for c in text)
    return re.compile(body, re.S | (re.I if ignore_case else 0))


def _columns(session: SqlSession, statement: st.ShowStatement) -> StatementResult:
    identifier, found = session.catalogs.resolve_table(statement.path)
    schema = resolved_schema(session, identifier, found)
    result = describe_schema(schema)
    if statement.like is None:
        return result
    pattern = like_pattern(statement.like)
    rows = [row for row in result.rows() if (pattern.fullmatch(row[0]) is not None) != statement.negated]
    return StatementResult(result.schema, lambda: iter(rows))


# -- DESCRIBE ------------------------------------------------------------------------------------------


def describe(session: SqlSession, statement: st.DescribeStatement) -> StatementResult:
    if statement.kind == "TABLE":
        identifier, found = session.catalogs.resolve_table(statement.path)
        return describe_schema(resolved_schema(session, identifier, found))
    if statement.kind == "CATALOG":
        return _describe_catalog(session, statement)
    if statement.kind == "DATABASE":
        catalog_name, name = session.catalogs.database_path(statement.path)
        info = session.catalogs.catalog(catalog_name).get_database(name)
        rows = [("name", name), ("comment", info.get_comment())]
        return table([("info name", _STRING), ("info value", _STRING)], rows)
    if statement.kind == "FUNCTION":
        return _describe_function(session, statement)
    if statement.kind == "JOB":
        return describe_job(statement.path[0])
    raise NotSupportedError(f"DESCRIBE {statement.kind}", "there is nothing of that kind here")


def describe_schema(schema: ResolvedSchema) -> StatementResult:
    """name, type, null, key, extras, watermark and, where there is one, comment."""
    key = schema.get_primary_key()
    marks = {w.rowtime_attribute: w.watermark_expression for w in schema.get_watermark_specs()}
    with_comment = any(c.comment for c in schema.get_columns())
    rows = []
    for column in schema.get_columns():
        in_key = key is not None and column.name in key.columns
        text = column.data_type.nullable().as_summary()
        if column.time_attribute:
            text += f" *{column.time_attribute}*"
        row = [
            column.name,
            text,
            column.data_type.is_nullable,
            f"PRI({', '.join(key.columns)})" if in_key and key else None,
            column.explain_extras(),
            marks.get(column.name),
        ]
        rows.append([*row, column.comment] if with_comment else row)
    columns = [("name", _STRING), ("type", _STRING), ("null", DataTypes.BOOLEAN()), ("key", _STRING)]
    columns += [("extras", _STRING), ("watermark", _STRING)]
    if with_comment:
        columns.append(("comment", _STRING))
    return table(columns, rows)


def _describe_catalog(session: SqlSession, statement: st.DescribeStatement) -> StatementResult:
    name = statement.path[0]
    session.catalogs.catalog(name)
    options = session.catalogs.descriptors.get(name, {})
    comment = session.catalogs.comments.get(name)
    rows = [("name", name), ("type", options.get("type", "")), ("comment", comment)]
    if statement.extended:
        rows += [(f"option:{k}", v) for k, v in sorted(options.items()) if k != "type"]
    return table([("info name", _STRING), ("info value", _STRING)], rows)


def _describe_function(session: SqlSession, statement: st.DescribeStatement) -> StatementResult:
    name = statement.path[-1]
    columns = [("info name", _STRING), ("info value", _STRING)]
    user = find_user_function(session.catalogs, ".".join(statement.path))
    if user is not None:
        return table(
            columns, [("is system function", "false"), ("kind", getattr(user, "kind", "scalar").upper())]
        )
    definition = FUNCTIONS.get(name.upper())
    if definition is None:
        raise ValidationError(f"function {name} does not exist")
    rows = [("is system function", "true"), ("is temporary", "false")]
    if statement.extended:
        rows += [
            ("kind", definition.kind.upper()),
            ("is deterministic", str(definition.deterministic).lower()),
        ]
    return table(columns, rows)
