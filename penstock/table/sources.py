"""Where tables begin: elements of the program, and tables that only a descriptor names."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from penstock.catalog.table_descriptor import TableDescriptor
from penstock.common.datatypes import DataType, RowField, RowType
from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.sql.binder.coercion import cast_rex
from penstock.sql.binder.query import QueryBinder
from penstock.sql.binder.tables import bind_table
from penstock.sql.functions.common_types import common_type
from penstock.sql.operations.ddl import check_table
from penstock.sql.plan.algebra import Field, Plan, Values
from penstock.sql.plan.rex import Call, Rex
from penstock.sql.session import SqlSession
from penstock.table.element_types import infer_schema
from penstock.table.elements import local_rows
from penstock.table.expression_parts.base import Operand
from penstock.table.resolving.binder import NodeBinder
from penstock.table.resolving.context import ProgramContext, program_context

_anonymous = itertools.count(1)


def rows_of_elements(session: SqlSession, elements: Iterable[Any], schema: Any, verify: bool) -> Plan:
    """Elements as a leaf: constants where they are expressions, a table of values else."""
    items = list(elements)
    if items and all(isinstance(e, Operand) for e in items):
        return _values(program_context(session, "from_elements"), items, schema)
    if any(isinstance(e, Operand) for e in items):
        raise ValidationError("either all elements are expressions or none", do="write row(...) for each")
    zone = session.config.get("table.local-time-zone", "default")
    row_type = _row_type(items, schema)
    return local_rows(items, row_type, "UTC" if zone == "default" else zone, verify and schema is not None)


def _row_type(items: list[Any], schema: Any) -> RowType:
    if isinstance(schema, RowType):
        return schema
    if isinstance(schema, DataType):
        return RowType([RowField("value", schema)])
    if schema is None or isinstance(schema, (list, tuple)):
        return infer_schema(items, schema)
    raise TypeMismatchError(f"a schema is a ROW type or names of columns, got {schema!r}")


def _values(ctx: ProgramContext, items: list[Operand], schema: Any) -> Plan:
    binder = NodeBinder(ctx, (), place=ctx.call)
    rows = [_cells(binder.bind(i._node)) for i in items]
    if len({len(r) for r in rows}) > 1:
        raise ctx.error("the rows have different numbers of values")
    fields = []
    for i in range(len(rows[0])):
        declared = schema.fields[i] if isinstance(schema, RowType) else None
        merged = common_type([r[i].type for r in rows]) if declared is None else declared.data_type
        if merged is None:
            raise ctx.error(f"the values of column {i + 1} have no common type")
        fields.append(Field(f"f{i}" if declared is None else declared.name, merged))
    cast = tuple(tuple(cast_rex(v, f.type) for v, f in zip(r, fields, strict=True)) for r in rows)
    return Values(tuple(fields), cast)


def _cells(rex: Rex) -> tuple[Rex, ...]:
    return rex.args if isinstance(rex, Call) and rex.name == "ROW" else (rex,)


def table_of_descriptor(session: SqlSession, descriptor: TableDescriptor) -> Plan:
    """The rows of a table without a name."""
    if not isinstance(descriptor, TableDescriptor):
        raise ValidationError(f"from_descriptor takes a TableDescriptor, got {descriptor!r}")
    table = descriptor.to_catalog_table()
    name = f"*anonymous_{descriptor.get_options()['connector']}${next(_anonymous)}*"
    identifier = session.catalogs.identifier((name,))
    check_table(session, identifier, table)
    ctx = program_context(session, "from_descriptor")
    return bind_table(table, identifier, QueryBinder(ctx), ctx)
