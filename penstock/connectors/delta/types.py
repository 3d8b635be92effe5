"""Columns as Delta has them, and the texts that partitions are known by."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.common.datatypes import (
    ArrayType,
    DataType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
)
from penstock.common.errors import ValidationError
from penstock.formats.arrow_rows import arrow_type

__all__ = ["check_types", "delta_schema", "partition_text"]


def check_types(row_type: RowType) -> None:
    """Refuses columns that Delta has no type for."""
    for field in row_type.fields:
        _check(field.name, field.data_type)


def _check(name: str, data_type: DataType) -> None:
    if isinstance(data_type, (TimeType, MultisetType)):
        raise ValidationError(f"Delta has no type for the column '{name}' of type {data_type.as_summary()}")
    if isinstance(data_type, (TimestampType, LocalZonedTimestampType)) and data_type.precision > 6:
        raise ValidationError(
            f"Delta keeps microseconds, and the column '{name}' is {data_type.as_summary()}",
            do="declare it with (6)",
        )
    inner: list[DataType] = []
    if isinstance(data_type, ArrayType):
        inner = [data_type.element_type]
    elif isinstance(data_type, MapType):
        inner = [data_type.key_type, data_type.value_type]
    elif isinstance(data_type, RowType):
        inner = [field.data_type for field in data_type.fields]
    for part in inner:
        _check(name, part)


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
