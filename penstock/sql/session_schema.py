"""The resolved schema of a catalog object: types of computed columns, canonical expressions, time attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.catalog.identifiers import ObjectIdentifier
from penstock.catalog.objects import CatalogTable, CatalogView
from penstock.catalog.resolved_schema import (
    Column,
    ComputedColumn,
    MetadataColumn,
    PhysicalColumn,
    ResolvedSchema,
    UniqueConstraint,
    WatermarkSpec,
)
from penstock.sql.plan.algebra import Fields, Plan
from penstock.sql.unparse import canonical

if TYPE_CHECKING:
    from penstock.sql.session import SqlSession


def resolved_schema(session: SqlSession, identifier: ObjectIdentifier, found: Any) -> ResolvedSchema:
    """What DESCRIBE shows of a table, a view or a registered plan."""
    from penstock.sql.session import result_schema

    if isinstance(found, Plan):
        return result_schema(found, session.streaming)
    if isinstance(found, CatalogView):
        return ResolvedSchema(
            [PhysicalColumn(c.name, c.data_type, c.comment) for c in found.schema.columns if c.data_type]
        )
    return _table_schema(session, identifier, found)


def _table_schema(session: SqlSession, identifier: ObjectIdentifier, table: CatalogTable) -> ResolvedSchema:
    from penstock.sql.operations.ddl import check_table

    plan = check_table(session, identifier, table)
    return declared_schema(table, plan.fields, session.streaming)


def declared_schema(
    table: CatalogTable, fields: Fields, streaming: bool, text: Callable[[str], str] = canonical
) -> ResolvedSchema:
    """The declared columns, watermark and key of a table whose columns were bound as `fields`.

    Args:
        text: How expressions are shown: those of DDL in their canonical form, those of a `Schema` as they were given.
    """
    columns: list[Column] = []
    for declared, bound in zip(table.schema.columns, fields, strict=True):
        time = bound.time.upper() if streaming or bound.time == "proctime" else ""
        if declared.expression is not None:
            expression = text(declared.expression)
            column: Column = ComputedColumn(declared.name, bound.type, declared.comment, time, expression)
        elif declared.is_metadata:
            key = declared.metadata_key if declared.has_own_key else None
            column = MetadataColumn(
                declared.name, bound.type, declared.comment, time, key, declared.is_virtual
            )
        else:
            column = PhysicalColumn(declared.name, bound.type, declared.comment, time)
        columns.append(column)
    types = {bound.name: bound.type for bound in fields}
    marks = [WatermarkSpec(w.column, text(w.expression), types[w.column]) for w in table.schema.watermarks]
    key_columns = table.schema.primary_key
    name = table.schema.primary_key_name or ""
    constraint = UniqueConstraint(name, key_columns) if key_columns else None
    return ResolvedSchema(columns, marks, constraint)
