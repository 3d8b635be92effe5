"""Types at the border between streams and tables: `TypeInformation` on one side, SQL types on the other.

Into a table (`columns_of`): the fields of a row or a tuple become columns, any other element becomes one column
`f0`. What SQL does not know (CHAR, BIG_INT, pickled objects) becomes RAW: it passes through a query, but no function
takes it. Nullability follows Flink's serializers: fields of a row may be NULL, those of a tuple as their type says.

Out of a table (`stream_type_of`): rows with names. The stream's type remembers the exact SQL types, so that a
stream that goes straight back into a table has the columns it came from: DECIMAL(10, 2), not DECIMAL(38, 18).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.common import typeinfo as t
from penstock.common.datatypes import (
    MAX_LENGTH,
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DataTypes,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RawType,
    RowField,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    VariantType,
    YearMonthIntervalType,
)
from penstock.common.errors import TypeMismatchError
from penstock.common.typeinfo import ExternalTypeInfo, RowTypeInfo, TypeInformation, Types

__all__ = ["ATOMIC_NAME", "StreamColumns", "columns_of", "data_type_of", "stream_type_of"]

ATOMIC_NAME = "f0"
"""The column of an element that is neither a row nor a tuple."""

_LOCAL = t.LocalTimeTypeInfo.TimeType

_BASIC: dict[t.BasicType, DataType] = {
    t.BasicType.STRING: DataTypes.STRING(),
    t.BasicType.BOOLEAN: DataTypes.BOOLEAN(False),
    t.BasicType.BYTE: DataTypes.TINYINT(False),
    t.BasicType.SHORT: DataTypes.SMALLINT(False),
    t.BasicType.INT: DataTypes.INT(False),
    t.BasicType.LONG: DataTypes.BIGINT(False),
    t.BasicType.FLOAT: DataTypes.FLOAT(False),
    t.BasicType.DOUBLE: DataTypes.DOUBLE(False),
    t.BasicType.BIG_DEC: DataTypes.DECIMAL(38, 18),
    t.BasicType.INSTANT: DataTypes.TIMESTAMP_LTZ(9),
    t.BasicType.CHAR: RawType(),
    t.BasicType.BIG_INT: RawType(),
}

_LOCAL_TIMES: dict[t.LocalTimeTypeInfo.TimeType, DataType] = {
    _LOCAL.LOCAL_DATE: DataTypes.DATE(),
    _LOCAL.LOCAL_TIME: DataTypes.TIME(9),
    _LOCAL.LOCAL_DATE_TIME: DataTypes.TIMESTAMP(9),
}

_SQL_TIMES: dict[type[TypeInformation], DataType] = {
    t.DateTypeInfo: DataTypes.DATE(),
    t.TimeTypeInfo: DataTypes.TIME(0),
    t.TimestampTypeInfo: DataTypes.TIMESTAMP(9),
}


@dataclass(frozen=True)
class StreamColumns:
    """The columns that a stream's elements have as rows of a table.

    `is_record` is False where an element is not a row but the value of the single column `f0`.
    """

    row_type: RowType
    is_record: bool

    def index_of(self, name: str) -> int | None:
        """Where the column of this name stands, None if there is none."""
        names = self.row_type.field_names()
        return names.index(name) if name in names else None


def columns_of(type_info: TypeInformation | None) -> StreamColumns:
    """The columns of a stream of this type; a stream that declares no type is one of pickled objects."""
    data_type = data_type_of(type_info or Types.PICKLED_BYTE_ARRAY())
    if isinstance(data_type, RowType):
        return StreamColumns(data_type, is_record=True)
    return StreamColumns(RowType([RowField(ATOMIC_NAME, data_type)], nullable=False), is_record=False)


def data_type_of(type_info: TypeInformation) -> DataType:
    """The SQL type of one value, with Flink's nullability.

    >>> data_type_of(Types.TUPLE([Types.STRING(), Types.INT()])).as_summary()
    'ROW<`f0` STRING, `f1` INT NOT NULL> NOT NULL'
    """
    if isinstance(type_info, ExternalTypeInfo):
        return type_info.data_type or data_type_of(type_info.type_info)
    if isinstance(type_info, t.BasicTypeInfo):
        return _BASIC[type_info.basic_type]
    if isinstance(type_info, t.LocalTimeTypeInfo):
        return _LOCAL_TIMES[type_info.time_type]
    if isinstance(type_info, (RowTypeInfo, t.TupleTypeInfo)):
        return _record(type_info)
    if isinstance(type_info, t.SequenceTypeInfo):
        return _sequence(type_info)
    if isinstance(type_info, t.MapTypeInfo):
        key, value = data_type_of(type_info.key_type_info), data_type_of(type_info.value_type_info)
        return DataTypes.MAP(key, value.nullable(), False)
    return _SQL_TIMES.get(type(type_info), RawType())


def _record(type_info: RowTypeInfo | t.TupleTypeInfo) -> RowType:
    """Fields of a row are nullable. A tuple's are as their type is: Java's tuples hold no null for an int."""
    types = [data_type_of(field) for field in type_info.get_field_types()]
    if isinstance(type_info, RowTypeInfo):
        names, types = type_info.get_field_names(), [field.nullable() for field in types]
    else:
        names = [f"f{i}" for i in range(len(types))]
    return RowType([RowField(n, d) for n, d in zip(names, types, strict=True)], nullable=False)


def _sequence(type_info: t.SequenceTypeInfo) -> DataType:
    element = data_type_of(type_info.element_type)
    if isinstance(type_info, t.PrimitiveArrayTypeInfo):
        if isinstance(element, RawType):
            return RawType()
        if isinstance(element, TinyIntType):
            return DataTypes.BYTES(False)
        # Flink forgot NOT NULL for double[]; a program that prints its schema sees it.
        return DataTypes.ARRAY(element, isinstance(element, DoubleType))
    if isinstance(type_info, t.ListTypeInfo):
        return DataTypes.ARRAY(element, False)
    return DataTypes.ARRAY(element.nullable(), False)


# -- out of a table ------------------------------------------------------------------------------------

_SIMPLE: dict[type[DataType], Callable[[], TypeInformation]] = {
    BooleanType: Types.BOOLEAN,
    TinyIntType: Types.BYTE,
    SmallIntType: Types.SHORT,
    IntType: Types.INT,
    BigIntType: Types.LONG,
    FloatType: Types.FLOAT,
    DoubleType: Types.DOUBLE,
    DecimalType: Types.BIG_DEC,
    CharType: Types.STRING,
    VarCharType: Types.STRING,
    DateType: Types.LOCAL_DATE,
    TimeType: Types.LOCAL_TIME,
    TimestampType: Types.LOCAL_DATE_TIME,
}

_INSTANT_PRECISION = 3
"""The one precision with which PyFlink's functions take a TIMESTAMP_LTZ."""

