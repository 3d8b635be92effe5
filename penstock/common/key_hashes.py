"""Hashes of keys that are columns: the XXH3 of each key's bytes, without a Python object per row where that can be.

Which key group owns a key is decided by its encoded bytes (`common/key_groups.py`, `common/canonical.py`), for
rows and columns alike, so that both kinds of operators meet on one exchange. Whole numbers, texts, bytes, booleans
and NULL are encoded here as columns, all other types once per distinct key:

    (7, 'ab')    t · array of 2 · 07 · text of 2 · ab         ->  64 bits  ->  % max parallelism  ->  key group
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from xxhash import xxh3_64_intdigest

from penstock.common.canonical import encode_untyped_key
from penstock.common.group_codes import group_codes
from penstock.common.xxh3 import LONGEST, Bytes, Hashes, hash_rows

Column: TypeAlias = "pa.Array | pa.ChunkedArray"

_TUPLE = ord("t")
_NIL, _FALSE, _TRUE = 0xC0, 0xC2, 0xC3
_MOST_COLUMNS = 15
"""Beyond, an array has another header; such keys take the general way."""


def key_hashes(columns: Sequence[Column], rows: int) -> Hashes:
    """For each row the hash of its key, the tuple of these columns; both kinds of timestamps are naive (UTC).

    >>> key_hashes([pa.array([1, 1, None])], 3)[0] == xxh3_64_intdigest(encode_untyped_key((1,)))
    np.True_
    """
    if not columns:
        return np.full(rows, xxh3_64_intdigest(encode_untyped_key(())), np.uint64)
    flat = [_one_array(column) for column in columns]
    if len(flat) > _MOST_COLUMNS or not all(_has_bytes(column.type) for column in flat):
        return _by_distinct_key(flat, rows)
    if len(flat) == 1 and pa.types.is_signed_integer(flat[0].type):
        return _of_integers(flat[0])
    return _of_bytes([_encoded(column) for column in flat])


def can_hash(data_type: pa.DataType) -> bool:
    """Whether `key_hashes` takes columns of the type; values of the others have Python forms of their own."""
    types = pa.types
    return (
        _has_bytes(data_type)
        or types.is_date32(data_type)
        or types.is_decimal128(data_type)
        or (types.is_timestamp(data_type) and data_type.unit == "us")
    )


def key_groups(hashes: Hashes, max_parallelism: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The key group of each hash."""
    return (hashes % np.uint64(max_parallelism)).astype(np.int64)


def _one_array(column: Column) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return (
        column.cast(pa.timestamp("us")) if pa.types.is_timestamp(column.type) and column.type.tz else column
    )


def _has_bytes(data_type: pa.DataType) -> bool:
    types = pa.types
    return (
        types.is_signed_integer(data_type)
        or types.is_string(data_type)
        or types.is_binary(data_type)
        or types.is_boolean(data_type)
        or types.is_null(data_type)
    )


def _of_integers(column: pa.Array) -> Hashes:
    """The bytes of a key with one number: at most 11, moved to the left of a matrix."""
    numbers, lengths = _packed_integers(column)
    data: Bytes = np.zeros((len(numbers), LONGEST), np.uint8)
    data[:, 0], data[:, 1] = _TUPLE, 0x91
    for length in np.unique(lengths).tolist():
        mine = lengths == length
        data[mine, 2 : 2 + length] = numbers[mine, 9 - length :]
    return hash_rows(data, lengths + 2)


def _of_bytes(parts: Sequence[pa.Array]) -> Hashes:
    """The hashes of tuples whose columns are encoded."""
    start = pa.scalar(bytes([_TUPLE, 0x90 | len(parts)]), pa.large_binary())
    joined = pc.binary_join_element_wise(start, *parts, pa.scalar(b"", pa.large_binary()))
    found = map(xxh3_64_intdigest, joined.to_pylist())
    return np.fromiter(found, np.uint64, len(joined))


