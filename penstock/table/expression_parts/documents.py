"""JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.common.datatypes import DataType, DataTypes
from penstock.table.expression_parts.base import Operand, node_of
from penstock.table.expression_parts.nodes import Node, TypeNode, Value
from penstock.table.expression_parts.words import (
    JsonExistsOnError,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
)

if TYPE_CHECKING:
    from penstock.table.expression import Expression

_STRING = DataTypes.STRING()


class Documents(Operand):
    """What can be done with JSON in texts."""

    def is_json(self, json_type: JsonType | None = None) -> Expression:
        """Whether the text is JSON, of a certain kind if one is given."""
        return self._call("IS_JSON", json_type)

    def json_exists(self, path: str, on_error: JsonExistsOnError | None = None) -> Expression:
        """Whether there is something at a path."""
        return self._call("JSON_EXISTS", path, on_error)

    def json_value(
        self,
        path: str,
        returning_type: DataType = _STRING,
        on_empty: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_empty: Any = None,
        on_error: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_error: Any = None,
    ) -> Expression:
        """The scalar at a path."""
        parts = (path, TypeNode(returning_type), on_empty, _or_null(default_on_empty))
        return self._call("JSON_VALUE", *parts, on_error, _or_null(default_on_error))

    def json_query(
        self,
        path: str,
        wrapping_behavior: JsonQueryWrapper = JsonQueryWrapper.WITHOUT_ARRAY,
        on_empty: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
        on_error: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
    ) -> Expression:
        """The JSON at a path, as text."""
        return self._call("JSON_QUERY", path, TypeNode(_STRING), wrapping_behavior, on_empty, on_error)

    def json_quote(self) -> Expression:
        """The text as a JSON string."""
        return self._call("JSON_QUOTE")

    def json_unquote(self) -> Expression:
        """The text that a JSON string stands for."""
        return self._call("JSON_UNQUOTE")


def _or_null(value: Any) -> Node:
    return Value(None, DataTypes.NULL()) if value is None else node_of(value)
