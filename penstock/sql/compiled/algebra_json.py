"""Plans and expressions as JSON, and back.

A node is an object whose `$` is the name of its class; attributes with their default value are left out. Types are
their SQL text, tuples are lists. Values that JSON has no form for are objects with one key, such as
`{"$decimal": "1.50"}`. Tables, rows of the program and users' functions are written by what `References` says.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import decimal
import math
from collections.abc import Callable
from typing import Any, Protocol

from penstock.catalog.identifiers import ObjectIdentifier
from penstock.catalog.objects import CatalogTable
from penstock.common.datatype_parser import parse_type
from penstock.common.datatypes import DataType
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.sql.plan import algebra, match_spec, rex
from penstock.sql.plan.algebra import LocalTable
from penstock.sql.user_functions import UserFunction

_REFUSED = {"StreamScan": "a DataStream of the program", "DataFrameScan": "a Spark relation"}
CLASSES: dict[str, type] = {
    name: kind
    for module in (algebra, rex, match_spec)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind.__module__ == module.__name__
}
"""Everything a plan may consist of, by name."""


class References(Protocol):
    """How what lies outside the algebra is written, and found again."""

    def write(self, value: CatalogTable | LocalTable | UserFunction, owner: Any) -> Any: ...

    def read(self, kind: str, value: Any, owner: dict[str, Any]) -> Any: ...


def encode(value: Any, references: References, owner: Any = None) -> Any:
    """The JSON form of a plan, an expression or a value in one.

    Raises:
        NotSupportedError: Part of it only exists in this program.
    """
    if isinstance(value, tuple):
        return [encode(item, references, owner) for item in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    for kind, name, write in _VALUES:
        if isinstance(value, kind):
            return {name: write(value)}
    if isinstance(value, DataType):
        return {"$type": _type_text(value)}
    if isinstance(value, ObjectIdentifier):
        return {"$identifier": [value.catalog_name, value.database_name, value.object_name]}
    if isinstance(value, (CatalogTable, LocalTable, UserFunction)):
        return {f"${_REFERENCES[type(value)]}": references.write(value, owner)}
    if type(value).__name__ in CLASSES:
        return _node(value, references)
    raise NotSupportedError(
        f"a compiled plan with {type(value).__name__}", "it only exists in the program that made it"
    )


def _node(value: Any, references: References) -> dict[str, Any]:
    name = type(value).__name__
    if name in _REFUSED:
        raise NotSupportedError(
            f"a compiled plan over {_REFUSED[name]}", "it only exists in the program that made it"
        )
    found: dict[str, Any] = {"$": name}
    for field in dataclasses.fields(value):
        item = getattr(value, field.name)
        if field.default is dataclasses.MISSING or item != field.default:
            plain = isinstance(item, DataType) and field.type == "DataType"
            found[field.name] = _type_text(item) if plain else encode(item, references, value)
    return found


def decode(value: Any, references: References, owner: dict[str, Any] | None = None) -> Any:
    """The way back from `encode`."""
    if isinstance(value, list):
        return tuple(decode(item, references, owner) for item in value)
    if not isinstance(value, dict):
        return value
    if "$" in value:
        return _made(value, references)
    [(name, content)] = value.items()
    if name == "$type":
        return parse_type(content)
    if name == "$identifier":
        return ObjectIdentifier(*content)
    if name in _READERS:
        return _READERS[name](content)
    return references.read(name.removeprefix("$"), content, owner or {})


def _made(value: dict[str, Any], references: References) -> Any:
    kind = CLASSES.get(value["$"])
    if kind is None:
        raise ValidationError(f"a compiled plan has a part that is not known here: {value['$']!r}")
    arguments = {}
    for field in dataclasses.fields(kind):
        if field.name in value:
            item = value[field.name]
            plain = isinstance(item, str) and field.type == "DataType"
            arguments[field.name] = parse_type(item) if plain else decode(item, references, value)
    try:
        return kind(**arguments)
    except TypeError as error:
        raise ValidationError(f"a part of the compiled plan is not whole: {value['$']}, {error}") from error


def _type_text(data_type: DataType) -> str:
    text = data_type.as_sql()
    if parse_type(text) != data_type:
        raise NotSupportedError(f"a compiled plan with a value of {text}", "the type has no text of its own")
    return text


def _float_text(value: float) -> Any:
    return value if math.isfinite(value) else repr(value)


_VALUES: tuple[tuple[type, str, Callable[[Any], Any]], ...] = (
    (float, "$double", _float_text),
    (decimal.Decimal, "$decimal", str),
    (bytes, "$bytes", lambda v: base64.b64encode(v).decode()),
    (dt.datetime, "$timestamp", lambda v: v.isoformat()),
    (dt.date, "$date", lambda v: v.isoformat()),
    (dt.time, "$time", lambda v: v.isoformat()),
)
_READERS: dict[str, Callable[[Any], Any]] = {
    "$double": float,
    "$decimal": decimal.Decimal,
    "$bytes": base64.b64decode,
    "$timestamp": dt.datetime.fromisoformat,
    "$date": dt.date.fromisoformat,
    "$time": dt.time.fromisoformat,
}
_REFERENCES: dict[type, str] = {CatalogTable: "table", LocalTable: "rows", UserFunction: "function"}
