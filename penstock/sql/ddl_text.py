"""Tables and views as the statements that make them again, in Flink's layout, and tables back from them."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.catalog.identifiers import ObjectIdentifier
from penstock.catalog.objects import CatalogTable, CatalogView
from penstock.catalog.schema import SchemaColumn
from penstock.common.errors import ValidationError
from penstock.sql.dialect.statement_parser import parse_statement
from penstock.sql.dialect.statements import CreateTableStatement
from penstock.sql.unparse import canonical


def table_text(identifier: ObjectIdentifier, table: CatalogTable, temporary: bool = False) -> str:
    """CREATE TABLE with canonical expressions; parsing it gives the table back."""
    lines = [_column(c) for c in table.schema.columns]
    for mark in table.schema.watermarks:
        lines.append(f"WATERMARK FOR {_name(mark.column)} AS {canonical(mark.expression)}")
    if table.schema.primary_key:
        keys = ", ".join(_name(k) for k in table.schema.primary_key)
        lines.append(
            f"CONSTRAINT {_name(table.schema.primary_key_name or '')} PRIMARY KEY ({keys}) NOT ENFORCED"
        )
    word = "CREATE TEMPORARY TABLE" if temporary else "CREATE TABLE"
    text = f"{word} {identifier.as_serializable_string()} (\n  " + ",\n  ".join(lines) + "\n)\n"
    if table.comment:
        text += f"COMMENT {_text(table.comment)}\n"
    if table.distribution is not None:
        text += f"DISTRIBUTED {table.distribution}\n"
    if table.partition_keys:
        text += f"PARTITIONED BY ({', '.join(_name(k) for k in table.partition_keys)})\n"
    return text + options_text(table.options) + "\n"


def view_text(identifier: ObjectIdentifier, view: CatalogView, temporary: bool = False) -> str:
    word = "CREATE TEMPORARY VIEW" if temporary else "CREATE VIEW"
    names = ",\n  ".join(_name(c.name) for c in view.schema.columns)
    comment = f"COMMENT {_text(view.comment)}\n" if view.comment else ""
    return (
        f"{word} {identifier.as_serializable_string()} (\n  {names}\n)\n{comment}AS {view.original_query}\n"
    )


def options_text(options: Mapping[str, str]) -> str:
    """`WITH (…)`, keys in order."""
    pairs = ",\n  ".join(f"{_text(k)} = {_text(v)}" for k, v in sorted(options.items()))
    return f"WITH (\n  {pairs}\n)" if options else "WITH ()"


def table_from_text(ddl: str) -> CatalogTable:
    """The table that a CREATE TABLE statement describes: the way back from `table_text`."""
    made = parse_statement(ddl)
    if not isinstance(made, CreateTableStatement):
        raise ValidationError("a table of the catalog file is not a CREATE TABLE statement")
    return CatalogTable(made.schema, made.options, made.comment, made.partition_keys, made.distribution)


def _name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _column(column: SchemaColumn) -> str:
    if column.expression is not None:
        text = f"{_name(column.name)} AS {canonical(column.expression)}"
    else:
        assert column.data_type is not None
        text = f"{_name(column.name)} {column.data_type.as_sql()}"
        if column.is_metadata:
            text += " METADATA" + (f" FROM {_text(column.metadata_key or '')}" if column.has_own_key else "")
            text += " VIRTUAL" if column.is_virtual else ""
    return text + (f" COMMENT {_text(column.comment)}" if column.comment else "")
