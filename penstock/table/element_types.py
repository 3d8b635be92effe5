"""Which columns Python values have: the schema of `from_elements` where none is declared.

The rules are PyFlink's: whole numbers are BIGINT, other ones DOUBLE, decimals DECIMAL(38, 18), moments
TIMESTAMP_LTZ(6); a tuple's fields are _1, _2, …; the rows have to agree, and no column may be only NULL.
"""

from __future__ import annotations

import array
import datetime as dt
import decimal
import functools
from collections.abc import Iterable, Sequence
from typing import Any

from penstock.common.datatypes import (
    ArrayType,
    DataType,
    DataTypes,
    MapType,
    MultisetType,
    NullType,
    RowField,
    RowType,
    UserDefinedType,
)
from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.common.types import Row

_TYPES: dict[type, DataType] = {
    bool: DataTypes.BOOLEAN(),
    int: DataTypes.BIGINT(),
    float: DataTypes.DOUBLE(),
    str: DataTypes.STRING(),
    bytes: DataTypes.BYTES(),
    bytearray: DataTypes.BYTES(),
    decimal.Decimal: DataTypes.DECIMAL(38, 18),
    dt.date: DataTypes.DATE(),
    dt.datetime: DataTypes.TIMESTAMP_LTZ(6),
    dt.time: DataTypes.TIME(),
}
_ARRAYS: dict[str, DataType] = {
    "u": DataTypes.CHAR(1, False),
    "f": DataTypes.FLOAT(False),
    "d": DataTypes.DOUBLE(False),
    "b": DataTypes.TINYINT(False),
    "B": DataTypes.SMALLINT(False),
    "h": DataTypes.SMALLINT(False),
    "H": DataTypes.INT(False),
    "i": DataTypes.INT(False),
    "I": DataTypes.BIGINT(False),
    "l": DataTypes.BIGINT(False),
    "q": DataTypes.BIGINT(False),
}


def infer_schema(elements: Sequence[Any], names: Sequence[str] | None) -> RowType:
    """The columns of all elements together."""
    if not elements:
        raise ValidationError("cannot infer a schema from no elements", do="declare it: DataTypes.ROW([...])")
    merged = functools.reduce(lambda a, b: _merged(a, b, ""), (_row_type(e, names) for e in elements))
    assert isinstance(merged, RowType)
    for field in merged:
        if _has_null(field.data_type):
            raise ValidationError(
                f"the type of column '{field.name}' cannot be inferred: it has only NULLs",
                do="declare the schema: DataTypes.ROW([...])",
            )
    return merged


def array_element_type(value: array.array[Any]) -> DataType:
    """The type of the elements of an `array.array`, by its type code; unsigned ones have the next wider type."""
    found = _ARRAYS.get(value.typecode)
    if found is None:
        raise TypeMismatchError(f"an array of type code '{value.typecode}' has no SQL type: {value!r}")
    return found


def _row_type(element: Any, names: Sequence[str] | None) -> RowType:
    return RowType([RowField(name, _type_of(value)) for name, value in _items(element, names)])


def _items(element: Any, names: Sequence[str] | None) -> Iterable[tuple[str, Any]]:
    if isinstance(element, dict):
        return sorted(element.items())
    if isinstance(element, (Row, tuple, list)):
        own = getattr(element, "_fields", None)
        if own:
            return zip(own, tuple(element), strict=True)
        given = list(names or ())
        given += [f"_{i}" for i in range(len(given) + 1, len(element) + 1)]
        return zip(given, element, strict=False)
    if hasattr(element, "__dict__") and not isinstance(element, type) and not callable(element):
        return sorted(element.__dict__.items())
    raise TypeMismatchError(
        f"cannot infer a schema for an element of type {type(element).__name__}: {element!r}",
        do="make rows of values: (value,), or declare a type",
    )


def _type_of(value: Any) -> DataType:
    if value is None:
        return NullType()
    own = getattr(value, "__UDT__", None)
    if isinstance(own, UserDefinedType):
        return own
    known = _TYPES.get(type(value))
    if known is not None:
        return known
    if isinstance(value, dict):
        for key, item in value.items():
            if key is not None and item is not None:
                return MapType(_type_of(key).not_null(), _type_of(item))
        return MapType(NullType(), NullType())
    if isinstance(value, list):
        return ArrayType(functools.reduce(lambda a, b: _merged(a, b, ""), map(_type_of, value), NullType()))
    if isinstance(value, array.array):
        return ArrayType(array_element_type(value))
    if isinstance(value, (Row, tuple)) or hasattr(value, "__dict__"):
        return _row_type(value, None)
    raise TypeMismatchError(f"values of type {type(value).__name__} have no SQL type: {value!r}")


def _merged(a: Any, b: Any, name: str) -> Any:
    if isinstance(a, NullType):
        return b
    if isinstance(b, NullType):
        return a
    if type(a) is not type(b):
        raise TypeMismatchError(
            f"column '{name}' has values of {a.as_summary()} and of {b.as_summary()}",
            do="convert the values, or declare the schema: DataTypes.ROW([...])",
        )
    if isinstance(a, RowType):
        others = {f.name: f.data_type for f in b}
        fields = [RowField(f.name, _merged(f.data_type, others.pop(f.name, NullType()), f.name)) for f in a]
        return RowType([*fields, *(RowField(n, t) for n, t in others.items())])
    if isinstance(a, ArrayType):
        return ArrayType(_merged(a.element_type, b.element_type, name))
    if isinstance(a, MapType):
        return MapType(_merged(a.key_type, b.key_type, name), _merged(a.value_type, b.value_type, name))
    return a


def _has_null(data_type: DataType) -> bool:
    if isinstance(data_type, RowType):
        return any(_has_null(f.data_type) for f in data_type)
    if isinstance(data_type, (ArrayType, MultisetType)):
        return _has_null(data_type.element_type)
    if isinstance(data_type, MapType):
        return _has_null(data_type.key_type) or _has_null(data_type.value_type)
    return isinstance(data_type, NullType)
