"""Between the two ways to describe rows: `Types.ROW_NAMED(...)` of streams and `DataTypes.ROW(...)` of formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.common import typeinfo as t
from penstock.common.datatypes import (
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DataTypes,
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
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.common.typeinfo import RowTypeInfo, TypeInformation, Types
from penstock.common.types import make_row

__all__ = ["data_type_of", "row_maker", "row_type_of", "type_info_of", "value_unmaker"]

_BASIC: dict[t.BasicType, DataType] = {
    t.BasicType.STRING: DataTypes.STRING(),
    t.BasicType.BYTE: DataTypes.TINYINT(),
    t.BasicType.BOOLEAN: DataTypes.BOOLEAN(),
    t.BasicType.SHORT: DataTypes.SMALLINT(),
    t.BasicType.INT: DataTypes.INT(),
    t.BasicType.LONG: DataTypes.BIGINT(),
    t.BasicType.FLOAT: DataTypes.FLOAT(),
    t.BasicType.DOUBLE: DataTypes.DOUBLE(),
    t.BasicType.CHAR: DataTypes.CHAR(1),
    t.BasicType.BIG_INT: DataTypes.DECIMAL(38, 0),
    t.BasicType.BIG_DEC: DataTypes.DECIMAL(38, 18),
    t.BasicType.INSTANT: DataTypes.TIMESTAMP_LTZ(6),
}

_SEQUENCES = (t.PrimitiveArrayTypeInfo, t.BasicArrayTypeInfo, t.ObjectArrayTypeInfo, t.ListTypeInfo)

_SIMPLE: dict[type[DataType], Callable[[], TypeInformation]] = {
    CharType: Types.STRING,
    VarCharType: Types.STRING,
    BooleanType: Types.BOOLEAN,
    TinyIntType: Types.BYTE,
    SmallIntType: Types.SHORT,
    IntType: Types.INT,
    BigIntType: Types.LONG,
    FloatType: Types.FLOAT,
    DoubleType: Types.DOUBLE,
    DecimalType: Types.BIG_DEC,
    DateType: Types.SQL_DATE,
    TimeType: Types.SQL_TIME,
    TimestampType: Types.SQL_TIMESTAMP,
    LocalZonedTimestampType: Types.SQL_TIMESTAMP,
}


def row_type_of(type_info: TypeInformation) -> RowType:
    """The row type that a stream's type says."""
    if not isinstance(type_info, RowTypeInfo):
        raise ValidationError(
            f"a row format needs a ROW type, got {type_info!r}", do="use Types.ROW_NAMED([...], [...])"
        )
    data_type = data_type_of(type_info)
    assert isinstance(data_type, RowType)
    return data_type


def data_type_of(type_info: TypeInformation) -> DataType:
    """The SQL type of a stream's type.

    Raises:
        NotSupportedError: SQL has no such type.
    """
    if isinstance(type_info, t.BasicTypeInfo):
        return _BASIC[type_info.basic_type]
    if isinstance(type_info, t.LocalTimeTypeInfo):
        return data_type_of(type_info.sql_type())
    if isinstance(type_info, t.DateTypeInfo):
        return DataTypes.DATE()
    if isinstance(type_info, t.TimeTypeInfo):
        return DataTypes.TIME(3)
    if isinstance(type_info, t.TimestampTypeInfo):
        return DataTypes.TIMESTAMP(6)
    if isinstance(type_info, t.PrimitiveArrayTypeInfo) and type_info.element_type == Types.BYTE():
        return DataTypes.BYTES()
    if isinstance(type_info, _SEQUENCES):
        return DataTypes.ARRAY(data_type_of(type_info.element_type))
    if isinstance(type_info, t.MapTypeInfo):
        return DataTypes.MAP(data_type_of(type_info.key_type_info), data_type_of(type_info.value_type_info))
    if isinstance(type_info, (t.RowTypeInfo, t.TupleTypeInfo)):
        types = type_info.get_field_types()
        names = (
            type_info.get_field_names()
            if isinstance(type_info, t.RowTypeInfo)
            else [f"f{i}" for i in range(len(types))]
        )
        pairs = zip(names, types, strict=True)
        return DataTypes.ROW([DataTypes.FIELD(name, data_type_of(kind)) for name, kind in pairs])
    raise NotSupportedError(f"{type_info!r} in a row format", "it has no counterpart among the SQL types")


def type_info_of(row_type: RowType) -> RowTypeInfo:
    """The stream type of rows of `row_type`."""
    return Types.ROW_NAMED(
        [field.name for field in row_type.fields], [_type_info(f.data_type) for f in row_type.fields]
    )


def _type_info(data_type: DataType) -> TypeInformation:
    simple = _SIMPLE.get(type(data_type))
    if simple is not None:
        return simple()
    if isinstance(data_type, (BinaryType, VarBinaryType)):
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    if isinstance(data_type, ArrayType):
        return Types.OBJECT_ARRAY(_type_info(data_type.element_type))
    if isinstance(data_type, MapType):
        return Types.MAP(_type_info(data_type.key_type), _type_info(data_type.value_type))
    if isinstance(data_type, RowType):
        return type_info_of(data_type)
    raise NotSupportedError(f"type {data_type.as_summary()} in a stream", "streams have no such type")


Convert = Callable[[Any], Any]


def row_maker(row_type: RowType) -> Callable[[Sequence[Any]], Any]:
    """A function that makes a named `Row` of a format's values; rows inside become rows too."""
    names = [field.name for field in row_type.fields]
    converters = [_maker(field.data_type) for field in row_type.fields]
    if not any(converters):
        return lambda values: make_row(list(values), names)
    pairs = [convert or _same for convert in converters]
    return lambda values: make_row(
        [None if v is None else convert(v) for convert, v in zip(pairs, values, strict=True)], names
    )


def _same(value: Any) -> Any:
    return value


def _maker(data_type: DataType) -> Convert | None:
    if isinstance(data_type, RowType):
        make = row_maker(data_type)
        names = [field.name for field in data_type.fields]
        return lambda value: make([value.get(n) for n in names] if isinstance(value, dict) else value)
    return _inside(data_type, _maker)


def value_unmaker(data_type: DataType) -> Convert | None:
    """A function that turns rows inside a value into dicts, as Arrow and Avro want them; None: nothing to do."""
    if isinstance(data_type, RowType):
        names = [field.name for field in data_type.fields]
        inner = [value_unmaker(field.data_type) or _same for field in data_type.fields]

        def unmake(row: Any) -> dict[str, Any]:
            return {
                name: None if value is None else convert(value)
                for name, convert, value in zip(names, inner, row, strict=True)
            }

        return unmake
    return _inside(data_type, value_unmaker)


def _inside(data_type: DataType, of: Callable[[DataType], Convert | None]) -> Convert | None:
    if isinstance(data_type, ArrayType):
        element = of(data_type.element_type)
        return element and (lambda items: [None if i is None else element(i) for i in items])
    if isinstance(data_type, MapType):
        item = of(data_type.value_type)
        return item and (lambda m: {k: None if v is None else item(v) for k, v in m.items()})
    return None
