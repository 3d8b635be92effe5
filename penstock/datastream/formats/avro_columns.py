"""Avro records in files of columns: which values need another form there, and how they get their own back.

A union of several types is a group with a member for each of them, as parquet-avro writes it; at most one is there:

    ["int", "double", "null"]      ROW<member0 INT, member1 DOUBLE>       2.0 is (null, 2.0), null is null

Maps are lists of pairs when they are read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.errors import TypeMismatchError
from penstock.connectors.file.avro import fastavro

Convert = Callable[[Any], Any]


def branches(union: list[Any]) -> list[Any]:
    """The types of a union that are not null."""
    return [kind for kind in union if not is_null(kind)]


def is_null(schema: Any) -> bool:
    """Whether the type has no value but null; a record's field of it is no column, as parquet-avro has it."""
    return _kind(schema) == "null"


def to_columns(schema: Any) -> Convert | None:
    """How a value of the schema is made into one of columns; None: it is one already."""
    if isinstance(schema, list):
        kinds = branches(schema)
        return _nullable(to_columns(kinds[0])) if len(kinds) == 1 else _nullable(_ToGroup(kinds))
    return _inside(schema, to_columns)


def from_columns(schema: Any) -> Convert | None:
    """The way back."""
    if isinstance(schema, list):
        kinds = branches(schema)
        return _nullable(from_columns(kinds[0])) if len(kinds) == 1 else _nullable(_FromGroup(kinds))
    made = _inside(schema, from_columns)
    if _kind(schema) == "record" and any(is_null(field["type"]) for field in schema["fields"]):
        return _AllFields([field["name"] for field in schema["fields"]], made)
    return dict if made is None and _kind(schema) == "map" else made


def _kind(schema: Any) -> Any:
    return schema.get("type") if isinstance(schema, dict) else schema


def _inside(schema: Any, way: Callable[[Any], Convert | None]) -> Convert | None:
    """The conversion of a record, an array or a map by that of its parts."""
    kind = _kind(schema)
    if kind == "record":
        found = {field["name"]: way(field["type"]) for field in schema["fields"]}
        return _Fields({n: c for n, c in found.items() if c is not None}) if any(found.values()) else None
    if kind == "array":
        element = way(schema["items"])
        return None if element is None else _Elements(element)
    if kind == "map":
        item = way(schema["values"])
        return None if item is None else _Values(item)
    return None


def _nullable(convert: Convert | None) -> Convert | None:
    return None if convert is None else _Nullable(convert)


class _Nullable:
    def __init__(self, convert: Convert) -> None:
        self._convert = convert

    def __call__(self, value: Any) -> Any:
        return None if value is None else self._convert(value)


class _Fields:
    """Converts some fields of a record."""

    def __init__(self, converters: dict[str, Convert]) -> None:
        self._converters = converters

    def __call__(self, record: Any) -> Any:
        return {n: self._converters[n](v) if n in self._converters else v for n, v in record.items()}


class _AllFields:
    """Gives a record back the fields that are no columns."""

    def __init__(self, names: list[str], convert: Convert | None) -> None:
        self._names = names
        self._convert = convert

    def __call__(self, record: Any) -> Any:
        found = record if self._convert is None else self._convert(record)
        return {name: found.get(name) for name in self._names}


class _Elements:
    def __init__(self, convert: Convert) -> None:
        self._convert = convert

    def __call__(self, values: Any) -> Any:
        return [self._convert(v) for v in values]


class _Values:
    def __init__(self, convert: Convert) -> None:
        self._convert = convert

    def __call__(self, pairs: Any) -> Any:
        return {k: self._convert(v) for k, v in dict(pairs).items()}


class _ToGroup:
    """A value as the group of its union: in the member of the first type that it fits, as Avro chooses."""

    def __init__(self, kinds: list[Any]) -> None:
        self._kinds = kinds
        self._converters = [to_columns(kind) for kind in kinds]

    def __call__(self, value: Any) -> Any:
        for i, kind in enumerate(self._kinds):
            if fastavro().validate(value, kind, raise_errors=False):
                convert = self._converters[i]
                return {f"member{i}": value if convert is None else convert(value)}
        raise TypeMismatchError(f"{value!r} is none of the union {self._kinds}")


class _FromGroup:
    """The member of a group that is there."""

    def __init__(self, kinds: list[Any]) -> None:
        self._converters = [from_columns(kind) for kind in kinds]

    def __call__(self, group: Any) -> Any:
        for i, convert in enumerate(self._converters):
            value = group.get(f"member{i}")
            if value is not None:
                return value if convert is None else convert(value)
        return None
