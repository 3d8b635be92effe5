"""Table aggregate functions as aggregate functions that give a list.

`flat_aggregate(f(v))` is `aggregate` with a function whose value is the list of rows that `f` emits, which is then
spread out. So both modes, retraction and windows work as for any aggregate function.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.common.datatypes import ArrayType, DataTypes, RowType
from penstock.common.types import Row
from penstock.sql.aggregate_calls import defines
from penstock.sql.user_functions import UserFunction


def as_list_aggregate(function: UserFunction) -> UserFunction:
    """The function with ARRAY<ROW<…>> as its result."""
    row = function.result
    if not isinstance(row, RowType):
        row = DataTypes.ROW([DataTypes.FIELD("f0", row)])
    return replace(
        function, function=ListOfRows(function.function), kind="aggregate", result=ArrayType(row.not_null())
    )


class ListOfRows:
    """Hands everything to a table aggregate function; its value is the list of rows that are emitted."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self.shown_name = type(function).__name__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListOfRows) and other._function is self._function

    def __hash__(self) -> int:
        return hash(id(self._function))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_function":
            raise AttributeError(name)
        return getattr(self._function, name)

    def defines(self, method: str) -> bool:
        """Whether the table aggregate function has the method."""
        return defines(self._function, method)

    def get_value(self, accumulator: Any) -> list[tuple[Any, ...]]:
        """All rows that the function gives for an accumulator."""
        return [_row(value) for value in self._function.emit_value(accumulator)]


def rows_of_list(rows: list[Any]) -> list[Any]:
    """A table function: the rows of a list."""
    return rows


def _row(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (Row, tuple, list)) else (value,)
