"""Row types in Arrow's terms, and rows to and from Arrow tables: what Parquet and ORC files are made with."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Mapping, Sequence
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
from penstock.common.time import Instant
from penstock.connectors.row_types import row_maker, value_unmaker

Convert = Callable[[Any], Any]

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
        to_arrow = _to_arrow(field.data_type)
        try:
            values = column if to_arrow is None else [_through(to_arrow, v) for v in column]
            arrays.append(pa.array(values, arrow_field.type))
        except (pa.ArrowException, ArithmeticError, KeyError, TypeError, ValueError) as error:
            raise TypeMismatchError(
                f"a value of column '{field.name}' is not {field.data_type.as_summary()}: {error}"
            ) from error
    return pa.Table.from_arrays(arrays, schema=schema)


def table_to_rows(table: pa.Table, row_type: RowType) -> list[Any]:
    """Named rows; the table's columns are those of `row_type`, in order."""
    make = row_maker(row_type)
    columns = []
    for field, column in zip(row_type.fields, table.columns, strict=True):
        from_arrow = _from_arrow(field.data_type)
        values = column.to_pylist()
        columns.append(values if from_arrow is None else [_through(from_arrow, v) for v in values])
    return [make(values) for values in zip(*columns, strict=True)]


def _through(convert: Convert | None, value: Any) -> Any:
    return value if convert is None or value is None else convert(value)


def _to_arrow(data_type: DataType) -> Convert | None:
    """How a value becomes what Arrow takes: Rows and records as dicts, maps as pairs, decimals with their scale."""
    if isinstance(data_type, DecimalType):
        return _rounded(data_type)
    if isinstance(data_type, LocalZonedTimestampType):
        return _moment
    if isinstance(data_type, ArrayType):
        element = _to_arrow(data_type.element_type)
        return None if element is None else lambda items: [_through(element, item) for item in items]
    if isinstance(data_type, MapType):
        key, value = _to_arrow(data_type.key_type), _to_arrow(data_type.value_type)
        return lambda pairs: [(_through(key, k), _through(value, v)) for k, v in pairs.items()]
    if isinstance(data_type, RowType):
        return _struct(data_type)
    return value_unmaker(data_type)


def _struct(data_type: RowType) -> Convert:
    fields = [(f.name, _to_arrow(f.data_type)) for f in data_type.fields]

    def convert(row: Any) -> dict[str, Any]:
        if isinstance(row, Mapping):
            return {name: _through(inner, row.get(name)) for name, inner in fields}
        return {name: _through(inner, v) for (name, inner), v in zip(fields, row, strict=True)}

    return convert


def _moment(value: Any) -> Any:
    """An Instant as the microseconds since 1970 that Arrow takes; datetimes stay what they are."""
    if not isinstance(value, Instant):
        return value
    return value.seconds * 1_000_000 + value.nanos // 1000


def _rounded(data_type: DecimalType) -> Convert:
    """As Flink makes its decimals: rounded half up; NULL where there are too many digits in front of the point."""
    step = decimal.Decimal(1).scaleb(-data_type.scale)
    limit = decimal.Decimal(10) ** (data_type.precision - data_type.scale)
    context = decimal.Context(prec=100)

    def convert(value: Any) -> decimal.Decimal | None:
        rounded = decimal.Decimal(value).quantize(step, decimal.ROUND_HALF_UP, context)
        return rounded if abs(rounded) < limit else None

    return convert


def _from_arrow(data_type: DataType) -> Convert | None:
    """Maps as dicts, wherever they are; the rest is as Arrow gives it."""
    if isinstance(data_type, ArrayType):
        element = _from_arrow(data_type.element_type)
        return None if element is None else lambda items: [_through(element, item) for item in items]
    if isinstance(data_type, MapType):
        value = _from_arrow(data_type.value_type)
        return lambda pairs: {k: _through(value, v) for k, v in pairs}
    if isinstance(data_type, RowType):
        inner = {f.name: _from_arrow(f.data_type) for f in data_type.fields}
        if not any(inner.values()):
            return None
        return lambda row: {name: _through(inner[name], v) for name, v in row.items()}
    return None
