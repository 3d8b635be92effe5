"""The type that several types have in common, and the types of decimal arithmetic.

`common_type` is what CASE, COALESCE, ARRAY[...], IN and set operations ask for: the narrowest type that
holds every value. Between two approximate numbers the first one wins, as in Calcite. Decimal results that
need more than 38 digits give up digits behind the point first, but keep at least six.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.common.datatypes import (
    MAX_DECIMAL_PRECISION,
    MAX_LENGTH,
    ArrayType,
    BinaryType,
    CharType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    NullType,
    NumericType,
    RowField,
    RowType,
    TimestampType,
    TimeType,
    VarBinaryType,
    VarCharType,
    YearMonthIntervalType,
)

_INTEGER_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}


def as_decimal(data_type: DataType) -> DecimalType:
    """The DECIMAL that holds every value of an exact number type.

    >>> from penstock.common.datatypes import DataTypes
    >>> as_decimal(DataTypes.INT()).as_sql()
    'DECIMAL(10, 0)'
    """
    if isinstance(data_type, DecimalType):
        return data_type
    assert isinstance(data_type, IntegralType)
    return DecimalType(_INTEGER_DIGITS[data_type.bits], 0, data_type.is_nullable)


def fitted_decimal(precision: int, scale: int, nullable: bool) -> DecimalType:
    """DECIMAL(precision, scale), cut to 38 digits: digits behind the point go first, down to six."""
    if precision <= MAX_DECIMAL_PRECISION:
        return DecimalType(precision, scale, nullable)
    kept = max(MAX_DECIMAL_PRECISION - (precision - scale), min(scale, 6))
    return DecimalType(MAX_DECIMAL_PRECISION, kept, nullable)


def decimal_result(operator: str, left: DecimalType, right: DecimalType, nullable: bool) -> DecimalType:
    """The type of `left operator right` for + - * / %."""
    p1, s1, p2, s2 = left.precision, left.scale, right.precision, right.scale
    if operator == "*":
        return fitted_decimal(p1 + p2 + 1, s1 + s2, nullable)
    if operator == "/":
        scale = max(6, s1 + p2 + 1)
        return fitted_decimal(p1 - s1 + s2 + scale, scale, nullable)
    scale = max(s1, s2)
    if operator == "%":
        return fitted_decimal(min(p1 - s1, p2 - s2) + scale, scale, nullable)
    return fitted_decimal(max(p1 - s1, p2 - s2) + scale + 1, scale, nullable)


def common_type(types: Sequence[DataType]) -> DataType | None:
    """The common type, nullable where one of them is; None where there is none."""
    known = [t for t in types if not isinstance(t, NullType)]
    if not known:
        return NullType()
    found = known[0]
    for other in known[1:]:
        merged = _merge(found, other)
        if merged is None:
            return None
        found = merged
    return found.with_nullability(any(t.is_nullable for t in types))


def _merge(left: DataType, right: DataType) -> DataType | None:
    if left.nullable() == right.nullable():
        return left.with_nullability(left.is_nullable or right.is_nullable)
    if isinstance(left, NumericType) and isinstance(right, NumericType):
        return _merge_numbers(left, right)
    if isinstance(left, (CharType, VarCharType)) and isinstance(right, (CharType, VarCharType)):
        return VarCharType(max(left.length, right.length))
    if isinstance(left, (BinaryType, VarBinaryType)) and isinstance(right, (BinaryType, VarBinaryType)):
        return VarBinaryType(max(left.length, right.length))
    if isinstance(left, (DayTimeIntervalType, YearMonthIntervalType)) and type(left) is type(right):
        return left
    return _merge_timed(left, right) or _merge_nested(left, right)


def _merge_timed(left: DataType, right: DataType) -> DataType | None:
    for cls in (TimestampType, LocalZonedTimestampType, TimeType):
        if isinstance(left, cls) and isinstance(right, cls):
            return cls(max(left.precision, right.precision))
    moments = (TimestampType, LocalZonedTimestampType)
    if isinstance(left, moments) and isinstance(right, moments):
        return type(left)(max(left.precision, right.precision))
    return None


def _merge_numbers(left: NumericType, right: NumericType) -> NumericType:
    if isinstance(left, (FloatType, DoubleType)):
        return DoubleType() if isinstance(right, DecimalType) else left
    if isinstance(right, (FloatType, DoubleType)):
        return DoubleType() if isinstance(left, DecimalType) else right
    if isinstance(left, IntegralType) and isinstance(right, IntegralType):
        return left if left.bits >= right.bits else right
    a, b = as_decimal(left), as_decimal(right)
    whole = max(a.precision - a.scale, b.precision - b.scale)
    scale = min(max(a.scale, b.scale), MAX_DECIMAL_PRECISION - whole)
    return DecimalType(whole + scale, scale)


def _merge_nested(left: DataType, right: DataType) -> DataType | None:
    if isinstance(left, ArrayType) and isinstance(right, ArrayType):
        element = common_type([left.element_type, right.element_type])
        return element and ArrayType(element)
    if isinstance(left, MultisetType) and isinstance(right, MultisetType):
        element = common_type([left.element_type, right.element_type])
        return element and MultisetType(element)
    if isinstance(left, MapType) and isinstance(right, MapType):
        key = common_type([left.key_type, right.key_type])
        value = common_type([left.value_type, right.value_type])
        return MapType(key, value) if key and value else None
    if isinstance(left, RowType) and isinstance(right, RowType) and len(left) == len(right):
        merged = [common_type([a.data_type, b.data_type]) for a, b in zip(left, right, strict=True)]
        if all(m is not None for m in merged):
            fields = [RowField(f.name, m) for f, m in zip(left, merged, strict=True) if m is not None]
            return RowType(fields)
    return None


def concat_type(types: Sequence[DataType]) -> DataType:
    """The type of texts or bytes put together: CHAR only if all are, lengths added up."""
    length = min(sum(getattr(t, "length", 0) for t in types), MAX_LENGTH)
    nullable = any(t.is_nullable for t in types)
    if any(isinstance(t, (BinaryType, VarBinaryType)) for t in types):
        fixed = all(isinstance(t, (BinaryType, NullType)) for t in types)
        return BinaryType(length, nullable) if fixed else VarBinaryType(length, nullable)
    fixed = all(isinstance(t, (CharType, NullType)) for t in types)
    return CharType(length, nullable) if fixed else VarCharType(length, nullable)
