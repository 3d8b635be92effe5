"""Applies the rules of `rules/` to the queries of a job.

>>> from penstock.sql.plan.examples import bound, shown
>>> made = optimize([bound("SELECT a.y FROM a, b WHERE a.x = b.x AND b.y = 2 - 1")], "streaming")
>>> print(shown(made.plans[0]))
Calc(select=[y])
   Join(joinType=[inner], where=[x = x])
      Calc(select=[x, y])
         a
      Calc(select=[x])
         Filter(where=[y = 1])
            b
>>> made.fired
('fold_constants', 'push_filters', 'merge_projects', 'prune_columns')
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from penstock.sql.plan.algebra import Plan, transform_plan
from penstock.sql.plan.plan_rexes import contains_subquery, map_rexes, rexes
from penstock.sql.plan.rex import Rex, SubqueryRex, transform
from penstock.sql.plan.rules import RULES, Mode, Rule

MOST_ROUNDS = 10
"""A plan that still changes after so many rounds is taken as it is: every round keeps its meaning."""


@dataclass(frozen=True)
class Optimized:
    """Rewritten plans, and the names of the rules that changed something, in the order of `RULES`."""

    plans: list[Plan]
    fired: tuple[str, ...]


def optimize(plans: Sequence[Plan], mode: Mode, without: Collection[str] = ()) -> Optimized:
    """Applies the rules of a mode, except those named in `without`."""
    chosen = [rule for rule in RULES if mode in rule.modes and rule.name not in without]
    made = list(plans)
    fired: set[str] = set()
    for repeats, rules in groupby(chosen, key=lambda rule: rule.repeats):
        made = _rounds(list(rules), made, fired, MOST_ROUNDS if repeats else 1)
    return Optimized(made, tuple(rule.name for rule in RULES if rule.name in fired))


def _rounds(rules: Sequence[Rule], plans: list[Plan], fired: set[str], most: int) -> list[Plan]:
    for _ in range(most):
        before = plans
        for rule in rules:
            made = _applied(rule, plans)
            if any(a is not b for a, b in zip(made, plans, strict=True)):
                if (
                    made != plans or rule.name == "share_plans"
                ):  # which changes no value, only what is one object
                    fired.add(rule.name)
                plans = made
        if plans == before:
            break
    return plans


def _applied(rule: Rule, plans: Sequence[Plan]) -> list[Plan]:
    if rule.nested and any(_has_queries(plan) for plan in plans):
        plans = [transform_plan(plan, lambda node: _inside(rule, node)) for plan in plans]
    return rule.apply(plans)


def _has_queries(plan: Plan) -> bool:
    if any(contains_subquery(rex) for rex in rexes(plan)):
        return True
    return any(_has_queries(child) for child in plan.inputs)


def _inside(rule: Rule, plan: Plan) -> Plan:
    """The node with the queries in its expressions rewritten."""
    if not any(contains_subquery(rex) for rex in rexes(plan)):
        return plan

    def change(part: Rex) -> Rex | None:
        if not isinstance(part, SubqueryRex):
            return None
        [query] = _applied(rule, [part.plan])
        left = tuple(transform(rex, change) for rex in part.left)
        return part if query is part.plan and left == part.left else replace(part, plan=query, left=left)

    return map_rexes(plan, lambda rex: transform(rex, change))
