"""Flink's types as Arrow's, and rows as Arrow batches.

`RowsToArrow` and `ArrowToRows` are compiled once per schema: only columns that hold a map or a row somewhere
need their values converted, the rest goes through Arrow's own conversion.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
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
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    NullType,
    RowField,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    YearMonthIntervalType,
)
from penstock.common.errors import NotSupportedError
from penstock.common.function_types import BitmapType

_SIMPLE: dict[type[DataType], pa.DataType] = {
    CharType: pa.string(),
    VarCharType: pa.string(),
    BooleanType: pa.bool_(),
    TinyIntType: pa.int8(),
    SmallIntType: pa.int16(),
    IntType: pa.int32(),
    BigIntType: pa.int64(),
    FloatType: pa.float32(),
    DoubleType: pa.float64(),
    DateType: pa.date32(),
    BinaryType: pa.binary(),
    VarBinaryType: pa.binary(),
    BitmapType: pa.binary(),
    TimestampType: pa.timestamp("us"),
    LocalZonedTimestampType: pa.timestamp("us", "UTC"),
    DayTimeIntervalType: pa.duration("us"),
    YearMonthIntervalType: pa.int32(),
    NullType: pa.null(),
}


def arrow_type(data_type: DataType) -> pa.DataType:
    """The Arrow type in which PySpark exchanges values of that Spark type."""
    if type(data_type) in _SIMPLE:
        return _SIMPLE[type(data_type)]
    if isinstance(data_type, DecimalType):
        return pa.decimal128(data_type.precision, data_type.scale)
    if isinstance(data_type, TimeType):
        return pa.time64("ns")
    if isinstance(data_type, ArrayType):
        return pa.list_(arrow_type(data_type.element_type))
    if isinstance(data_type, MapType):
        return pa.map_(arrow_type(data_type.key_type), arrow_type(data_type.value_type))
    if isinstance(data_type, MultisetType):
        return pa.map_(arrow_type(data_type.element_type), pa.int32())
    if isinstance(data_type, RowType):
        return pa.struct([pa.field(f.name, arrow_type(f.data_type)) for f in data_type.fields])
    raise _unsupported(data_type)


def columns_type(types: Sequence[DataType]) -> RowType:
    """Columns c0.. of these types, each of which may be NULL."""
    return RowType([RowField(f"c{i}", t.nullable()) for i, t in enumerate(types)], nullable=False)


def _unsupported(data_type: DataType) -> NotSupportedError:
    return NotSupportedError(f"type {data_type.as_summary()} in a connector", "it has no Arrow form yet")


Convert = Callable[[Any], Any]


def _each(convert: Convert) -> Convert:
    return lambda values: [None if value is None else convert(value) for value in values]


def _to_arrow(data_type: DataType) -> Convert | None:
    """How a value is prepared for `pa.array`; None where it can stay as it is."""
    if isinstance(data_type, ArrayType):
        element = _to_arrow(data_type.element_type)
        return _each(element) if element else None
    if isinstance(data_type, (MapType, MultisetType)):
        item = _to_arrow(data_type.value_type) if isinstance(data_type, MapType) else None
        if item is None:
            return lambda value: list(value.items())
        return lambda value: [(key, None if x is None else item(x)) for key, x in value.items()]
    if isinstance(data_type, RowType):
        parts = [(f.name, _to_arrow(f.data_type) or (lambda x: x)) for f in data_type.fields]
        return lambda value: {
            name: None if x is None else convert(x) for (name, convert), x in zip(parts, value, strict=True)
        }
    return None


def _from_arrow(data_type: DataType) -> Convert | None:
    if isinstance(data_type, ArrayType):
        element = _from_arrow(data_type.element_type)
        return _each(element) if element else None
    if isinstance(data_type, (MapType, MultisetType)):
        item = _from_arrow(data_type.value_type) if isinstance(data_type, MapType) else None
        if item is None:
            return dict
        return lambda value: {key: None if x is None else item(x) for key, x in value}
    if isinstance(data_type, RowType):
        parts = [_from_arrow(f.data_type) or (lambda x: x) for f in data_type.fields]
        return lambda value: tuple(
            None if x is None else convert(x) for convert, x in zip(parts, value.values(), strict=True)
        )
    return None


class RowsToArrow:
    """Tuples of Python values to record batches of at most `batch_rows` rows."""

    def __init__(self, row_type: RowType, batch_rows: int = 8192) -> None:
        self.schema = pa.schema([pa.field(f.name, arrow_type(f.data_type)) for f in row_type.fields])
        self._prepare = [_to_arrow(f.data_type) for f in row_type.fields]
        self._batch_rows = batch_rows

    def batches(self, rows: Iterator[tuple[Any, ...]]) -> Iterator[pa.RecordBatch]:
        pending: list[tuple[Any, ...]] = []
        for row in rows:
            pending.append(row)
            if len(pending) >= self._batch_rows:
                yield self.batch(pending)
                pending = []
        if pending:
            yield self.batch(pending)

    def batch(self, rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(self.schema)
        return self.of_columns([self.column(i, values) for i, values in enumerate(columns)])

    def column(self, position: int, values: Sequence[Any]) -> pa.Array:
        """One column of Python values."""
        prepare = self._prepare[position]
        return pa.array(_each(prepare)(values) if prepare else values, self.schema.field(position).type)

    def of_columns(self, columns: Sequence[pa.Array]) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def constant(self, position: int, value: Any, rows: int) -> pa.Array:
        """One column that has the same value in every row."""
        return pa.repeat(self.column(position, [value])[0], rows)


class ArrowToRows:
    """Record batches to tuples of Python values; TIMESTAMP_LTZ comes as an aware datetime in UTC."""

    def __init__(self, row_type: RowType) -> None:
        self._restore = [_from_arrow(f.data_type) for f in row_type.fields]
        self._types = [arrow_type(f.data_type) for f in row_type.fields]

    def rows(self, batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
        return zip(*self.columns(batch), strict=True)

    def columns(self, batch: pa.RecordBatch) -> list[Sequence[Any]]:
        """The values of each column."""
        columns: list[Sequence[Any]] = []
        for array, restore, data_type in zip(batch.columns, self._restore, self._types, strict=True):
            values = _python_values(array, data_type)
            columns.append(_each(restore)(values) if restore else values)
        return columns


def _python_values(array: pa.Array, data_type: pa.DataType) -> list[Any]:
    """A column as Python objects; numpy's conversion is 5 to 20 times faster than a scalar per value."""
    if pa.types.is_time(data_type):
        return _list(array.cast(pa.time64("us"), safe=False))
    if pa.types.is_timestamp(data_type) and data_type.tz:
        return [None if x is None else x.astimezone(dt.timezone.utc) for x in array.to_pylist()]
    if _is_plain(array.type) and not array.null_count:
        return _list(array.to_numpy(zero_copy_only=False))
    if _is_object(array.type) or _has_null_marker(array.type):
        return _list(array.to_numpy(zero_copy_only=False))
    return _list(array)


