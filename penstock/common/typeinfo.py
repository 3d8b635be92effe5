"""Type information: what a stream or a state declares about its values.

A declared type does three things: values are checked against it when they leave an operator, they travel
in a compact form (`codecs.py`), and they print and collect as Flink would show them. A stream that declares
nothing carries any Python object, pickled.

Types compare by meaning and can be used as dictionary keys; `Types` is the place to get them from:

>>> Types.TUPLE([Types.INT(), Types.STRING()])
TupleTypeInfo(Integer, String)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.common.basic_types import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    LocalTimeTypeInfo,
    SqlTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)
from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.common.types import Row, RowKind

if TYPE_CHECKING:
    from penstock.common.logical_types import DataType
    from penstock.common.serializer import TypeSerializer

__all__ = [
    "BasicArrayTypeInfo",
    "BasicType",
    "BasicTypeInfo",
    "DateTypeInfo",
    "ExternalTypeInfo",
    "InstantTypeInfo",
    "ListTypeInfo",
    "LocalTimeTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "PickledBytesTypeInfo",
    "PrimitiveArrayTypeInfo",
    "RowTypeInfo",
    "SequenceTypeInfo",
    "SqlTimeTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
    "TupleTypeInfo",
    "TypeInformation",
    "Types",
]


class PickledBytesTypeInfo(TypeInformation):
    """Any Python object, pickled."""

    def __repr__(self) -> str:
        return "PickledByteArrayTypeInfo"


class SequenceTypeInfo(TypeInformation):
    """What lists and the three kinds of arrays have in common."""

    elem_type: TypeInformation

    def __init__(self, element_type: TypeInformation) -> None:
        _require_types([element_type], type(self).__name__)
        self.elem_type = element_type

    @property
    def element_type(self) -> TypeInformation:
        """The type of the elements."""
        return self.elem_type

    def _identity(self) -> tuple[Any, ...]:
        return (self.elem_type,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.elem_type!r}>"


_PRIMITIVES = frozenset(BasicType) - {
    BasicType.STRING,
    BasicType.BIG_INT,
    BasicType.BIG_DEC,
    BasicType.INSTANT,
}


class PrimitiveArrayTypeInfo(SequenceTypeInfo):
    """An array of numbers, booleans or chars without None; of BYTE it is `bytes`."""

    def __init__(self, element_type: TypeInformation) -> None:
        super().__init__(element_type)
        _require_element(element_type, _PRIMITIVES, "PRIMITIVE_ARRAY")


class BasicArrayTypeInfo(SequenceTypeInfo):
    """An array of numbers, booleans, chars or strings; elements may be None."""

    def __init__(self, element_type: TypeInformation) -> None:
        super().__init__(element_type)
        _require_element(element_type, _PRIMITIVES | {BasicType.STRING}, "BASIC_ARRAY")


class ObjectArrayTypeInfo(SequenceTypeInfo):
    """An array of anything; elements may be None."""


class ListTypeInfo(SequenceTypeInfo):
    """A list of one element type."""


class MapTypeInfo(TypeInformation):
    """A dict from one type to another."""

    def __init__(self, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        _require_types([key_type_info, value_type_info], "MAP")
        self._key_type_info = key_type_info
        self._value_type_info = value_type_info

    @property
    def key_type_info(self) -> TypeInformation:
        """The type of the keys."""
        return self._key_type_info

    @property
    def value_type_info(self) -> TypeInformation:
        """The type of the values."""
        return self._value_type_info

    def _identity(self) -> tuple[Any, ...]:
        return (self._key_type_info, self._value_type_info)

    def __repr__(self) -> str:
        return f"MapTypeInfo<{self._key_type_info!r}, {self._value_type_info!r}>"


class TupleTypeInfo(TypeInformation):
    """A tuple with one type per position."""

    def __init__(self, field_types: Sequence[TypeInformation]) -> None:
        _require_types(field_types, "TUPLE")
        self._field_types = list(field_types)

    def get_field_types(self) -> list[TypeInformation]:
        """The types of the fields, in order."""
        return self._field_types

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        return None if obj is None else _convert_fields(self._field_types, obj, "to_internal_type")

    def from_internal_type(self, obj: Any) -> Any:
        return None if obj is None else _convert_fields(self._field_types, obj, "from_internal_type")

    def _identity(self) -> tuple[Any, ...]:
        return tuple(self._field_types)

    def __repr__(self) -> str:
        return f"TupleTypeInfo({', '.join(map(repr, self._field_types))})"


class RowTypeInfo(TypeInformation):
    """A row; without names the fields are called f0, f1, ... Names do not matter for equality."""

    def __init__(
        self, field_types: Sequence[TypeInformation], field_names: Sequence[str] | None = None
    ) -> None:
        _require_types(field_types, "ROW")
        if field_names is not None:
            _require_names(field_names, len(field_types))
        self._field_types = list(field_types)
        self._field_names = None if field_names is None else list(field_names)

    @property
    def has_names(self) -> bool:
        """Whether the program gave names (ROW_NAMED)."""
        return self._field_names is not None

    def get_field_names(self) -> list[str]:
        """The names of the fields; f0, f1, … where none were given."""
        return self._field_names or [f"f{i}" for i in range(len(self._field_types))]

    def get_field_index(self, field_name: str) -> int:
        """Position of a field; -1 when the row type has no names."""
        return -1 if self._field_names is None else self._field_names.index(field_name)

    def get_field_types(self) -> list[TypeInformation]:
        """The types of the fields, in order."""
        return self._field_types

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        """The kind's number, then the fields in declared order."""
        if obj is None:
            return None
        kind, values = row_parts(obj, self.get_field_names())
        return (kind.value, *_convert_fields(self._field_types, values, "to_internal_type"))

    def from_internal_type(self, obj: Any) -> Any:
        """A tuple of the field values; the kind, if there is one in front, is dropped."""
        if obj is None:
            return None
        values = list(obj)[-len(self._field_types) :] if self._field_types else []
        return _convert_fields(self._field_types, values, "from_internal_type")

    def _identity(self) -> tuple[Any, ...]:
        return tuple(self._field_types)

    def __repr__(self) -> str:
        if self._field_names is None:
            return f"RowTypeInfo({', '.join(map(repr, self._field_types))})"
        pairs = zip(self._field_names, self._field_types, strict=True)
        return f"RowTypeInfo({', '.join(f'{name}: {kind!r}' for name, kind in pairs)})"


