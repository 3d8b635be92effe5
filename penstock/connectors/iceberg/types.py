"""Columns as Iceberg has them."""

from __future__ import annotations

import pyarrow as pa

from penstock.common.datatypes import (
    MultisetType,
    RowType,
)
from penstock.connectors.lake_types import check_columns
from penstock.formats.arrow_rows import arrow_type

__all__ = ["check_types", "iceberg_schema"]


def check_types(row_type: RowType) -> None:
    """Refuses columns that Iceberg has no type for."""
    check_columns("Iceberg", row_type, (MultisetType,))


def iceberg_schema(row_type: RowType) -> pa.Schema:
    """The columns in Arrow's types: small integers are INT, times have microseconds, a moment is in UTC."""
    return pa.schema([pa.field(f.name, _stored(arrow_type(f.data_type))) for f in row_type.fields])


def _stored(found: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_int8(found) or types.is_int16(found):
        return pa.int32()
    if types.is_timestamp(found):
        return pa.timestamp("us", "UTC" if found.tz else None)
    if types.is_time(found):
        return pa.time64("us")
    if types.is_list(found):
        return pa.list_(_stored(found.value_type))
    if types.is_map(found):
        return pa.map_(_stored(found.key_type), _stored(found.item_type))
    if types.is_struct(found):
        return pa.struct([pa.field(f.name, _stored(f.type)) for f in found])
    return found
