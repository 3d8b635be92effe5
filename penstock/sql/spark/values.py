"""Arrow columns to the Python values a user sees: PyFlink's, by Flink type."""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from penstock.common.datatypes import (
    ArrayType,
    DataType,
    FloatType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    YearMonthIntervalType,
)
from penstock.common.time import Instant
from penstock.common.types import Row, make_row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Convert = Callable[[Any], Any]
_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_UTC = _EPOCH.replace(tzinfo=dt.timezone.utc)


def row_reader(types: Sequence[DataType]) -> Callable[[Any], Iterator[Row]]:
    """A function from an Arrow table to rows. They have no field names, nor have rows in them, as in PyFlink."""
    converters = [converter(t) for t in types]

    def read(table: Any) -> Iterator[Row]:
        for batch in table.to_batches():
            columns = []
            for i, convert in enumerate(converters):
                values = _plain(batch.column(i))
                columns.append(
                    values if convert is None else [None if v is None else convert(v) for v in values]
                )
            if not columns:
                yield from (Row() for _ in range(batch.num_rows))
                continue
            for row in zip(*columns, strict=True):
                yield make_row(list(row))

    return read


def with_months(frame: DataFrame, types: Sequence[DataType]) -> DataFrame:
    """The frame with intervals of months as numbers of months: Arrow has no type that Spark would give them."""
    if not any(_has_months(t) for t in types):
        return frame
    names = frame.columns
    return frame.selectExpr(*(f"{_months(f'`{n}`', t)} AS `{n}`" for n, t in zip(names, types, strict=True)))


def _has_months(data_type: DataType) -> bool:
    return _months("x", data_type) != "x"


def _months(sql: str, data_type: DataType) -> str:
    """
    >>> from penstock.common.datatypes import INTERVAL_MONTH
    >>> _months("c0", ArrayType(INTERVAL_MONTH))
    'transform(c0, e -> CAST(CAST(e AS INTERVAL MONTH) AS INT))'
    """
    if isinstance(data_type, YearMonthIntervalType):
        return f"CAST(CAST({sql} AS INTERVAL MONTH) AS INT)"
    if isinstance(data_type, ArrayType) and _has_months(data_type.element_type):
        return f"transform({sql}, e -> {_months('e', data_type.element_type)})"
    if isinstance(data_type, MapType) and _has_months(data_type.value_type):
        return f"transform_values({sql}, (k, e) -> {_months('e', data_type.value_type)})"
    if isinstance(data_type, RowType) and any(_has_months(f.data_type) for f in data_type):
        parts = [f"'{f.name}', {_months(f'{sql}.`{f.name}`', f.data_type)}" for f in data_type]
        return f"if({sql} IS NULL, NULL, named_struct({', '.join(parts)}))"
    return sql


def _plain(column: Any) -> list[Any]:
    import pyarrow as pa

    if pa.types.is_time64(column.type):
        column = column.cast(pa.time64("us"), safe=False)
    return column.to_pylist()  # type: ignore[no-any-return]


def converter(data_type: DataType) -> Convert | None:
    """How one value changes, None if it stays as Arrow gives it."""
    if isinstance(data_type, FloatType):
        return _float
    if isinstance(data_type, LocalZonedTimestampType):
        return _instant
    if isinstance(data_type, ArrayType):
        inner = converter(data_type.element_type)
        return None if inner is None else lambda v: [None if x is None else inner(x) for x in v]
    if isinstance(data_type, (MapType, MultisetType)):
        return _map(data_type)
    if isinstance(data_type, RowType):
        return _row(data_type)
    return None


def _float(value: float) -> float:
    """The shortest text of a 4-byte number, as Flink shows it: 0.1 rather than 0.10000000149."""
    for digits in (6, 7, 8, 9):
        short = float(f"{value:.{digits}g}")
        if struct.pack("f", short) == struct.pack("f", value):
            return short
    return value


def _instant(value: dt.datetime) -> Instant:
    aware = value if value.tzinfo else value.replace(tzinfo=dt.timezone.utc)
    micros = (aware - _EPOCH_UTC) // dt.timedelta(microseconds=1)
    seconds, rest = divmod(micros, 1_000_000)
    return Instant(seconds, rest * 1000)


def _map(data_type: MapType | MultisetType) -> Convert:
    key_type = data_type.key_type if isinstance(data_type, MapType) else data_type.element_type
    key = converter(key_type) or _same
    value = (converter(data_type.value_type) if isinstance(data_type, MapType) else None) or _same
    return lambda pairs: {
        (None if k is None else _hashable(key(k))): (None if v is None else value(v)) for k, v in pairs
    }


def _hashable(key: Any) -> Any:
    """A key of a dict: an array is a tuple there."""
    return tuple(map(_hashable, key)) if isinstance(key, list) else key


def _row(data_type: RowType) -> Convert:
    converters = [converter(f.data_type) or _same for f in data_type]

    def convert(value: dict[str, Any]) -> Row:
        items = [None if v is None else c(v) for c, v in zip(converters, value.values(), strict=True)]
        return make_row(items)

    return convert


def _same(value: Any) -> Any:
    return value
