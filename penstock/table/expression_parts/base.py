"""How expressions are put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from penstock.common.errors import ValidationError
from penstock.table.expression_parts.constants import literal
from penstock.table.expression_parts.nodes import Apply, Name, Node, Symbol

if TYPE_CHECKING:
    from penstock.table.expression import Expression


def make(node: Node) -> Expression:
    """The expression of a tree."""
    from penstock.table.expression import Expression

    return Expression(node)


def node_of(value: Any) -> Node:
    """The tree of an argument: an expression, a constant, a word of an enumeration, or a user's function call."""
    import enum

    if isinstance(value, Operand):
        return value._node
    if isinstance(value, Node):
        return value
    if isinstance(value, enum.Enum):
        return Symbol(value.name)
    if hasattr(value, "plan") and hasattr(value, "get_resolved_schema"):
        raise ValidationError(
            "a table cannot stand for a value", do="use it in in_(table), or join it and name a column"
        )
    if callable(value):
        raise ValidationError(
            f"'{getattr(value, '__name__', type(value).__name__)}' is a function, not a value",
            do="call it: f(col('a'))",
        )
    return literal(value)


class Operand:
    """What all expressions can do: they have a tree, and are combined by operators into larger ones."""

    def __init__(self, node: Any) -> None:
        self._node: Node = Name(node) if isinstance(node, str) else node

    def __str__(self) -> str:
        return str(self._node)

    def __repr__(self) -> str:
        return f"Expression({self._node})"

    def __bool__(self) -> bool:
        raise ValidationError(
            f"the expression {self} has no truth value in Python: it is computed for each row",
            do="combine conditions with & | ~ (each in parentheses) instead of and, or, not",
        )

    def _call(self, function: str, *args: Any) -> Expression:
        """A call of a built-in function with this as its first argument; arguments that are None were left out."""
        given = [a for a in args if a is not None]
        return make(Apply(function, (self._node, *(node_of(a) for a in given))))

    def _reversed(self, function: str, other: Any) -> Expression:
        return make(Apply(function, (node_of(other), self._node)))

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return self._call("equals", _value(other))

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return self._call("notEquals", _value(other))

    def __lt__(self, other: Any) -> Expression:
        return self._call("lessThan", _value(other))

    def __gt__(self, other: Any) -> Expression:
        return self._call("greaterThan", _value(other))

    def __le__(self, other: Any) -> Expression:
        return self._call("lessThanOrEqual", _value(other))

    def __ge__(self, other: Any) -> Expression:
        return self._call("greaterThanOrEqual", _value(other))

    def __and__(self, other: Any) -> Expression:
        return self._call("and", _value(other))

    def __or__(self, other: Any) -> Expression:
        return self._call("or", _value(other))

    def __invert__(self) -> Expression:
        return self._call("isNotTrue")

    def __rand__(self, other: Any) -> Expression:
        return self._call("and", _value(other))

    def __ror__(self, other: Any) -> Expression:
        return self._call("or", _value(other))

    def __add__(self, other: Any) -> Expression:
        return self._call("plus", _value(other))

    def __sub__(self, other: Any) -> Expression:
        return self._call("minus", _value(other))

    def __mul__(self, other: Any) -> Expression:
        return self._call("times", _value(other))

    def __truediv__(self, other: Any) -> Expression:
        return self._call("divide", _value(other))

    def __mod__(self, other: Any) -> Expression:
        return self._call("mod", _value(other))

    def __pow__(self, other: Any) -> Expression:
        return self._call("power", _value(other))

    def __neg__(self) -> Expression:
        return self._call("minusPrefix")

    def __abs__(self) -> Expression:
        return self._call("abs")

    def __radd__(self, other: Any) -> Expression:
        return self._reversed("plus", other)

    def __rsub__(self, other: Any) -> Expression:
        return self._reversed("minus", other)

    def __rmul__(self, other: Any) -> Expression:
        return self._call("times", other)

    def __rtruediv__(self, other: Any) -> Expression:
        return self._reversed("divide", other)

    def __rmod__(self, other: Any) -> Expression:
        return self._reversed("mod", other)

    def __rpow__(self, other: Any) -> Expression:
        return self._reversed("power", other)

    def __getattr__(self, name: str) -> Expression:
        """A field of a row: `col("address").city`."""
        if name.startswith("_") and not name[1:].isdigit():
            raise AttributeError(name)
        return self._call("get", name)

    def __getitem__(self, index: Any) -> Expression:
        """An element of an array (from 1) or the value of a map's key."""
        return self._call("at", index)

    def __iter__(self) -> Any:
        raise ValidationError(f"the expression {self} is not a list", do="use flatten or at(index)")


def _value(other: object) -> object:
    if other is None:
        raise ValidationError(
            "None cannot be compared or computed with", do="use is_null, is_not_null or null_of(type)"
        )
    return cast(object, other)
