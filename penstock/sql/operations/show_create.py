"""SHOW CREATE …: the statement that would make the thing again, in Flink's layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.catalog.objects import CatalogTable, CatalogView
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.sql.ddl_text import options_text, table_text, view_text
from penstock.sql.dialect import statements as st
from penstock.sql.result import StatementResult, strings

if TYPE_CHECKING:
    from penstock.sql.session import SqlSession


def show_create(session: SqlSession, statement: st.ShowStatement) -> StatementResult:
    kind = statement.kind.removeprefix("CREATE ")
    if kind == "CATALOG":
        session.catalogs.catalog(statement.path[0])
        options = session.catalogs.descriptors.get(statement.path[0], {})
        comment = session.catalogs.comments.get(statement.path[0])
        said = "" if comment is None else "COMMENT '" + comment.replace("'", "''") + "'\n"
        return strings("result", [f"CREATE CATALOG `{statement.path[0]}`\n{said}{options_text(options)}\n"])
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
