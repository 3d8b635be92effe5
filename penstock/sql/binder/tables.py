"""A catalog table becomes a plan: scan, computed columns, watermark."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.catalog.identifiers import ObjectIdentifier
from penstock.catalog.objects import CatalogTable
from penstock.catalog.schema import SchemaColumn
from penstock.common.datatypes import LocalZonedTimestampType, TimestampType
from penstock.common.near_names import did_you_mean
from penstock.sql.binder.context import BindContext
from penstock.sql.binder.expressions import ExpressionBinder
from penstock.sql.binder.scope import Relation, Scope
from penstock.sql.dialect.statement_parser import parse_expression
from penstock.sql.plan.algebra import Field, Plan, Project, Scan, Watermark
from penstock.sql.plan.rex import Call, InputRef, Rex, TimeKind

if TYPE_CHECKING:
    from penstock.sql.binder.query import QueryBinder


_SOURCE_WATERMARK = re.compile(r"\s*SOURCE_WATERMARK\s*\(\s*\)\s*", re.IGNORECASE)
"""The connector makes the watermarks itself."""


def bind_table(
    table: CatalogTable, identifier: ObjectIdentifier, queries: QueryBinder, ctx: BindContext
) -> Plan:
    """The rows a query sees of a table: all declared columns in their order."""
    return bind_rows(table, _scan(table, identifier), queries, ctx)


def bind_rows(table: CatalogTable, scan: Plan, queries: QueryBinder, ctx: BindContext) -> Plan:
    """The same over rows that come from `scan`: its physical columns, then the metadata columns."""
    plan = _project(table, scan, queries, ctx)
    for watermark in table.schema.watermarks:
        plan = _watermark(plan, watermark.column, watermark.expression, queries, ctx)
    return plan


def _scan(table: CatalogTable, identifier: ObjectIdentifier) -> Scan:
    stored = [c for c in table.schema.columns if c.is_physical]
    metadata = table.metadata_columns
    fields = tuple(Field(c.name, c.data_type) for c in (*stored, *metadata) if c.data_type is not None)
    return Scan(fields, identifier, replace(table, requested_metadata=tuple(metadata)))


def _project(table: CatalogTable, scan: Plan, queries: QueryBinder, ctx: BindContext) -> Plan:
    """Declared order, with computed columns in place; those may use any column that is not computed."""
    names = [f.name for f in scan.fields]
    scope = Scope([Relation(None, 0, scan.fields)])
    exprs: list[Rex] = []
    fields: list[Field] = []
    for column in table.schema.columns:
        rex = _column(column, names, scan, scope, queries, ctx)
        exprs.append(rex)
        fields.append(Field(column.name, rex.type, time_of(rex)))
    return Project(tuple(fields), scan, tuple(exprs))


def _column(
    column: SchemaColumn, names: list[str], scan: Plan, scope: Scope, queries: QueryBinder, ctx: BindContext
) -> Rex:
    if column.expression is None:
        index = names.index(column.name)
        return InputRef(scan.fields[index].type, index)
    own = ctx.for_text(column.expression)
    binder = ExpressionBinder(own, scope, queries, place="a computed column")
    return binder.bind(parse_expression(column.expression))


def _watermark(plan: Plan, column: str, text: str, queries: QueryBinder, ctx: BindContext) -> Plan:
    names = [f.name for f in plan.fields]
    if column not in names:
        raise ctx.error(
            f"the watermark's column '{column}' is not a column of the table", do=did_you_mean(column, names)
        )
    index = names.index(column)
    data_type = plan.fields[index].type
    if not isinstance(data_type, (TimestampType, LocalZonedTimestampType)) or data_type.precision > 3:
        raise ctx.error(
            f"a row time is TIMESTAMP(0..3) or TIMESTAMP_LTZ(0..3), but '{column}' is {data_type.as_summary()}",
            do="CAST it in a computed column and declare the watermark on that",
        )
    binder = ExpressionBinder(
        ctx.for_text(text), Scope([Relation(None, 0, plan.fields)]), queries, place="a watermark"
    )
    if _SOURCE_WATERMARK.fullmatch(text):
        expression: Rex = Call(data_type, "SOURCE_WATERMARK", ())
    else:
        expression = binder.bind(parse_expression(text))
    fields = tuple(replace(f, time="rowtime") if i == index else f for i, f in enumerate(plan.fields))
    return Watermark(fields, plan, index, expression)


def time_of(rex: Rex) -> TimeKind:
    """Whether an expression's value is still a time attribute."""
    if isinstance(rex, InputRef):
        return rex.time
    if isinstance(rex, Call) and rex.name == "PROCTIME":
        return "proctime"
    return ""
