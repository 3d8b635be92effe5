"""From a declared type to its shape: one entry per kind of type."""

from __future__ import annotations

import datetime
import decimal
import io
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from penstock.common import canonical, scalars
from penstock.common.errors import ValidationError
from penstock.common.serializer import TypeSerializer
from penstock.common.shapes import (
    Converted,
    Float32,
    Mapping_,
    Nullable,
    Row_,
    Scalar,
    Sequence_,
    Shape,
    Tuple_,
)
from penstock.common.time import Instant
from penstock.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)


def shape_of(type_info: TypeInformation, top: bool = False) -> Shape | None:
    """The shape of a type, or None for a type only its own program knows.

    Args:
        type_info: The declared type.
        top: Whether values stand alone rather than inside others; then strings, dates and the like may be
            None, because Flink's serializers for them take null.
    """
    if isinstance(type_info, BasicTypeInfo):
        shape = _basic(type_info.basic_type)
        return Nullable(shape) if top and type_info.basic_type in _MAY_BE_NULL else shape
    for kind, make in _MAKERS.items():
        if isinstance(type_info, kind):
            shape = make(type_info)
            return Nullable(shape) if top and kind in _TIME_TYPES else shape
    return None


def _inner(type_info: TypeInformation) -> Shape:
    """The shape of a type inside another one; whatever has none is carried as opaque bytes."""
    serializer = type_info.create_serializer()
    if serializer is not None:
        return Opaque(f"CUSTOM<{type(serializer).__module__}.{type(serializer).__qualname__}>", serializer)
    return shape_of(type_info) or Opaque("PICKLE", None)


class Opaque(Shape):
    """Anything inside a declared composite that travels as bytes of its own."""

    wire_type = bytes
    _count = 0

    def __init__(self, fingerprint: str, serializer: TypeSerializer | None) -> None:
        self.name = "PICKLED_BYTE_ARRAY"
        self.fingerprint = fingerprint
        self._serializer = serializer
        Opaque._count += 1
        self._label = f"opaque_{Opaque._count}"

    def bind(self, scope: dict[str, Any]) -> None:
        scope[f"to_{self._label}"] = self.slow
        scope[f"from_{self._label}"] = self._read

    def guard(self, x: str) -> str:
        return f"type({x}) is not None"  # always true: any object will do

    def conv(self, x: str) -> str | None:
        return f"to_{self._label}({x})"

    def back(self, x: str) -> str | None:
        return f"from_{self._label}({x})"

    def slow(self, value: Any) -> Any:
        if self._serializer is None:
            return canonical.encode_untyped(value)
        stream = io.BytesIO()
        self._serializer.serialize(value, stream)
        return stream.getvalue()

    def _read(self, data: bytes) -> Any:
        if self._serializer is None:
            return canonical.decode_untyped(data)
        return self._serializer.deserialize(io.BytesIO(data))


def _integer(name: str, bits: int) -> Scalar:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    slow = partial(scalars.as_integer, name=name, low=low, high=high)
    return Scalar(name, int, int, slow, f"{low} <= {{x}} <= {high}")


def _big_int_bytes(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 8) // 8, "big", signed=True)