_CAST_BYTES = "CAST it AS BYTES in the query"
_CAST_INSTANT = "CAST it AS TIMESTAMP_LTZ(3) in the query"
_CAST_STRING = "CAST it AS STRING in the query"
_DECLARE = "declare the type of the stream that it comes from, or leave the column out of the query"

_ADVICE: dict[type[DataType], str] = {
    BinaryType: _CAST_BYTES,
    VarBinaryType: _CAST_BYTES,
    LocalZonedTimestampType: _CAST_INSTANT,
    YearMonthIntervalType: _CAST_STRING,
    DayTimeIntervalType: _CAST_STRING,
    VariantType: _CAST_STRING,
    RawType: _DECLARE,
}


def stream_type_of(row_type: RowType, *, where: str | None = None) -> ExternalTypeInfo:
    """The type of the stream that a table's rows make.

    Raises:
        TypeMismatchError: A column's values cannot go to a function; the message names it.
    """
    fields = [_field_type(f, where) for f in row_type]
    return ExternalTypeInfo(Types.ROW_NAMED(row_type.field_names(), fields), row_type)


def _field_type(field: RowField, where: str | None) -> TypeInformation:
    try:
        return _type_info_of(field.data_type)
    except _NoCounterpart as reason:
        inside = reason.data_type
        holds = "is" if inside is field.data_type else f"is {field.data_type.as_summary()}, which holds"
        raise TypeMismatchError(
            f"column '{field.name}' {holds} {inside.as_summary()}: such values do not leave a table for a stream",
            where=where,
            do=_ADVICE.get(type(inside), "leave the column out of the query"),
        ) from None


class _NoCounterpart(Exception):
    """A type, perhaps deep inside another, that streams do not have."""

    def __init__(self, data_type: DataType) -> None:
        super().__init__(data_type)
        self.data_type = data_type


def _type_info_of(data_type: DataType) -> TypeInformation:
    simple = _SIMPLE.get(type(data_type))
    if simple is not None:
        return simple()
    if isinstance(data_type, LocalZonedTimestampType) and data_type.precision == _INSTANT_PRECISION:
        return Types.INSTANT()
    if isinstance(data_type, VarBinaryType) and data_type.length == MAX_LENGTH:
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    if isinstance(data_type, ArrayType):
        return Types.OBJECT_ARRAY(_type_info_of(data_type.element_type))
    if isinstance(data_type, MapType):
        return Types.MAP(_type_info_of(data_type.key_type), _type_info_of(data_type.value_type))
    if isinstance(data_type, MultisetType):
        return Types.MAP(_type_info_of(data_type.element_type), Types.INT())
    if isinstance(data_type, RowType):
        return Types.ROW_NAMED(data_type.field_names(), [_type_info_of(d) for d in data_type.field_types()])
    raise _NoCounterpart(data_type)
