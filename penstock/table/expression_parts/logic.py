"""Conditions, NULL, types and names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.common.datatypes import DataType, DataTypes
from penstock.common.errors import ValidationError
from penstock.table.expression_parts.base import Operand, literal, make, node_of
from penstock.table.expression_parts.nodes import Apply, Node, TableNode, TypeNode, Value

if TYPE_CHECKING:
    from penstock.table.expression import Expression


class Logic(Operand):
    """Conditions, and what every value has: a name, a type, a place in an order."""

    def between(self, lower_bound: Any, upper_bound: Any) -> Expression:
        """Whether the value is between two others, both included."""
        return self._call("between", lower_bound, upper_bound)

    def not_between(self, lower_bound: Any, upper_bound: Any) -> Expression:
        """Whether it is not."""
        return self._call("notBetween", lower_bound, upper_bound)

    def then(self, if_true: Any, if_false: Any) -> Expression:
        """One value where this condition is true, another where it is not."""
        return self._call("ifThenElse", _given(if_true), _given(if_false))

    def if_null(self, null_replacement: Any) -> Expression:
        """The value, or another one where it is NULL."""
        return self._call("IFNULL", null_replacement)

    @property
    def is_null(self) -> Expression:
        """Whether the value is NULL."""
        return self._call("isNull")

    @property
    def is_not_null(self) -> Expression:
        """Whether the value is not NULL."""
        return self._call("isNotNull")

    @property
    def is_true(self) -> Expression:
        """Whether the condition is true, not false and not NULL."""
        return self._call("isTrue")

    @property
    def is_false(self) -> Expression:
        """Whether the condition is false."""
        return self._call("isFalse")

    @property
    def is_not_true(self) -> Expression:
        """Whether the condition is false or NULL."""
        return self._call("isNotTrue")

    @property
    def is_not_false(self) -> Expression:
        """Whether the condition is true or NULL."""
        return self._call("isNotFalse")

    def alias(self, name: str, *extra_names: str) -> Expression:
        """The value under a name; a table function or aggregate that gives several columns takes several."""
        return make(Apply("as", (self._node, *(literal(n) for n in (name, *extra_names)))))

    def as_argument(self, name: str) -> Expression:
        """The value as the named argument of a function."""
        return self._reversed("ASSIGNMENT", name)

    def cast(self, data_type: DataType) -> Expression:
        """The value as another type; what does not convert fails the query."""
        return self._call("cast", TypeNode(data_type))

    def try_cast(self, data_type: DataType) -> Expression:
        """The value as another type; what does not convert is NULL."""
        return self._call("TRY_CAST", TypeNode(data_type))

    @property
    def asc(self) -> Expression:
        """In `order_by`: from small to large."""
        return self._call("asc")

    @property
    def desc(self) -> Expression:
        """In `order_by`: from large to small."""
        return self._call("desc")

    def in_(self, first_element_or_table: Any, *remaining_elements: Any) -> Expression:
        """Whether the value is one of these, or one of a table's only column."""
        return make(Apply("in", (self._node, *_elements(first_element_or_table, remaining_elements))))

    @property
    def rowtime(self) -> Expression:
        """In `from_data_stream`: the timestamp of the elements as row time; of a window: its row time."""
        return self._call("rowtime")

    @property
    def proctime(self) -> Expression:
        """In `from_data_stream`: processing time; of a window: its processing time."""
        return self._call("proctime")

    @property
    def start(self) -> Expression:
        """Where a window begins."""
        return self._call("start")

    @property
    def end(self) -> Expression:
        """Where a window ends."""
        return self._call("end")

    def over(self, alias: Any) -> Expression:
        """This aggregate over the rows of an `over_window`."""
        return self._call("over", alias)


def _given(value: Any) -> Node:
    """None is a value here, one without a type."""
    return Value(None, DataTypes.NULL()) if value is None else node_of(value)


def _elements(first: Any, rest: tuple[Any, ...]) -> tuple[Node, ...]:
    from penstock.table.table import Table

    if not isinstance(first, Table):
        return tuple(node_of(e) for e in (first, *rest))
    if rest:
        raise ValidationError("in_ takes one table or values, not both")
    return (TableNode(first),)