def _encoded(column: pa.Array) -> pa.Array:
    """The msgpack bytes of each value."""
    if pa.types.is_null(column.type):
        return pa.array([bytes([_NIL])] * len(column), pa.large_binary())
    if pa.types.is_boolean(column.type):
        of_value = pc.if_else(column, bytes([_TRUE]), bytes([_FALSE]))
        encoded = of_value.cast(pa.large_binary())
    elif pa.types.is_signed_integer(column.type):
        return _binary(*_packed_integers(column))
    else:
        headers = _binary(*_headers(column, pa.types.is_string(column.type)))
        encoded = pc.binary_join_element_wise(
            headers, column.cast(pa.large_binary()), pa.scalar(b"", pa.large_binary())
        )
    return pc.fill_null(encoded, bytes([_NIL])) if column.null_count else encoded


def _packed_integers(column: pa.Array) -> tuple[Bytes, np.ndarray[Any, Any]]:
    """Numbers and NULLs as msgpack, each at the right end of its row of 9 bytes; and how many bytes it has."""
    filled = pc.fill_null(column, pa.scalar(0, column.type)) if column.null_count else column
    values = np.asarray(filled).astype(np.int64)
    magnitude = np.where(values < 0, ~values, values).view(np.uint64)
    positive = values >= 0
    data = _big_endian(values)
    # Unsigned forms hold one bit more than signed ones; below 128 and from -32 on the byte is the number.
    width = np.full(len(values), 8, np.int64)
    for bits, size in ((32, 4), (16, 2), (8, 1)):
        width[magnitude < np.where(positive, np.uint64(1 << bits), np.uint64(1 << (bits - 1)))] = size
    width[magnitude < np.where(positive, np.uint64(128), np.uint64(32))] = 0
    for size, unsigned, signed in ((1, 0xCC, 0xD0), (2, 0xCD, 0xD1), (4, 0xCE, 0xD2), (8, 0xCF, 0xD3)):
        mine = np.flatnonzero(width == size)
        data[mine, 8 - size] = np.where(positive[mine], unsigned, signed)
    if column.null_count:
        missing = np.asarray(pc.is_null(column))
        data[missing, 8], width[missing] = _NIL, 0
    return data, width + 1


def _headers(column: pa.Array, is_text: bool) -> tuple[Bytes, np.ndarray[Any, Any]]:
    """What stands before a text or bytes: its length, in as few bytes as msgpack allows."""
    lengths = np.asarray(pc.fill_null(pc.binary_length(column), 0)).astype(np.int64)
    data = _big_endian(lengths)
    width = np.where(lengths < 1 << 8, 1, np.where(lengths < 1 << 16, 2, 4))
    for size, marker in ((1, 0xD9), (2, 0xDA), (4, 0xDB)) if is_text else ((1, 0xC4), (2, 0xC5), (4, 0xC6)):
        data[width == size, 8 - size] = marker
    if is_text:
        short = lengths < 32
        data[short, 8] |= 0xA0
        width[short] = 0
    return data, width + 1


def _big_endian(values: np.ndarray[Any, Any]) -> Bytes:
    data: Bytes = np.zeros((len(values), 9), np.uint8)
    data[:, 1:] = values.astype(">i8").view(np.uint8).reshape(-1, 8)
    return data


def _binary(data: Bytes, lengths: np.ndarray[Any, Any]) -> pa.Array:
    """The right ends of the rows as an Arrow column."""
    kept = np.arange(9) >= (9 - lengths)[:, None]
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data[kept])]
    return pa.Array.from_buffers(pa.large_binary(), len(lengths), buffers)


def _by_distinct_key(columns: Sequence[pa.Array], rows: int) -> Hashes:
    _, first, inverse = np.unique(group_codes(columns, rows), return_index=True, return_inverse=True)
    keys = zip(*(column.take(pa.array(first)).to_pylist() for column in columns), strict=True)
    found = [xxh3_64_intdigest(encode_untyped_key(key)) for key in keys]
    return np.array(found, np.uint64)[inverse]
