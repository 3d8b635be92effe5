"""Constants of a program: which type a Python value has, and whether it fits a declared one.

Texts are CHAR of their length, whole numbers INT or BIGINT, decimals what their digits need. Lists, tuples and
`array.array`s are arrays; what their elements have in common is the type of all, so an empty list inside another
one has the type of its neighbours.
"""

from __future__ import annotations

import array
import datetime as dt
import decimal
from collections.abc import Sequence
from typing import Any

from penstock.common.datatypes import (
    INTERVAL_SECOND,
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DataTypes,
    DateType,
    IntegralType,
    MapType,
    MultisetType,
    NullType,
    RowType,
)
from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.common.types import Row, RowKind
from penstock.sql.binder import literals
from penstock.sql.functions.common_types import common_type
from penstock.table.element_types import array_element_type
from penstock.table.expression_parts.nodes import Value

_INT = range(-(2**31), 2**31)
_LONG = range(-(2**63), 2**63)


def literal(value: Any, data_type: DataType | None = None) -> Value:
    """A constant, with the type Flink gives it unless one is declared."""
    if data_type is None:
        return _inferred(value)
    if not isinstance(data_type, DataType):
        raise TypeMismatchError(
            f"Unsupported data type: {data_type}", do="pass one of DataTypes, as in DataTypes.INT()"
        )
    return Value(_declared(value, data_type), data_type)


# -- types of values -----------------------------------------------------------------------------------------


def _inferred(value: Any) -> Value:
    if isinstance(value, bool):
        return Value(value, BooleanType(False))
    if isinstance(value, int):
        if value in _INT or value in _LONG:
            return Value(value, DataTypes.INT(False) if value in _INT else DataTypes.BIGINT(False))
        value = decimal.Decimal(value)
    if isinstance(value, float):
        return Value(value, DataTypes.DOUBLE(False))
    if isinstance(value, str):
        return Value(value, CharType(len(value), False))
    if isinstance(value, (bytes, bytearray)):
        return Value(bytes(value), BinaryType(len(value), False))
    if isinstance(value, decimal.Decimal):
        found = literals.number(f"{value:f}" if "." in f"{value:f}" else f"{value:f}.")
        return Value(value, found.type)
    if isinstance(value, (list, tuple, array.array)) and not hasattr(value, "_fields"):
        return _array(value)
    return _moment(value)


def _array(value: Sequence[Any]) -> Value:
    found = _array_type(value)
    if _is_open(found):
        raise ValidationError(
            f"the elements of {value!r} do not tell their type",
            do="say which: lit(value, DataTypes.ARRAY(…))",
        )
    return Value(_declared(list(value), found), found.not_null())


def _array_type(value: Sequence[Any]) -> ArrayType:
    if isinstance(value, array.array):
        return ArrayType(array_element_type(value).nullable())
    found: DataType = NullType()
    for element in value:
        merged = _merged(found, _element_type(element))
        if merged is None:
            raise ValidationError(
                f"the elements of {value!r} have no common type", do="make them of one type"
            )
        found = merged
    return ArrayType(found.nullable())


def _element_type(element: Any) -> DataType:
    if element is None:
        return NullType()
    if isinstance(element, (list, tuple, array.array)) and not hasattr(element, "_fields"):
        return _array_type(element)
    return _inferred(element).type


def _merged(left: DataType, right: DataType) -> DataType | None:
    if isinstance(left, NullType) or isinstance(right, NullType):
        return right if isinstance(left, NullType) else left
    if isinstance(left, ArrayType) and isinstance(right, ArrayType):
        element = _merged(left.element_type, right.element_type)
        return None if element is None else ArrayType(element.nullable())
    return common_type([left, right])


def _is_open(data_type: DataType) -> bool:
    """Whether an array's elements are of no known type."""
    if isinstance(data_type, ArrayType):
        return _is_open(data_type.element_type)
    return isinstance(data_type, NullType)


def _moment(value: Any) -> Value:
    if isinstance(value, dt.datetime):
        precision = 6 if value.microsecond % 1000 else 3
        if value.tzinfo is not None:
            moment = value.astimezone(dt.timezone.utc).replace(tzinfo=None)
            return Value(moment, DataTypes.TIMESTAMP_LTZ(precision, False))
        return Value(value, DataTypes.TIMESTAMP(precision, False))
    if isinstance(value, dt.date):
        return Value(value, DataTypes.DATE(False))
    if isinstance(value, dt.time):
        return Value(value, DataTypes.TIME(3 if value.microsecond else 0, False))
    if isinstance(value, dt.timedelta):
        return Value(value // dt.timedelta(milliseconds=1), INTERVAL_SECOND)
    raise ValidationError(
        f"cannot derive a data type for the value {value!r}",
        do="say which: lit(value, DataTypes.…), or use array(…), map_(…), row(…)",
    )


# -- values of declared types --------------------------------------------------------------------------------


def _declared(value: Any, data_type: DataType) -> Any:
    """The value as the algebra holds values of that type."""
    if value is None:
        if not data_type.is_nullable:
            raise ValidationError(
                f"NULL is no value of {data_type.as_summary()}", do="declare a nullable type"
            )
        return None
    if isinstance(data_type, (ArrayType, MapType, RowType, MultisetType)):
        return _constructed(value, data_type)
    if isinstance(data_type, IntegralType):
        return _whole(value, data_type)
    if isinstance(value, dt.timedelta):
        return value // dt.timedelta(milliseconds=1)
    if isinstance(value, dt.datetime):
        if isinstance(data_type, DateType):
            return value.date()
        return value if value.tzinfo is None else value.astimezone(dt.timezone.utc).replace(tzinfo=None)
    return bytes(value) if isinstance(value, bytearray) else value


def _whole(value: Any, data_type: IntegralType) -> int:
    half = 1 << (data_type.bits - 1)
    if not isinstance(value, int) or isinstance(value, bool) or not -half <= value < half:
        raise _misfit(value, data_type)
    return value


def _constructed(value: Any, data_type: DataType) -> Any:
    if isinstance(data_type, ArrayType) and isinstance(value, (list, tuple, array.array)):
        return [_declared(v, data_type.element_type) for v in value]
    if isinstance(data_type, MapType) and isinstance(value, dict):
        key, item = data_type.key_type, data_type.value_type
        return {_declared(k, key): _declared(v, item) for k, v in value.items()}
    if isinstance(data_type, RowType) and isinstance(value, (Row, tuple, list)):
        return _row(value, data_type)
    if isinstance(data_type, MultisetType):
        raise ValidationError(
            "Non-null MULTISET literals are not supported, as in Flink", do="COLLECT makes multisets of rows"
        )
    raise _misfit(value, data_type)


def _row(value: Any, data_type: RowType) -> tuple[Any, ...]:
    if isinstance(value, Row) and value.get_row_kind() is not RowKind.INSERT:
        raise ValidationError(f"Unsupported kind '{value.get_row_kind().name}' of a row: constants only are")
    if not data_type.fields:
        raise ValidationError("Non-null empty ROW literals are not supported, as in Flink")
    if len(value) != len(data_type.fields):
        raise TypeMismatchError(
            f"the ROW literal has arity {len(value)}, its type {len(data_type.fields)} fields"
        )
    return tuple(_declared(v, f.data_type) for v, f in zip(value, data_type, strict=True))


def _misfit(value: Any, data_type: DataType) -> TypeMismatchError:
    return TypeMismatchError(
        f"{value!r} of type {type(value).__name__} is no value of {data_type.as_summary()}",
        do="convert it, or declare another type",
    )
