"""Values of columns as the texts that Redis keeps, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.datatypes import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
    VarBinaryType,
)
from penstock.common.errors import ValidationError
from penstock.formats import values as v
from penstock.formats.csv import CSV, reader

Convert = Callable[[Any], Any]

_NESTED = (ArrayType, MapType, MultisetType, RowType)
_BYTES = (BinaryType, VarBinaryType)


def check_flat(row_type: RowType) -> None:
    """Refuses columns that are no single value."""
    for field in row_type.fields:
        if isinstance(field.data_type, _NESTED):
            raise ValidationError(
                f"the column '{field.name}' of type {field.data_type.as_summary()} is no single value",
                do="use 'data-type' = 'string', where a row is one text in a format",
            )


def to_text(data_type: DataType) -> Convert:
    """From a value that is not NULL to what is stored; bytes stay as they are."""
    if isinstance(data_type, BooleanType):
        return lambda value: "true" if value else "false"
    if isinstance(data_type, DecimalType):
        return lambda value: v.format_decimal(value, plain=True)
    if isinstance(data_type, DoubleType):
        return v.format_double
    if isinstance(data_type, FloatType):
        return v.format_single
    if isinstance(data_type, TimeType):
        return v.format_time
    if isinstance(data_type, TimestampType):
        return v.format_timestamp
    if isinstance(data_type, LocalZonedTimestampType):
        return v.format_timestamp_ltz
    return (lambda value: value) if isinstance(data_type, _BYTES) else str


def from_text(data_type: DataType) -> Convert:
    """From what is stored, which are bytes, to a value."""
    if isinstance(data_type, _BYTES):
        return lambda stored: stored
    read = reader(data_type, CSV.read_options({}))
    return lambda stored: read(stored.decode("utf-8"))
