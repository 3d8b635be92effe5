"""Numbers that are equal for equal values of columns, in every process: what state in columns is sorted by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from xxhash import xxh3_64_intdigest as _xxh3

from penstock.delta.columns import Ints

_NULL = np.uint64(0x9E3779B97F4A7C15)
_SPREAD = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)


def row_hashes(columns: Sequence[pa.ChunkedArray], rows: int) -> Ints:
    """64 bits per row."""
    hashes: Ints = np.zeros(rows, np.uint64)
    for column in columns:
        hashes = _mixed(hashes * np.uint64(31) + _column_hashes(column))
    return hashes


def _mixed(numbers: Ints) -> Ints:
    numbers = (numbers ^ (numbers >> _HALF)) * _SPREAD
    numbers = (numbers ^ (numbers >> _HALF)) * _SPREAD
    mixed: Ints = numbers ^ (numbers >> _HALF)
    return mixed


def _column_hashes(column: pa.ChunkedArray) -> Ints:
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_temporal(kind) or pa.types.is_boolean(kind):
        wide = pa.int32() if pa.types.is_date32(kind) or pa.types.is_time32(kind) else pa.int64()
        numbers = column.cast(wide)
        filled = pc.fill_null(numbers, 0) if column.null_count else numbers
        found: Ints = np.asarray(filled).astype(np.int64).view(np.uint64)
    else:
        encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
        found = _value_hashes(encoded.dictionary)[np.asarray(encoded.indices)]
    if column.null_count:
        return np.where(np.asarray(column.is_null()), _NULL, found)
    return found


def _value_hashes(values: pa.Array) -> Ints:
    """Of each value's text or bytes."""
    kind = values.type
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        values = (values if pa.types.is_string(kind) else values.cast(pa.string())).cast(pa.binary())
    hashed = [0 if value is None else _xxh3(value) for value in values.to_pylist()]
    return np.array(hashed, np.uint64)
