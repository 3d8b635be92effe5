"""SHOW CREATE …: the statement that would make the thing again, in Flink's layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.sql.dialect import statements as st
from penstock.sql.result import StatementResult, strings
from penstock.sql.unparse import canonical
from penstock.table.catalog import CatalogTable, CatalogView, ObjectIdentifier
from penstock.table.schema import SchemaColumn

if TYPE_CHECKING:
    from penstock.sql.session import SqlSession


def show_create(session: SqlSession, statement: st.ShowStatement) -> StatementResult:
    kind = statement.kind.removeprefix("CREATE ")
    if kind == "CATALOG":
        session.catalogs.catalog(statement.path[0])
        options = session.catalogs.descriptors.get(statement.path[0], {})
        comment = session.catalogs.comments.get(statement.path[0])
        said = "" if comment is None else "COMMENT '" + comment.replace("'", "''") + "'\n"
        return strings("result", [f"CREATE CATALOG `{statement.path[0]}`\n{said}{_options(options)}\n"])
    if kind not in ("TABLE", "VIEW"):
        raise NotSupportedError(f"SHOW CREATE {kind}", "there is nothing of that kind here")
    identifier, found = session.catalogs.resolve_table(statement.path)
    temporary = identifier in session.catalogs.temporary
    if kind == "VIEW":
        if not isinstance(found, CatalogView):
            raise ValidationError(f"SHOW CREATE VIEW: '{identifier.as_summary_string()}' is not a view")
        return strings("result", [view_text(identifier, found, temporary)])
    if not isinstance(found, CatalogTable):
        raise ValidationError(f"SHOW CREATE TABLE: '{identifier.as_summary_string()}' is not a table")
    return strings("result", [table_text(identifier, found, temporary)])


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
    return text + _options(dict(table.options)) + "\n"


def view_text(identifier: ObjectIdentifier, view: CatalogView, temporary: bool = False) -> str:
    word = "CREATE TEMPORARY VIEW" if temporary else "CREATE VIEW"
    names = ",\n  ".join(_name(c.name) for c in view.schema.columns)
    comment = f"COMMENT {_text(view.comment)}\n" if view.comment else ""
    return (
        f"{word} {identifier.as_serializable_string()} (\n  {names}\n)\n{comment}AS {view.original_query}\n"
    )


def _name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _options(options: dict[str, str]) -> str:
    pairs = ",\n  ".join(f"{_text(k)} = {_text(v)}" for k, v in sorted(options.items()))
    return f"WITH (\n  {pairs}\n)" if options else "WITH ()"


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