def _list(values: Any) -> list[Any]:
    found: list[Any] = values.to_pylist() if isinstance(values, pa.Array) else values.tolist()
    return found


def _is_plain(data_type: pa.DataType) -> bool:
    return pa.types.is_integer(data_type) or pa.types.is_floating(data_type) or pa.types.is_boolean(data_type)


def _is_object(data_type: pa.DataType) -> bool:
    return pa.types.is_string(data_type) or pa.types.is_binary(data_type) or pa.types.is_decimal(data_type)


def _has_null_marker(data_type: pa.DataType) -> bool:
    """Dates and timestamps: numpy's NaT becomes None. Timestamps of nanoseconds would become numbers."""
    return pa.types.is_date32(data_type) or (
        pa.types.is_timestamp(data_type) and data_type.unit == "us" and not data_type.tz
    )


class RowReader:
    """Record batches to rows of plain Python values; both kinds of timestamps are naive (UTC)."""

    def __init__(self, row_type: RowType) -> None:
        self._zoned = [
            i for i, f in enumerate(row_type.fields) if isinstance(f.data_type, LocalZonedTimestampType)
        ]
        plain = [
            RowField(f.name, TimestampType(6) if i in self._zoned else f.data_type)
            for i, f in enumerate(row_type.fields)
        ]
        self._to_rows = ArrowToRows(RowType(plain, nullable=False))

    def rows(self, batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
        for i in self._zoned:
            column = batch.column(i).cast(pa.timestamp("us"))
            batch = batch.set_column(i, batch.schema.field(i).name, column)
        return self._to_rows.rows(batch)
