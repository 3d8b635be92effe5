"""Row types in Arrow's terms, and rows to and from Arrow tables: what Parquet and ORC files are made with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.common.datatypes import (
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from penstock.common.errors import NotSupportedError, TypeMismatchError
from penstock.connectors.row_types import row_maker, value_unmaker

__all__ = ["arrow_schema", "rows_to_table", "table_to_rows"]

_SIMPLE: dict[type[DataType], Any] = {
    CharType: pa.string(),
    VarCharType: pa.string(),
    BooleanType: pa.bool_(),
    TinyIntType: pa.int8(),
    SmallIntType: pa.int16(),
    IntType: pa.int32(),
    BigIntType: pa.int64(),
    FloatType: pa.float32(),
    DoubleType: pa.float64(),
    BinaryType: pa.binary(),
    VarBinaryType: pa.binary(),
    DateType: pa.date32(),
    TimeType: pa.time64("us"),
    TimestampType: pa.timestamp("us"),
    LocalZonedTimestampType: pa.timestamp("us", "UTC"),
}


def arrow_schema(row_type: RowType) -> pa.Schema:
    """The Arrow schema of rows of `row_type`."""
    return pa.schema([_field(f.name, f.data_type) for f in row_type.fields])


def _field(name: str, data_type: DataType) -> pa.Field:
    return pa.field(name, _arrow_type(data_type), nullable=data_type.is_nullable)


def _arrow_type(data_type: DataType) -> pa.DataType:
    if isinstance(data_type, DecimalType):
        return pa.decimal128(data_type.precision, data_type.scale)
    if isinstance(data_type, ArrayType):
        return pa.list_(_field("element", data_type.element_type))
    if isinstance(data_type, MapType):
        return pa.map_(_arrow_type(data_type.key_type), _arrow_type(data_type.value_type))
    if isinstance(data_type, RowType):
        return pa.struct([_field(f.name, f.data_type) for f in data_type.fields])
    try:
        return _SIMPLE[type(data_type)]
    except KeyError:
        raise NotSupportedError(
            f"type {data_type.as_summary()} in a columnar file", "Arrow has no such type"
        ) from None


def rows_to_table(rows: Sequence[Any], row_type: RowType, schema: pa.Schema) -> pa.Table:
    """A table of rows (or tuples)."""
    columns = zip(*rows, strict=True)
    arrays = []
    for field, column, arrow_field in zip(row_type.fields, columns, schema, strict=True):
        unmake = value_unmaker(field.data_type)
        values = column if unmake is None else [None if v is None else unmake(v) for v in column]
        if isinstance(field.data_type, MapType):
            values = [None if v is None else list(v.items()) for v in values]
        try:
            arrays.append(pa.array(values, arrow_field.type))
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise TypeMismatchError(
                f"a value of column '{field.name}' is not {field.data_type.as_summary()}: {error}"
            ) from error
    return pa.Table.from_arrays(arrays, schema=schema)


def table_to_rows(table: pa.Table, row_type: RowType) -> list[Any]:
    """Named rows; the table's columns are those of `row_type`, in order."""
    make = row_maker(row_type)
    columns = []
    for field, column in zip(row_type.fields, table.columns, strict=True):
        values = column.to_pylist()
        if isinstance(field.data_type, MapType):
            values = [None if v is None else dict(v) for v in values]
        columns.append(values)
    return [make(values) for values in zip(*columns, strict=True)]
