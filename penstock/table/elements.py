"""Rows of the program as a table: `from_elements` and `from_pandas`."""

from __future__ import annotations

import array
import datetime as dt
import decimal
import zoneinfo
from collections.abc import Callable, Iterable, Sequence
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
    RowField,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    UserDefinedType,
    VarBinaryType,
    VarCharType,
)
from penstock.common.errors import TypeMismatchError
from penstock.common.time import Instant
from penstock.common.types import Row
from penstock.formats.arrow_rows import RowsToArrow, arrow_type, columns_type
from penstock.sql.plan.algebra import Field, LocalRows, LocalTable

_RANGES: dict[type, int] = {TinyIntType: 7, SmallIntType: 15, IntType: 31, BigIntType: 63}
_ACCEPTED: dict[type, tuple[type, ...]] = {
    BooleanType: (bool,),
    TinyIntType: (int,),
    SmallIntType: (int,),
    IntType: (int,),
    BigIntType: (int,),
    FloatType: (float, int),
    DoubleType: (float, int),
    DecimalType: (decimal.Decimal,),
    CharType: (str,),
    VarCharType: (str,),
    BinaryType: (bytes, bytearray),
    VarBinaryType: (bytes, bytearray),
    DateType: (dt.date,),
    TimeType: (dt.time,),
    TimestampType: (dt.datetime,),
    LocalZonedTimestampType: (dt.datetime, Instant),
    DayTimeIntervalType: (dt.timedelta,),
    ArrayType: (list, tuple, array.array),
    MapType: (dict,),
    MultisetType: (dict, list),
    RowType: (tuple, list, dict, Row),
}
Convert = Callable[[Any], Any]


def local_rows(elements: Iterable[Any], row_type: RowType, zone: str, verify: bool = True) -> LocalRows:
    """Elements as a leaf of a plan; a value that is none of its column's type is refused, with the column's name."""
    converters = [(f.name, _converter(f.data_type, f.name, zone, verify)) for f in row_type]
    rows = [_row(element, row_type, converters, verify) for element in elements]
    types = [_stored(f.data_type) for f in row_type]
    columns = columns_type(types)
    schema = pa.schema([pa.field(f"c{i}", arrow_type(t)) for i, t in enumerate(types)])
    table = pa.Table.from_batches(list(RowsToArrow(columns).batches(iter(rows))), schema)
    return LocalRows(
        tuple(Field(n, t) for n, t in zip(row_type.field_names(), types, strict=True)), LocalTable(table)
    )


def arrow_rows(table: pa.Table, row_type: RowType) -> LocalRows:
    """Columns that are Arrow already."""
    types = [f.data_type for f in row_type]
    schema = pa.schema([pa.field(f"c{i}", arrow_type(t)) for i, t in enumerate(types)])
    for given, field in zip(table.schema, row_type, strict=True):
        if (
            pa.types.is_string(arrow_type(field.data_type)) != _is_text(given.type)
            and given.type != pa.null()
        ):
            raise TypeMismatchError(
                f"column '{field.name}' is {field.data_type.as_summary()}, the frame's column "
                f"'{given.name}' is {given.type}",
                do="convert the column, or declare the type it has",
            )
    renamed = table.rename_columns([f"c{i}" for i in range(len(types))])
    try:
        cast = renamed.cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TypeMismatchError(
            f"the frame does not fit the schema {row_type.as_summary()}: {error}"
        ) from error
    return LocalRows(tuple(Field(f.name, f.data_type) for f in row_type), LocalTable(cast))


def _is_text(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow))


def _row(
    element: Any, row_type: RowType, converters: Sequence[tuple[str, Convert]], verify: bool
) -> tuple[Any, ...]:
    values = _values(element, row_type)
    if len(values) != len(converters):
        if verify or len(values) > len(converters):
            raise TypeMismatchError(
                f"an element of {len(values)} values where the schema has {len(converters)} columns: {element!r}"
            )
        values = [*values, *[None] * (len(converters) - len(values))]
    return tuple(
        None if v is None else convert(v) for v, (_, convert) in zip(values, converters, strict=True)
    )


