"""Conditions as text, in a small part of Python's expressions.

    amount > 500 and currency == 'EUR'           names are fields of the event
    amount > 3 * avg(small.amount)               aggregates over what a step has taken so far
    count(small) < 5, last(small.card) == card   count, sum, avg, min, max, first, last

Text is parsed, checked against a list of what is known, and compiled to closures; nothing is ever evaluated by Python
itself, so a rule cannot do more than look at events. A field that is missing is None, and a comparison with None is
false, as is one with an aggregate over no events (but sum and count are 0).
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any

from penstock.cep.pattern.conditions import IterativeCondition, as_condition
from penstock.common.errors import MalformedPatternError

_Evaluate = Callable[[Any, Any], Any]
"""(event, context) -> value."""

_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}
_COMPARISONS: dict[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}


def _average(values: Sequence[Any]) -> Any:
    return sum(values) / len(values) if values else None


_AGGREGATES: dict[str, Callable[[Sequence[Any]], Any]] = {
    "count": len,
    "sum": sum,
    "avg": _average,
    "min": lambda values: min(values, default=None),
    "max": lambda values: max(values, default=None),
    "first": lambda values: values[0] if values else None,
    "last": lambda values: values[-1] if values else None,
}


def condition_of(text: str, steps: Sequence[str]) -> IterativeCondition:
    """A condition of a rule with these steps.

    >>> from penstock.cep.pattern.conditions import SimpleCondition
    >>> condition = condition_of("amount > 3 and kind in ['a', 'b']", [])
    >>> isinstance(condition, SimpleCondition), condition.filter({"amount": 4, "kind": "a"})
    (True, True)
    """
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise MalformedPatternError(f"the condition {text!r} cannot be read: {error.msg}") from None
    compiler = _Compiler(text, steps)
    evaluate = compiler.compile(tree)
    if compiler.uses_steps:
        return as_condition(lambda event, ctx: evaluate(event, ctx) is True)
    return as_condition(lambda event: evaluate(event, None) is True)


def field_of(event: Any, name: str) -> Any:
    """A field of a dict, a row or an object; None if it has none."""
    if isinstance(event, dict):
        return event.get(name)
    return getattr(event, name, None)


class _Compiler:
    def __init__(self, text: str, steps: Sequence[str]) -> None:
        self._text = text
        self._steps = set(steps)
        self.uses_steps = False

    def compile(self, node: ast.expr) -> _Evaluate:
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise self._refusal(f"{type(node).__name__} is not known")
        compiled: _Evaluate = method(node)
        return compiled

    def _constant(self, node: ast.Constant) -> _Evaluate:
        value = node.value
        return lambda event, ctx: value

    def _list(self, node: ast.List) -> _Evaluate:
        parts = [self.compile(part) for part in node.elts]
        return lambda event, ctx: [part(event, ctx) for part in parts]

    _tuple = _list

    def _name(self, node: ast.Name) -> _Evaluate:
        name = node.id
        if name in self._steps:
            raise self._refusal(f"'{name}' is a step: say which of its events, such as last({name}.field)")
        return lambda event, ctx: field_of(event, name)

    def _boolop(self, node: ast.BoolOp) -> _Evaluate:
        parts = [self.compile(part) for part in node.values]
        joined = all if isinstance(node.op, ast.And) else any
        return lambda event, ctx: joined(part(event, ctx) is True for part in parts)

    def _unaryop(self, node: ast.UnaryOp) -> _Evaluate:
        part = self.compile(node.operand)
        if isinstance(node.op, ast.Not):
            return lambda event, ctx: part(event, ctx) is not True
        if isinstance(node.op, ast.USub):
            return lambda event, ctx: None if (value := part(event, ctx)) is None else -value
        raise self._refusal("this operator is not known")

    def _binop(self, node: ast.BinOp) -> _Evaluate:
        apply = _OPERATORS.get(type(node.op))
        if apply is None:
            raise self._refusal("this operator is not known")
        left, right = self.compile(node.left), self.compile(node.right)

        def evaluate(event: Any, ctx: Any) -> Any:
            a, b = left(event, ctx), right(event, ctx)
            return None if a is None or b is None else apply(a, b)

        return evaluate

    def _compare(self, node: ast.Compare) -> _Evaluate:
        if any(type(op) not in _COMPARISONS for op in node.ops):
            raise self._refusal("this comparison is not known")
        parts = [self.compile(part) for part in (node.left, *node.comparators)]
        operators = [_COMPARISONS[type(op)] for op in node.ops]

        def evaluate(event: Any, ctx: Any) -> bool:
            values = [part(event, ctx) for part in parts]
            if None in values:
                return False
            return all(op(a, b) for op, a, b in zip(operators, values, values[1:], strict=False))

        return evaluate

    def _call(self, node: ast.Call) -> _Evaluate:
        function = node.func.id if isinstance(node.func, ast.Name) else ""
        aggregate = _AGGREGATES.get(function)
        if aggregate is None or len(node.args) != 1 or node.keywords:
            raise self._refusal(f"functions are {', '.join(_AGGREGATES)}, of one argument")
        step, field = self._step_field(node.args[0], function)
        self.uses_steps = True

        def evaluate(event: Any, ctx: Any) -> Any:
            events = ctx.get_events_for_pattern(step)
            if field is None:
                return aggregate(list(events))
            return aggregate([value for e in events if (value := field_of(e, field)) is not None])

        return evaluate

    def _step_field(self, node: ast.expr, function: str) -> tuple[str, str | None]:
        if isinstance(node, ast.Name) and function == "count":
            step, field = node.id, None
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            step, field = node.value.id, node.attr
        else:
            raise self._refusal(f"{function} takes step.field")
        if step not in self._steps:
            raise self._refusal(f"there is no step '{step}'")
        return step, field

    def _refusal(self, what: str) -> MalformedPatternError:
        return MalformedPatternError(f"the condition {self._text!r} cannot be used: {what}")
