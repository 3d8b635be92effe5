"""Arrow's types as Flink's: what the columns of a pandas frame are."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from penstock.common.datatypes import DataType, DataTypes
from penstock.common.errors import NotSupportedError

_PRECISIONS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_KINDS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], DataType]], ...] = (
    (pa.types.is_boolean, lambda t: DataTypes.BOOLEAN()),
    (pa.types.is_int8, lambda t: DataTypes.TINYINT()),
    (lambda t: pa.types.is_int16(t) or pa.types.is_uint8(t), lambda t: DataTypes.SMALLINT()),
    (lambda t: pa.types.is_int32(t) or pa.types.is_uint16(t), lambda t: DataTypes.INT()),
    (lambda t: pa.types.is_int64(t) or pa.types.is_uint32(t), lambda t: DataTypes.BIGINT()),
    (pa.types.is_float32, lambda t: DataTypes.FLOAT()),
    (pa.types.is_float64, lambda t: DataTypes.DOUBLE()),
    (pa.types.is_decimal, lambda t: DataTypes.DECIMAL(t.precision, t.scale)),
    (lambda t: pa.types.is_string(t) or pa.types.is_large_string(t), lambda t: DataTypes.STRING()),
    (lambda t: pa.types.is_binary(t) or pa.types.is_large_binary(t), lambda t: DataTypes.BYTES()),
    (pa.types.is_fixed_size_binary, lambda t: DataTypes.BINARY(t.byte_width)),
    (pa.types.is_date, lambda t: DataTypes.DATE()),
    (pa.types.is_time, lambda t: DataTypes.TIME(_PRECISIONS[t.unit])),
    (pa.types.is_timestamp, lambda t: DataTypes.TIMESTAMP(_PRECISIONS[t.unit])),
    (
        pa.types.is_map,
        lambda t: DataTypes.MAP(
            from_arrow_type(t.key_type, False), from_arrow_type(t.item_type, t.item_field.nullable)
        ),
    ),
    (
        lambda t: pa.types.is_list(t) or pa.types.is_large_list(t),
        lambda t: DataTypes.ARRAY(from_arrow_type(t.value_type, t.value_field.nullable)),
    ),
    (
        pa.types.is_struct,
        lambda t: DataTypes.ROW([DataTypes.FIELD(f.name, from_arrow_type(f.type, f.nullable)) for f in t]),
    ),
    (pa.types.is_null, lambda t: DataTypes.NULL()),
)


def from_arrow_type(arrow_type: pa.DataType, nullable: bool = True) -> DataType:
    """The type whose values an Arrow column holds.

    >>> from_arrow_type(pa.list_(pa.int32())).as_summary()
    'ARRAY<INT>'
    """
    for is_kind, make in _KINDS:
        if is_kind(arrow_type):
            return make(arrow_type).with_nullability(nullable)
    raise NotSupportedError(f"Arrow type {arrow_type}", "SQL has no type for it")