class ExternalTypeInfo(TypeInformation):
    """A type as the Table API hands it out: the same values as the type it wraps.

    `data_type` is the exact SQL type where the values came from a table; a stream that goes back has it again.
    """

    def __init__(self, type_info: TypeInformation, data_type: DataType | None = None) -> None:
        _require_types([type_info], "ExternalTypeInfo")
        self._type_info = type_info
        self._data_type = data_type

    @property
    def type_info(self) -> TypeInformation:
        """How its elements travel."""
        return self._type_info

    @property
    def data_type(self) -> DataType | None:
        """The SQL type it stands for, None if it was not given."""
        return self._data_type

    def need_conversion(self) -> bool:
        return self._type_info.need_conversion()

    def to_internal_type(self, obj: Any) -> Any:
        return self._type_info.to_internal_type(obj)

    def from_internal_type(self, obj: Any) -> Any:
        return self._type_info.from_internal_type(obj)

    def create_serializer(self) -> TypeSerializer | None:
        return self._type_info.create_serializer()

    def _identity(self) -> tuple[Any, ...]:
        return (self._type_info,)

    def __repr__(self) -> str:
        return f"ExternalTypeInfo<{self._type_info!r}>"


class Types:
    """Every type there is, by Flink's names."""

    @staticmethod
    def STRING() -> TypeInformation:
        """`str`."""
        return BasicTypeInfo.STRING_TYPE_INFO()

    @staticmethod
    def BYTE() -> TypeInformation:
        """`int` from -128 to 127."""
        return BasicTypeInfo.BYTE_TYPE_INFO()

    @staticmethod
    def BOOLEAN() -> TypeInformation:
        """`bool`."""
        return BasicTypeInfo.BOOLEAN_TYPE_INFO()

    @staticmethod
    def SHORT() -> TypeInformation:
        """`int` of 16 bits."""
        return BasicTypeInfo.SHORT_TYPE_INFO()

    @staticmethod
    def INT() -> TypeInformation:
        """`int` of 32 bits."""
        return BasicTypeInfo.INT_TYPE_INFO()

    @staticmethod
    def LONG() -> TypeInformation:
        """`int` of 64 bits."""
        return BasicTypeInfo.LONG_TYPE_INFO()

    @staticmethod
    def FLOAT() -> TypeInformation:
        """`float`, rounded to 32 bits."""
        return BasicTypeInfo.FLOAT_TYPE_INFO()

    @staticmethod
    def DOUBLE() -> TypeInformation:
        """`float`."""
        return BasicTypeInfo.DOUBLE_TYPE_INFO()

    @staticmethod
    def CHAR() -> TypeInformation:
        """`str` of one character."""
        return BasicTypeInfo.CHAR_TYPE_INFO()

    @staticmethod
    def BIG_INT() -> TypeInformation:
        """`int` without bounds."""
        return BasicTypeInfo.BIG_INT_TYPE_INFO()

    @staticmethod
    def BIG_DEC() -> TypeInformation:
        """`decimal.Decimal`."""
        return BasicTypeInfo.BIG_DEC_TYPE_INFO()

    @staticmethod
    def INSTANT() -> TypeInformation:
        """`penstock.common.Instant`."""
        return BasicTypeInfo.INSTANT_TYPE_INFO()

    @staticmethod
    def SQL_DATE() -> TypeInformation:
        """`datetime.date`."""
        return SqlTimeTypeInfo.DATE()

    @staticmethod
    def SQL_TIME() -> TypeInformation:
        """`datetime.time`."""
        return SqlTimeTypeInfo.TIME()

    @staticmethod
    def SQL_TIMESTAMP() -> TypeInformation:
        """`datetime.datetime` without zone."""
        return SqlTimeTypeInfo.TIMESTAMP()

    @staticmethod
    def LOCAL_DATE() -> TypeInformation:
        """`datetime.date`."""
        return LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE)

    @staticmethod
    def LOCAL_TIME() -> TypeInformation:
        """`datetime.time`."""
        return LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME)

    @staticmethod
    def LOCAL_DATE_TIME() -> TypeInformation:
        """`datetime.datetime` without zone."""
        return LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME)

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> TypeInformation:
        """Any Python object."""
        return PickledBytesTypeInfo()

    @staticmethod
    def ROW(field_types: Sequence[TypeInformation]) -> RowTypeInfo:
        """A `Row` whose fields are f0, f1, ..."""
        return RowTypeInfo(field_types)

    @staticmethod
    def ROW_NAMED(field_names: Sequence[str], field_types: Sequence[TypeInformation]) -> RowTypeInfo:
        """A `Row` with named fields."""
        return RowTypeInfo(field_types, field_names)

    @staticmethod
    def TUPLE(field_types: Sequence[TypeInformation]) -> TupleTypeInfo:
        """A tuple with one type per position."""
        return TupleTypeInfo(field_types)

    @staticmethod
    def PRIMITIVE_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """A list of numbers or booleans without None (`bytes` for BYTE)."""
        return PrimitiveArrayTypeInfo(element_type)

    @staticmethod
    def BASIC_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """A list of numbers, booleans or strings that may be None."""
        return BasicArrayTypeInfo(element_type)

    @staticmethod
    def OBJECT_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """A list of any one type; elements may be None."""
        return ObjectArrayTypeInfo(element_type)

    @staticmethod
    def MAP(key_type_info: TypeInformation, value_type_info: TypeInformation) -> TypeInformation:
        """A `dict`."""
        return MapTypeInfo(key_type_info, value_type_info)

    @staticmethod
    def LIST(element_type_info: TypeInformation) -> TypeInformation:
        """A `list`."""
        return ListTypeInfo(element_type_info)