def _values(element: Any, row_type: RowType) -> list[Any]:
    """The fields in the order of the type; what has names says itself which is which."""
    names = row_type.field_names()
    if isinstance(element, dict):
        return [element.get(n) for n in names]
    own = getattr(element, "_fields", None)
    if own and set(own) <= set(names):
        pairs = dict(zip(own, tuple(element), strict=True))
        return [pairs.get(n) for n in names]
    if isinstance(element, (Row, tuple, list)):
        return list(element)
    if hasattr(element, "__dict__") and set(vars(element)) & set(names):
        return [vars(element).get(n) for n in names]
    return [element]


def _converter(data_type: DataType, name: str, zone: str, verify: bool) -> Convert:
    """Checks a value and makes it what Arrow takes for the type."""
    plain = _plain_converter(data_type, name, zone, verify)
    if not verify:
        return plain

    def checked(value: Any) -> Any:
        _check(value, data_type, name)
        return plain(value)

    return checked


def _plain_converter(data_type: DataType, name: str, zone: str, verify: bool) -> Convert:
    if isinstance(data_type, UserDefinedType):
        serialize, stored = data_type.serialize, _converter(data_type.sql_type(), name, zone, verify)
        return lambda value: stored(serialize(value))
    if isinstance(data_type, ArrayType):
        element = _converter(data_type.element_type, name, zone, verify)
        return lambda value: [None if v is None else element(v) for v in value]
    if isinstance(data_type, MapType):
        key = _converter(data_type.key_type, name, zone, verify)
        item = _converter(data_type.value_type, name, zone, verify)
        return lambda value: {key(k): None if v is None else item(v) for k, v in value.items()}
    if isinstance(data_type, RowType):
        converters = [(f.name, _converter(f.data_type, f"{name}.{f.name}", zone, verify)) for f in data_type]
        return lambda value: _row(value, data_type, converters, verify)
    if isinstance(data_type, LocalZonedTimestampType):
        home = zoneinfo.ZoneInfo(zone)
        return lambda value: _in_utc(value, home)
    if isinstance(data_type, DecimalType):
        unit = decimal.Decimal(1).scaleb(-data_type.scale)
        return lambda value: _scaled(value, unit)
    if isinstance(data_type, (BinaryType, VarBinaryType)):
        return bytes
    if isinstance(data_type, (FloatType, DoubleType)):
        return float
    return lambda value: value


def _stored(data_type: DataType) -> DataType:
    """What a column of a type holds: objects of users' types are there as what they serialize to."""
    if isinstance(data_type, UserDefinedType):
        return _stored(data_type.sql_type()).with_nullability(data_type.is_nullable)
    if isinstance(data_type, ArrayType):
        return ArrayType(_stored(data_type.element_type), data_type.is_nullable)
    if isinstance(data_type, MapType):
        return MapType(_stored(data_type.key_type), _stored(data_type.value_type), data_type.is_nullable)
    if isinstance(data_type, RowType):
        fields = [RowField(f.name, _stored(f.data_type), f.description) for f in data_type]
        return RowType(fields, data_type.is_nullable)
    return data_type


def _scaled(value: Any, unit: decimal.Decimal) -> decimal.Decimal:
    with decimal.localcontext() as context:
        context.prec = 76
        return decimal.Decimal(value).quantize(unit, rounding=decimal.ROUND_HALF_UP)


def _in_utc(value: Any, home: zoneinfo.ZoneInfo) -> dt.datetime:
    if isinstance(value, Instant):
        return dt.datetime(1970, 1, 1) + dt.timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    aware: dt.datetime = value if value.tzinfo is not None else value.replace(tzinfo=home)
    return aware.astimezone(dt.timezone.utc).replace(tzinfo=None)


def _check(value: Any, data_type: DataType, name: str) -> None:
    accepted = _ACCEPTED.get(type(data_type))
    wrong = accepted is not None and not isinstance(value, accepted)
    if isinstance(data_type, UserDefinedType):
        wrong = type(getattr(value, "__UDT__", None)) is not type(data_type)
    if isinstance(value, bool) and not isinstance(data_type, BooleanType):
        wrong = True
    if wrong:
        raise TypeMismatchError(
            f"column '{name}' is {data_type.as_summary()} and cannot have {value!r} of type {type(value).__name__}"
        )
    bits = _RANGES.get(type(data_type))
    if bits is not None and not -(1 << bits) <= value < 1 << bits:
        raise TypeMismatchError(f"column '{name}' is {data_type.as_summary()}: {value} is out of its range")
