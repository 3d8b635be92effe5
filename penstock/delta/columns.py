"""Changes as Arrow columns: their hidden columns, and numbers that group and order rows as the operators do.

A table of changes has the columns c0.. of its relation, then its kind, the watermark before the row and its place in
the order of arrival. Local stages and columnar operators work on such tables without a Python object per value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import (
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    IntegralType,
    LocalZonedTimestampType,
    TimestampType,
    VarBinaryType,
    VarCharType,
)

KIND, WATERMARK, POSITION = "__kind", "__wm", "__pos"
HIDDEN = (KIND, WATERMARK, POSITION)

Ints = np.ndarray[Any, Any]

_GROUPED = (
    IntegralType, BooleanType, CharType, VarCharType, BinaryType, VarBinaryType, DateType, DecimalType,
    TimestampType, LocalZonedTimestampType,
)  # fmt: skip
_ORDERED = (
    IntegralType, DateType, DecimalType, TimestampType, LocalZonedTimestampType, CharType, VarCharType,
)  # fmt: skip


def can_group(types: Sequence[DataType]) -> bool:
    """Whether Arrow tells values of these types apart as the operators do; it sees 0.0 and NaN in another way."""
    return all(isinstance(t, _GROUPED) for t in types)


def can_order(types: Sequence[DataType]) -> bool:
    """Whether Arrow orders values of these types as the operators do."""
    return all(isinstance(t, _ORDERED) for t in types)


def named(columns: Sequence[Any]) -> pa.Table:
    """A table of changes from its columns, the hidden ones last."""
    return pa.table(list(columns), names=names(len(columns) - len(HIDDEN)))


def names(width: int) -> list[str]:
    """The names of `width` visible columns and the hidden ones."""
    return [*(f"c{i}" for i in range(width)), *HIDDEN]


def filled(value: int, rows: int, dtype: Any = np.int64) -> pa.Array:
    """A column that has the same number in every row."""
    return pa.array(np.full(rows, value, dtype))


def numbered(first: int, rows: int) -> pa.Array:
    """A column of running numbers."""
    return pa.array(np.arange(first, first + rows, dtype=np.int64))


def in_type(column: pa.Array, data_type: pa.DataType) -> pa.Array:
    """The column in that type, the same one if it has it."""
    return column if column.type == data_type else column.cast(data_type)


def millis(column: pa.Array | pa.ChunkedArray) -> Ints:
    """A timestamp column without NULLs in milliseconds, rounded down."""
    micros: Ints = np.asarray(column.cast(pa.timestamp("us")).cast(pa.int64()))
    return micros // 1000


def order_codes(column: pa.ChunkedArray, ascending: bool) -> Ints:
    """A number per row that sorts as the column does, NULL being the smallest value."""
    codes: Ints
    if pa.types.is_integer(column.type) and not column.null_count:
        codes = np.asarray(column.combine_chunks()).astype(np.int64)
    else:
        codes = np.asarray(pc.rank(column, sort_keys="ascending", tiebreaker="dense")).astype(np.int64)
        if column.null_count:
            codes = np.where(np.asarray(pc.is_null(column)), -1, codes)
    return codes if ascending else ~codes
