"""ALTER TABLE and ALTER VIEW: a changed copy of the catalog's table takes its place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.catalog.errors import CatalogError
from penstock.catalog.objects import CatalogTable, CatalogView
from penstock.catalog.schema import Schema, SchemaColumn
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.common.near_names import did_you_mean
from penstock.sql.dialect import statements as st
from penstock.sql.dialect.statement_parser import parse_expression
from penstock.sql.result import StatementResult, ok

if TYPE_CHECKING:
    from penstock.sql.session import SqlSession


def alter_table(session: SqlSession, statement: st.AlterStatement) -> StatementResult:
    found = session.catalogs.find_table(statement.path)
    if found is None and statement.if_exists:
        return ok()
    identifier, table = session.catalogs.resolve_table(statement.path)
    is_view = isinstance(table, CatalogView)
    if is_view != (statement.kind == "VIEW"):
        raise CatalogError(f"'{identifier.as_summary_string()}' is a {'view' if is_view else 'table'}")
    action = statement.action
    if isinstance(action, st.RenameTo):
        _rename(session, identifier, table, action)
        return ok()
    if not isinstance(table, CatalogTable):
        raise ValidationError("ALTER VIEW knows RENAME TO and AS")
    new = change(table, action)
    from penstock.sql.operations.ddl import check_table

    check_table(session, identifier, new)
    if identifier in session.catalogs.temporary:
        session.catalogs.temporary[identifier] = new
    else:
        catalog = session.catalogs.catalog(identifier.catalog_name)
        catalog.alter_table(identifier.to_object_path(), new, False)
    return ok()


def _rename(session: SqlSession, identifier: Any, table: Any, action: st.RenameTo) -> None:
    new = session.catalogs.identifier(action.path)
    if (new.catalog_name, new.database_name) != (identifier.catalog_name, identifier.database_name):
        raise ValidationError("a table cannot be renamed into another database")
    if session.catalogs.find_table(action.path) is not None:
        raise CatalogError(f"'{new.as_summary_string()}' exists already")
    if identifier in session.catalogs.temporary:
        session.catalogs.temporary[new] = session.catalogs.temporary.pop(identifier)
        return
    catalog = session.catalogs.catalog(identifier.catalog_name)
    catalog.rename_table(identifier.to_object_path(), new.object_name, False)


def change(table: CatalogTable, action: Any) -> CatalogTable:
    """The table after one ALTER action."""
    if isinstance(action, st.SetOptions):
        return table.with_options({**table.options, **action.options})
    if isinstance(action, st.ResetOptions):
        if "connector" in action.keys:
            raise ValidationError("ALTER TABLE RESET cannot take 'connector' away")
        return table.with_options({k: v for k, v in table.options.items() if k not in action.keys})
    if isinstance(action, st.AddColumns):
        return _modify(table, action) if action.modify else _add(table, action)
    if isinstance(action, st.DropParts):
        return _drop(table, action)
    if isinstance(action, st.RenameColumn):
        return _rename_column(table, action)
    if isinstance(action, st.AlterPartitions):
        raise NotSupportedError("ALTER TABLE … PARTITION", "partitions of files come and go with the files")
    return replace(table, comment=str(action))


def _index(schema: Schema, name: str) -> int:
    names = [c.name for c in schema.columns]
    if name not in names:
        raise ValidationError(f"column '{name}' does not exist in the table", do=did_you_mean(name, names))
    return names.index(name)


def _place(columns: list[SchemaColumn], column: SchemaColumn, place: str | None) -> None:
    if place is None:
        columns.append(column)
    elif place == "FIRST":
        columns.insert(0, column)
    else:
        columns.insert(_index(Schema(tuple(columns)), place) + 1, column)


def _add(table: CatalogTable, action: st.AddColumns) -> CatalogTable:
    schema = table.schema
    columns = list(schema.columns)
    for column, place in action.columns:
        if any(c.name == column.name for c in columns):
            raise ValidationError(f"column '{column.name}' exists already", do="use MODIFY to change it")
        _place(columns, column, place)
    if action.watermark and schema.watermarks:
        raise ValidationError("the table has a watermark already", do="use MODIFY WATERMARK")
    if action.primary_key and schema.primary_key:
        raise ValidationError("the table has a primary key already", do="use MODIFY PRIMARY KEY")
    if action.distribution and table.distribution:
        raise ValidationError("the table has a distribution already", do="use MODIFY DISTRIBUTION")
    return _with_parts(table, replace(schema, columns=tuple(columns)), action)


def _modify(table: CatalogTable, action: st.AddColumns) -> CatalogTable:
    schema = table.schema
    columns = list(schema.columns)
    for column, place in action.columns:
        index = _index(Schema(tuple(columns)), column.name)
        if place is None:
            columns[index] = column
        else:
            del columns[index]
            _place(columns, column, place)
    if action.watermark and not schema.watermarks:
        raise ValidationError("the table has no watermark to modify", do="use ADD WATERMARK")
    if action.primary_key and not schema.primary_key:
        raise ValidationError("the table has no primary key to modify", do="use ADD PRIMARY KEY")
    return _with_parts(table, replace(schema, columns=tuple(columns)), action)


def _with_parts(table: CatalogTable, schema: Schema, action: st.AddColumns) -> CatalogTable:
    from penstock.sql.operations.ddl import with_key_not_null

    if action.watermark:
        schema = replace(schema, watermarks=(action.watermark,))
    if action.primary_key:
        schema = replace(schema, primary_key=action.primary_key, primary_key_name=action.primary_key_name)
    distribution = action.distribution or table.distribution
    return replace(table, schema=with_key_not_null(schema), distribution=distribution)


def _drop(table: CatalogTable, action: st.DropParts) -> CatalogTable:
    schema = table.schema
    if action.watermark:
        if not schema.watermarks:
            raise ValidationError("the table has no watermark to drop")
        return replace(table, schema=replace(schema, watermarks=()))
    if action.primary_key or action.constraint:
        if not schema.primary_key or (action.constraint and action.constraint != schema.primary_key_name):
            raise ValidationError("the table has no such primary key to drop")
        return replace(table, schema=replace(schema, primary_key=(), primary_key_name=None))
    if action.distribution:
        return replace(table, distribution=None)
    for name in action.columns:
        _index(schema, name)
        _check_unused(table, name)
    columns = tuple(c for c in schema.columns if c.name not in action.columns)
    return replace(table, schema=replace(schema, columns=columns))


def _check_unused(table: CatalogTable, name: str) -> None:
    schema = table.schema
    used_by = [c.name for c in schema.columns if c.expression and name in _columns_in(c.expression)]
    if used_by:
        raise ValidationError(f"column '{name}' is used by the computed column '{used_by[0]}'")
    if name in schema.primary_key:
        raise ValidationError(f"column '{name}' is part of the primary key")
    if name in table.partition_keys:
        raise ValidationError(f"column '{name}' is a partition column")
    if any(w.column == name or name in _columns_in(w.expression) for w in schema.watermarks):
        raise ValidationError(f"column '{name}' is used by the watermark")


def _columns_in(text: str) -> set[str]:
    from sqlglot import exp

    return {c.name for c in parse_expression(text).find_all(exp.Column)}


def _rename_column(table: CatalogTable, action: st.RenameColumn) -> CatalogTable:
    schema = table.schema
    index = _index(schema, action.old)
    if any(c.name == action.new for c in schema.columns):
        raise ValidationError(f"column '{action.new}' exists already")
    used_by = [c.name for c in schema.columns if c.expression and action.old in _columns_in(c.expression)]
    if used_by:
        raise ValidationError(f"column '{action.old}' is used by the computed column '{used_by[0]}'")
    if any(w.column == action.old or action.old in _columns_in(w.expression) for w in schema.watermarks):
        raise ValidationError(f"column '{action.old}' is used by the watermark")
    columns = list(schema.columns)
    columns[index] = replace(columns[index], name=action.new)
    key = tuple(action.new if k == action.old else k for k in schema.primary_key)
    partitions = tuple(action.new if k == action.old else k for k in table.partition_keys)
    new = replace(schema, columns=tuple(columns), primary_key=key)
    return replace(table, schema=new, partition_keys=partitions)