def row_parts(value: Any, names: Sequence[str]) -> tuple[RowKind, list[Any]]:
    """Kind and values, in the order of `names`, of anything a ROW type takes.

    Named rows and dicts are put into declared order; positional rows, tuples and lists are taken as they
    are; any other object gives its attributes of those names.
    """
    if isinstance(value, Row):
        return value.get_row_kind(), value.get_fields_by_names(list(names))
    if isinstance(value, (tuple, list)):
        return RowKind.INSERT, list(value)
    if isinstance(value, dict):
        return RowKind.INSERT, [value.get(name) for name in names]
    if hasattr(value, "__dict__"):
        attributes = vars(value)
        return RowKind.INSERT, [attributes.get(name) for name in names]
    raise TypeMismatchError(f"{value!r} is not a row", do="pass a Row, a tuple, a list or a dict")


def _convert_fields(types: Sequence[TypeInformation], values: Any, method: str) -> tuple[Any, ...]:
    return tuple(getattr(kind, method)(value) for kind, value in zip(types, values, strict=True))


def _require_types(types: Sequence[Any], owner: str) -> None:
    if isinstance(types, TypeInformation):
        raise ValidationError(f"{owner} takes a list of types, got {types!r}", do="put the types in [ ]")
    for kind in types:
        if not isinstance(kind, TypeInformation):
            raise ValidationError(
                f"{owner} is made of types, got {kind!r}",
                do="use a type from Types, and call it: Types.INT()",
            )


def _require_names(names: Sequence[str], count: int) -> None:
    if len(names) != count:
        raise ValidationError(f"ROW_NAMED has {len(names)} names for {count} types: {list(names)}")
    if len(set(names)) != count:
        raise ValidationError(f"ROW_NAMED has a field name twice: {list(names)}")


def _require_element(kind: TypeInformation, allowed: frozenset[BasicType], owner: str) -> None:
    if not isinstance(kind, BasicTypeInfo) or kind.basic_type not in allowed:
        names = ", ".join(sorted(basic.name for basic in allowed))
        raise ValidationError(
            f"{kind!r} cannot be the element of a {owner}", do=f"use OBJECT_ARRAY, or one of {names}"
        )
