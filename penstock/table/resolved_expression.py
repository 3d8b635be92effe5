"""Expressions whose names and types are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.catalog import resolved_schema
from penstock.common.datatypes import DataType
from penstock.table.expression import Expression
from penstock.table.expression_parts.nodes import SqlText

__all__ = ["ResolvedExpression"]


class ResolvedExpression(Expression[Any]):
    """An expression with the type of its value; `Column.computed` and `WatermarkSpec.of` take one.

    Args:
        expression: What it is.
        data_type: What it gives.
        children: Its arguments, resolved.
        sql: How SQL writes it.
    """

    def __init__(
        self,
        expression: Expression[Any],
        data_type: DataType,
        children: Sequence[ResolvedExpression] = (),
        sql: str = "",
    ) -> None:
        super().__init__(expression._node)
        self._data_type = data_type
        self._children = tuple(children)
        self._sql = sql

    def get_output_data_type(self) -> DataType:
        """The type of its value."""
        return self._data_type

    def get_resolved_children(self) -> list[ResolvedExpression]:
        """The expressions it is made of; empty for columns and literals."""
        return list(self._children)

    def as_serializable_string(self) -> str:
        """SQL text that means the same."""
        return self._sql

    def as_summary_string(self) -> str:
        """The expression as text, for people."""
        return str(self)


def _of_text(text: str, data_type: DataType) -> ResolvedExpression:
    return ResolvedExpression(Expression(SqlText(text)), data_type, sql=text)


resolved_schema.resolved_by_text = _of_text
