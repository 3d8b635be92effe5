"""Which values INSERT converts by itself: where nothing but digits and over-long tails can be lost."""

from __future__ import annotations

from penstock.common.datatypes import (
    ArrayType,
    BigIntType,
    BinaryType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    NullType,
    NumericType,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)

_WHOLE: tuple[type[DataType], ...] = (TinyIntType, SmallIntType, IntType, BigIntType)

_FROM: dict[type[DataType], tuple[type[DataType], ...]] = {
    CharType: (CharType,),
    VarCharType: (CharType, VarCharType),
    BinaryType: (BinaryType,),
    VarBinaryType: (BinaryType, VarBinaryType),
    TinyIntType: _WHOLE[:1],
    SmallIntType: _WHOLE[:2],
    IntType: _WHOLE[:3],
    BigIntType: _WHOLE,
    DecimalType: (NumericType,),
    FloatType: (*_WHOLE, FloatType, DecimalType),
    DoubleType: (NumericType,),
    DateType: (DateType, TimestampType),
    TimeType: (TimeType, TimestampType),
    TimestampType: (TimestampType, LocalZonedTimestampType),
    LocalZonedTimestampType: (TimestampType, LocalZonedTimestampType),
}


def implicitly_castable(source: DataType, target: DataType) -> bool:
    """Whether a value becomes one of the target type without a CAST in the query."""
    if isinstance(source, NullType):
        return target.is_nullable
    if isinstance(target, RowType) and isinstance(source, RowType):
        ours, theirs = list(source), list(target)
        return len(ours) == len(theirs) and all(
            implicitly_castable(a.data_type, b.data_type) for a, b in zip(ours, theirs, strict=True)
        )
    if isinstance(target, MapType) and isinstance(source, MapType):
        return implicitly_castable(source.key_type, target.key_type) and implicitly_castable(
            source.value_type, target.value_type
        )
    for collection in (ArrayType, MultisetType):
        if isinstance(target, collection) and isinstance(source, collection):
            return implicitly_castable(source.element_type, target.element_type)
    return isinstance(source, _FROM.get(type(target), (type(target),)))
