"""Columns of Parquet and ORC files as columns of a table's types.

Files say more or less than the table: an INT may be stored for a BIGINT, nanoseconds for microseconds, a time without
a zone for a moment. What both say is kept, and what only the file says is dropped, as Spark's own reader does in
batch mode: integers and floats may be wider than stored, times are the same number of microseconds whatever the
zone, rows are matched by the names of their fields.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def in_table_type(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The column in the type that the table has.

    Raises:
        ValueError: Its values cannot be that.
    """
    found = column.type
    if found == wanted:
        return column
    if pa.types.is_dictionary(found):
        return in_table_type(column.dictionary_decode(), wanted)
    if pa.types.is_timestamp(wanted):
        return _moments(column, wanted)
    if pa.types.is_struct(wanted):
        return _struct(column, wanted)
    if pa.types.is_list(wanted):
        return _list(column, wanted)
    if pa.types.is_map(wanted):
        return _map(column, wanted)
    if _is_lossless(found, wanted):
        return column.cast(wanted, safe=not pa.types.is_time(wanted))
    raise ValueError(f"it is stored as {found}")


def _is_lossless(found: pa.DataType, wanted: pa.DataType) -> bool:
    types = pa.types
    if types.is_integer(found):
        return types.is_integer(wanted) or types.is_float64(wanted) or types.is_decimal(wanted)
    if types.is_float32(found):
        return bool(types.is_float64(wanted))
    if _is_text(found):
        return _is_text(wanted) or _is_bytes(wanted)
    if _is_bytes(found):
        return _is_bytes(wanted) or _is_text(wanted)
    if types.is_decimal(found):
        return bool(types.is_decimal(wanted))
    return bool(types.is_null(found) or (types.is_time(found) and types.is_time(wanted)))


def _is_text(data_type: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_string(data_type) or types.is_large_string(data_type) or types.is_string_view(data_type)
    )


def _is_bytes(data_type: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_binary(data_type)
        or types.is_large_binary(data_type)
        or types.is_binary_view(data_type)
        or types.is_fixed_size_binary(data_type)
    )


def _moments(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    if pa.types.is_date(column.type) and not wanted.tz:
        return column.cast(wanted)
    if not pa.types.is_timestamp(column.type):
        raise ValueError(f"it is stored as {column.type}")
    # With a zone or without, the number of microseconds is the same.
    micros = column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())
    return micros.cast(wanted)


def _struct(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    if not pa.types.is_struct(column.type):
        raise ValueError(f"it is stored as {column.type}")
    names = {f.name: i for i, f in enumerate(column.type)}
    parts: list[Any] = []
    for field in wanted:
        at = names.get(field.name)
        stored = pa.nulls(len(column), field.type) if at is None else column.field(at)
        parts.append(in_table_type(stored, field.type))
    missing = pc.is_null(column)
    return pa.StructArray.from_arrays(parts, fields=list(wanted), mask=missing)


def _list(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    if pa.types.is_large_list(column.type):
        column = column.cast(pa.list_(column.type.value_type))
    if not pa.types.is_list(column.type):
        raise ValueError(f"it is stored as {column.type}")
    values = in_table_type(column.flatten(), wanted.value_type)
    return pa.ListArray.from_arrays(_offsets(column), values, type=wanted)


def _map(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    if not pa.types.is_map(column.type):
        raise ValueError(f"it is stored as {column.type}")
    found = column.type
    pairs = column.cast(pa.list_(_pair(found.key_type, found.item_type)))
    entries = pairs.flatten()
    keys = in_table_type(entries.field(0), wanted.key_type)
    items = in_table_type(entries.field(1), wanted.item_type)
    return pa.MapArray.from_arrays(_offsets(pairs), keys, items, type=wanted)


def _pair(key: pa.DataType, value: pa.DataType) -> pa.DataType:
    return pa.struct([pa.field("key", key, nullable=False), pa.field("value", value)])


def _offsets(column: pa.Array) -> pa.Array:
    """Where the values of each row begin among those of all rows that are not NULL; NULL for a row that is."""
    lengths = pc.coalesce(pc.list_value_length(column), 0)
    ends = pc.cumulative_sum(lengths.cast(pa.int32()))
    starts = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    if not column.null_count:
        return starts
    absent = pa.concat_arrays([pc.is_null(column), pa.array([False])])
    return pc.if_else(absent, pa.scalar(None, pa.int32()), starts)