def _big_int_value(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


def _instant_wire(value: Instant) -> tuple[int, int]:
    return value.seconds, value.nanos


def _instant_value(wire: tuple[int, int]) -> Instant:
    return Instant(*wire)


_BASIC: dict[BasicType, Callable[[], Shape]] = {
    BasicType.STRING: lambda: Scalar("STRING", str, str, scalars.as_string),
    BasicType.BOOLEAN: lambda: Scalar("BOOLEAN", bool, bool, scalars.as_boolean),
    BasicType.BYTE: lambda: _integer("BYTE", 8),
    BasicType.SHORT: lambda: _integer("SHORT", 16),
    BasicType.INT: lambda: _integer("INT", 32),
    BasicType.LONG: lambda: _integer("LONG", 64),
    BasicType.FLOAT: Float32,
    BasicType.DOUBLE: lambda: Scalar("DOUBLE", float, float, partial(scalars.as_float, name="DOUBLE")),
    BasicType.CHAR: lambda: Scalar("CHAR", str, str, scalars.as_char, "len({x}) == 1"),
    BasicType.BIG_INT: lambda: Converted(
        "BIG_INT", int, bytes, _big_int_bytes, _big_int_value, scalars.as_big_integer
    ),
    BasicType.BIG_DEC: lambda: Scalar(
        "BIG_DEC", decimal.Decimal, decimal.Decimal, scalars.as_decimal, show=scalars.plain_decimal
    ),
    BasicType.INSTANT: lambda: Converted(
        "INSTANT", Instant, tuple[int, int], _instant_wire, _instant_value, scalars.as_instant
    ),
}
_Date, _Time, _Stamp = datetime.date, datetime.time, datetime.datetime
_MAY_BE_NULL = {BasicType.STRING, BasicType.BIG_INT, BasicType.BIG_DEC, BasicType.INSTANT}
_TIME_TYPES = {DateTypeInfo, TimeTypeInfo, TimestampTypeInfo, LocalTimeTypeInfo}
_NAIVE = "{x}.tzinfo is None and not {x}.fold"
_MILLIS = _NAIVE + " and not {x}.microsecond % 1000"


def _basic(kind: BasicType) -> Shape:
    return _BASIC[kind]()


def _local(kind: LocalTimeTypeInfo.TimeType) -> Shape:
    """Java's LocalDate, LocalTime, LocalDateTime: unlike the SQL types they keep all digits."""
    if kind is LocalTimeTypeInfo.TimeType.LOCAL_DATE:
        return Scalar(kind.name, _Date, _Date, scalars.as_date)
    if kind is LocalTimeTypeInfo.TimeType.LOCAL_TIME:
        return Scalar(kind.name, _Time, _Time, scalars.as_local_time, _NAIVE)
    return Scalar(kind.name, _Stamp, _Stamp, scalars.as_local_timestamp, _NAIVE)


def _primitive_array(type_info: Any) -> Shape:
    if type_info.elem_type == BasicTypeInfo(BasicType.BYTE):
        return Scalar("PRIMITIVE_ARRAY<BYTE>", bytes, bytes, scalars.as_bytes, show=scalars.signed_bytes)
    return Sequence_("PRIMITIVE_ARRAY", _inner(type_info.elem_type))


def _map(type_info: Any) -> Shape:
    key = _inner(type_info.key_type_info)
    if isinstance(key, (Sequence_, Mapping_)):
        raise ValidationError(
            f"a MAP cannot have {key.name} keys: Python's dicts do not take them", do="use a TUPLE as the key"
        )
    return Mapping_(key, Nullable(_inner(type_info.value_type_info)))


def _row(type_info: Any) -> Shape:
    parts = [_inner(kind) for kind in type_info.get_field_types()]
    return Row_(type_info.get_field_names(), type_info.has_names, parts)


_MAKERS: dict[type[TypeInformation], Callable[[Any], Shape]] = {
    TupleTypeInfo: lambda t: Tuple_([_inner(kind) for kind in t.get_field_types()]),
    RowTypeInfo: _row,
    MapTypeInfo: _map,
    ListTypeInfo: lambda t: Sequence_("LIST", _inner(t.elem_type)),
    PrimitiveArrayTypeInfo: _primitive_array,
    BasicArrayTypeInfo: lambda t: Sequence_("BASIC_ARRAY", Nullable(_inner(t.elem_type))),
    ObjectArrayTypeInfo: lambda t: Sequence_("OBJECT_ARRAY", Nullable(_inner(t.elem_type))),
    DateTypeInfo: lambda t: Scalar("SQL_DATE", _Date, _Date, scalars.as_date),
    TimeTypeInfo: lambda t: Scalar(
        "SQL_TIME", _Time, _Time, scalars.as_sql_time, _MILLIS, show=scalars.whole_seconds
    ),
    TimestampTypeInfo: lambda t: Scalar("SQL_TIMESTAMP", _Stamp, _Stamp, scalars.as_sql_timestamp, _MILLIS),
    LocalTimeTypeInfo: lambda t: _local(t.time_type),
    ExternalTypeInfo: lambda t: _inner(t.type_info),
    PickledBytesTypeInfo: lambda t: Opaque("PICKLE", None),
}

_pack = msgspec.msgpack.Encoder().encode
Order = Callable[[Any], Any]


def sort_maps(shape: Shape) -> Order | None:
    """A function that puts every map inside a wire value in order of its keys' bytes; None if there is none.

    Dicts that are equal may have been filled in different orders; their bytes must not tell.
    """
    if isinstance(shape, Nullable):
        inner = sort_maps(shape.inner)
        return inner and (lambda wire: None if wire is None else inner(wire))
    if isinstance(shape, Mapping_):
        return partial(_sort_map, pairs=shape.pairs, order=sort_maps(shape.value))
    if isinstance(shape, Sequence_):
        element = sort_maps(shape.element)
        return element and (lambda wire: list(map(element, wire)))
    if isinstance(shape, (Tuple_, Row_)):
        orders = [sort_maps(part) for part in shape.parts]
        if not any(orders):
            return None
        lead: list[Order | None] = [None] if isinstance(shape, Row_) else []  # the row kind
        return partial(_sort_fields, orders=lead + orders)
    return None


def _sort_map(wire: Any, pairs: bool, order: Order | None) -> Any:
    items = sorted(wire if pairs else wire.items(), key=lambda item: _pack(item[0]))
    ordered = [(key, order(value)) for key, value in items] if order else items
    return ordered if pairs else dict(ordered)


def _sort_fields(wire: tuple[Any, ...], orders: list[Order | None]) -> tuple[Any, ...]:
    return tuple(order(value) if order else value for order, value in zip(orders, wire, strict=True))
