"""What is known when the query is planned is not computed for every row.

>>> from penstock.sql.plan.examples import bound, shown
>>> plan = bound("SELECT s FROM a WHERE x > 2 * 3 + 1 AND 1 = 1 AND (y = 5 OR 1 > 2)")
>>> print(shown(plan))
Calc(select=[s])
   Filter(where=[x > ((2 * 3) + 1) AND 1 = 1 AND (y = 5 OR 1 > 2)])
      a
>>> print(shown(fold_constants(plan)))
Calc(select=[s])
   Filter(where=[x > 7 AND y = 5])
      a

Only what is exact: logic, comparisons and sums of whole numbers within the range of their type, and widening casts.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from penstock.common.datatypes import BigIntType, DataType, DataTypes, IntType, SmallIntType, TinyIntType
from penstock.sql.plan.algebra import Filter, Join, Plan, Values, transform_plan
from penstock.sql.plan.plan_rexes import map_rexes
from penstock.sql.plan.rex import AggCall, Call, Const, OverCall, Rex, SubqueryRex, conjuncts
from penstock.sql.plan.rex_facts import all_of, disjuncts

_WIDTHS: dict[type[DataType], int] = {TinyIntType: 8, SmallIntType: 16, IntType: 32, BigIntType: 64}
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def fold_constants(plan: Plan) -> Plan:
    return transform_plan(plan, _node)


def _node(plan: Plan) -> Plan:
    if isinstance(plan, Values):
        return plan
    plan = map_rexes(plan, _folded)
    if isinstance(plan, (Filter, Join)) and plan.condition is not None:
        return _condition(plan)
    return plan


def _condition(plan: Filter | Join) -> Plan:
    """A condition is only asked whether it is TRUE: what always is goes."""
    assert plan.condition is not None
    given = conjuncts(plan.condition)
    kept = [rex for rex in given if not _is(rex, True)]
    if len(kept) == len(given):
        return plan
    if kept:
        return replace(plan, condition=all_of(kept))
    return plan.input if isinstance(plan, Filter) else replace(plan, condition=None)


def _is(rex: Rex, value: bool) -> bool:
    return isinstance(rex, Const) and rex.value is value


def _folded(rex: Rex) -> Rex:
    if isinstance(rex, (AggCall, OverCall)):  # their constants say how they work
        return rex
    children = rex.children()
    if children and not isinstance(rex, SubqueryRex):
        made = tuple(_folded(child) for child in children)
        if any(a is not b for a, b in zip(made, children, strict=True)):
            rex = rex.with_children(made)
    return _call(rex) if isinstance(rex, Call) else rex


def _call(rex: Call) -> Rex:
    if rex.name in ("AND", "OR"):
        return _logic(rex)
    if rex.name == "NOT" and isinstance(rex.args[0], Const) and rex.args[0].value is not None:
        return Const(rex.type, not rex.args[0].value)
    if rex.name == "CAST" and isinstance(rex.args[0], Const):
        return _cast(rex, rex.args[0])
    if len(rex.args) != 2 or not all(_is_whole(arg) for arg in rex.args):
        return rex
    first, second = (arg.value for arg in rex.args if isinstance(arg, Const))
    if rex.name in _COMPARE:
        return Const(rex.type, _COMPARE[rex.name](first, second))
    if rex.name in _ARITHMETIC:
        found = _ARITHMETIC[rex.name](first, second)
        return Const(rex.type, found) if _fits(found, rex.type) else rex
    return rex


def _logic(rex: Call) -> Rex:
    """FALSE decides an AND, TRUE an OR; the other one says nothing."""
    decides = rex.name == "OR"
    given = disjuncts(rex) if decides else conjuncts(rex)
    if any(_is(part, decides) for part in given):
        return Const(rex.type, decides)
    kept = [part for part in given if not _is(part, not decides)]
    if len(kept) == len(given):
        return rex
    if not kept:
        return Const(rex.type, not decides)
    return kept[0] if len(kept) == 1 else Call(DataTypes.BOOLEAN(), rex.name, tuple(kept))


def _is_whole(rex: Rex) -> bool:
    return isinstance(rex, Const) and type(rex.type) in _WIDTHS and type(rex.value) is int


def _fits(value: int, data_type: DataType) -> bool:
    bits = _WIDTHS.get(type(data_type))
    return bits is not None and -(1 << bits - 1) <= value < 1 << bits - 1


def _cast(rex: Call, const: Const) -> Rex:
    if _is_whole(const) and _fits(const.value, rex.type):
        return Const(rex.type, const.value)
    return rex
