"""Types made of other types: collections, rows, and types that a Python class defines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.common.errors import ValidationError
from penstock.common.logical_types import DataType


def _each(values: Iterable[Any] | None, convert: Callable[[Any], Any]) -> list[Any] | None:
    """The elements of a collection, converted: between Python's objects and numbers that stand for them."""
    return None if values is None else [convert(v) for v in values]


class _ElementsType(DataType):
    """What arrays and multisets share."""

    _parameters = ("element_type",)

    def __init__(self, element_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.element_type = element_type

    def need_conversion(self) -> bool:
        return self.element_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        return _each(obj, self.element_type.to_sql_type) if self.need_conversion() else obj

    def from_sql_type(self, obj: Any) -> Any:
        return _each(obj, self.element_type.from_sql_type) if self.need_conversion() else obj


class ArrayType(_ElementsType):
    """An ordered list of elements of one type; positions count from 1."""

    def _sql(self) -> str:
        return f"ARRAY<{self.element_type.as_sql()}>"

    def _summary(self) -> str:
        return f"ARRAY<{self.element_type.as_summary()}>"


class ListViewType(DataType):
    """The accumulator type of a `ListView`."""

    _parameters = ("_element_type",)

    def __init__(self, element_type: DataType) -> None:
        super().__init__(False)
        self._element_type = element_type


class MapType(DataType):
    """Keys of one type to values of another."""

    _parameters = ("key_type", "value_type")

    def __init__(self, key_type: DataType, value_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.key_type = key_type
        self.value_type = value_type

    def need_conversion(self) -> bool:
        return self.key_type.need_conversion() or self.value_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        key, value = self.key_type.to_sql_type, self.value_type.to_sql_type
        return (
            obj if obj is None or not self.need_conversion() else {key(k): value(v) for k, v in obj.items()}
        )

    def from_sql_type(self, obj: Any) -> Any:
        key, value = self.key_type.from_sql_type, self.value_type.from_sql_type
        return (
            obj if obj is None or not self.need_conversion() else {key(k): value(v) for k, v in obj.items()}
        )

    def _sql(self) -> str:
        return f"MAP<{self.key_type.as_sql()}, {self.value_type.as_sql()}>"

    def _summary(self) -> str:
        return f"MAP<{self.key_type.as_summary()}, {self.value_type.as_summary()}>"


class MapViewType(DataType):
    """The accumulator type of a `MapView`."""

    _parameters = ("_key_type", "_value_type")

    def __init__(self, key_type: DataType, value_type: DataType) -> None:
        super().__init__(False)
        self._key_type = key_type
        self._value_type = value_type


class MultisetType(_ElementsType):
    """A bag: each element with how often it occurs."""

    def _sql(self) -> str:
        return f"MULTISET<{self.element_type.as_sql()}>"

    def _summary(self) -> str:
        return f"MULTISET<{self.element_type.as_summary()}>"


class RowField:
    """A named part of a `RowType`."""

    def __init__(self, name: str, data_type: DataType, description: str | None = None) -> None:
        self.name = name
        self.data_type = data_type
        self.description = description

    def need_conversion(self) -> bool:
        """Whether the field's values have another form inside than in Python."""
        return self.data_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        """The inner form of a value of the field."""
        return self.data_type.to_sql_type(obj)

    def from_sql_type(self, obj: Any) -> Any:
        """The Python value of an inner form."""
        return self.data_type.from_sql_type(obj)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowField) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.name, self.data_type))

    def __repr__(self) -> str:
        return f"RowField({self.name}, {self.data_type!r}, ...)"

    def __str__(self) -> str:
        return f"RowField({self.name}, {self.data_type})"

    def text(self, type_text: str) -> str:
        """The field as SQL writes it: its name in backquotes, this text for its type, its comment."""
        quoted = "`" + self.name.replace("`", "``") + "`"
        comment = "" if self.description is None else " '" + self.description.replace("'", "''") + "'"
        return f"{quoted} {type_text}{comment}"


class RowType(DataType):
    """A sequence of named fields, as a table row or a nested record."""

    _parameters = ("_frozen_fields",)

    def __init__(self, fields: Iterable[RowField] | None = None, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.fields = list(fields or [])
        self.names = [field.name for field in self.fields]

    @property
    def _frozen_fields(self) -> tuple[RowField, ...]:
        return tuple(self.fields)

    def add(self, field: RowField | str, data_type: DataType | None = None) -> RowType:
        """Appends a field and returns the type itself, as PyFlink's does."""
        if isinstance(field, str):
            if data_type is None:
                raise ValidationError(f"field {field!r} needs a data type")
            field = RowField(field, data_type)
        self.fields.append(field)
        self.names.append(field.name)
        return self

    def nullable_fields(self) -> list[RowField]:
        """The fields as a reader gives them: any may be NULL, also one that is declared otherwise."""
        return [RowField(f.name, f.data_type.nullable()) for f in self.fields]

    def field_names(self) -> list[str]:
        """The names of the fields, in order."""
        return list(self.names)

    def field_types(self) -> list[DataType]:
        """The types of the fields, in order."""
        return [field.data_type for field in self.fields]

    def __iter__(self) -> Iterator[RowField]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, key: str | int | slice) -> Any:
        if isinstance(key, str):
            for field in self.fields:
                if field.name == key:
                    return field
            raise KeyError(f"no field named {key!r} in {self.names}")
        return RowType(self.fields[key]) if isinstance(key, slice) else self.fields[key]

    def _sql(self) -> str:
        return f"ROW<{', '.join(f.text(f.data_type.as_sql()) for f in self.fields)}>"

    def _summary(self) -> str:
        return f"ROW<{', '.join(f.text(f.data_type.as_summary()) for f in self.fields)}>"

    def __repr__(self) -> str:
        fields = ",".join(repr(field) for field in self.fields)
        return f"RowType({fields}, {str(self.is_nullable).lower()})"


class UserDefinedType(DataType, ABC):
    """A Python class with a SQL representation of its own; subclasses say which.

    A subclass that leaves one of the abstract methods out cannot be made.
    """

    @classmethod
    def type_name(cls) -> str:
        return cls.__name__

    @classmethod
    @abstractmethod
    def sql_type(cls) -> DataType:
        """The type of what `serialize` gives."""

    @classmethod
    @abstractmethod
    def module(cls) -> str:
        """The name of the Python module that defines the class."""

    @abstractmethod
    def serialize(self, obj: Any) -> Any:
        """An object as a value of `sql_type`."""

    @abstractmethod
    def deserialize(self, datum: Any) -> Any:
        """The object that `serialize` has made into `datum`."""

    def need_conversion(self) -> bool:
        """Whether values have to be converted between Python and SQL."""
        return True

    def to_sql_type(self, obj: Any) -> Any:
        """The value as one of `sql_type`."""
        return None if obj is None else self.sql_type().to_sql_type(self.serialize(obj))

    def from_sql_type(self, obj: Any) -> Any:
        """The user's object that a value of `sql_type` stands for."""
        return None if obj is None else self.deserialize(self.sql_type().from_sql_type(obj))
