"""Conditions that all branches of an OR have in common stand before it, where they can move.

>>> from penstock.sql.plan.examples import bound, shown
>>> plan = bound("SELECT s FROM a WHERE (x = 1 AND y = 2) OR (x = 1 AND y = 3)")
>>> print(shown(plan))
Calc(select=[s])
   Filter(where=[(x = 1 AND y = 2) OR (x = 1 AND y = 3)])
      a
>>> print(shown(factor_or(plan)))
Calc(select=[s])
   Filter(where=[x = 1 AND (y = 2 OR y = 3)])
      a

So `(a.k = b.k AND p) OR (a.k = b.k AND q)` is a join with a key.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.common.datatypes import DataTypes
from penstock.sql.plan.algebra import Filter, Join, Plan, transform_plan
from penstock.sql.plan.rex import Call, Rex, conjuncts
from penstock.sql.plan.rex_facts import all_of, disjuncts, is_movable


def factor_or(plan: Plan) -> Plan:
    return transform_plan(plan, _node)


def _node(plan: Plan) -> Plan:
    if not isinstance(plan, (Filter, Join)) or plan.condition is None:
        return plan
    given = conjuncts(plan.condition)
    made = [part for rex in given for part in _factored(rex)]
    if made == given:
        return plan
    changed: Any = replace(plan, condition=all_of(made))
    return changed if made else plan


def _factored(rex: Rex) -> list[Rex]:
    """The condition as conjuncts; what is the same in all branches first, which changes no row's answer."""
    branches = [conjuncts(part) for part in disjuncts(rex)]
    if len(branches) < 2:
        return [rex]
    common = [part for part in branches[0] if is_movable(part) and all(part in b for b in branches[1:])]
    if not common:
        return [rex]
    rests = [[part for part in branch if part not in common] for branch in branches]
    if not all(rests):  # a branch says no more than what all say
        return common
    return [*common, Call(DataTypes.BOOLEAN(), "OR", tuple(all_of(rest) for rest in rests))]
