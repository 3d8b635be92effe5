"""Columns as Delta has them, and the texts that partitions are known by."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.common.datatypes import (
    MultisetType,
    RowType,
    TimeType,
)
from penstock.connectors.lake_types import check_columns
from penstock.formats.arrow_rows import arrow_type

__all__ = ["check_types", "delta_schema", "partition_text"]


def check_types(row_type: RowType) -> None:
    """Refuses columns that Delta has no type for."""
    check_columns("Delta", row_type, (TimeType, MultisetType))


def delta_schema(row_type: RowType) -> pa.Schema:
    """The columns in Arrow's types; a moment is in UTC, a time without a zone is `timestamp_ntz`."""
    return pa.schema([pa.field(f.name, _micros(arrow_type(f.data_type))) for f in row_type.fields])


def _micros(found: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(found):
        return pa.timestamp("us", "UTC" if found.tz else None)
    if pa.types.is_list(found):
        return pa.list_(_micros(found.value_type))
    if pa.types.is_map(found):
        return pa.map_(_micros(found.key_type), _micros(found.item_type))
    if pa.types.is_struct(found):
        return pa.struct([pa.field(f.name, _micros(f.type)) for f in found])
    return found


def partition_text(value: Any) -> str | None:
    """A value as the log has it.

    >>> partition_text(dt.datetime(2024, 1, 1, 10)), partition_text(True)
    ('2024-01-01 10:00:00.000000', 'true')
    """
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f")
    if isinstance(value, Decimal):
        return format(value, "f")
    return str(value)
