"""What occurs several times in the queries of a job is computed once.

>>> from penstock.sql.plan.examples import bound
>>> twice = bound("SELECT * FROM (SELECT x FROM a WHERE y > 1) l JOIN (SELECT x FROM a WHERE y > 1) r ON l.x = r.x")
>>> twice.input.left is twice.input.right
False
>>> [one] = share_plans([twice])
>>> one.input.left is one.input.right
True

Equal sub-trees, within a query and across the INSERTs of a statement set, become the same object. The planner plans
an object once, so all of them read the same node; the runner keeps the output of a node with several readers for the
length of the epoch. Sub-trees that give something else each time they are asked, such as RAND(), stay apart, and so
does what is computed from them.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.sql.plan.algebra import MatchRecognize, Plan, Scan, transform_plan
from penstock.sql.plan.plan_rexes import rexes, unstable_call
from penstock.sql.plan.rex import walk


def share_plans(plans: Sequence[Plan], *, sources: bool = True) -> list[Plan]:
    """The plans, with every sub-tree that occurs more than once being one object; scans too if `sources`."""
    pool: dict[str, list[Plan]] = {}

    def one(plan: Plan) -> Plan:
        if isinstance(plan, Scan) and not sources:
            return plan
        if not isinstance(plan, Scan) and not _is_repeatable(plan):
            return plan
        known = pool.setdefault(plan.describe(), [])
        for other in known:
            if _is_same(other, plan):
                return other
        known.append(plan)
        return plan

    return [transform_plan(plan, one) for plan in plans]


def _is_same(one: Plan, other: Plan) -> bool:
    """Whether both compute the same from the same inputs; these have been made one before."""
    if type(one) is not type(other) or len(one.inputs) != len(other.inputs):
        return False
    return all(a is b for a, b in zip(one.inputs, other.inputs, strict=True)) and one == other


def _is_repeatable(plan: Plan) -> bool:
    if isinstance(plan, MatchRecognize):  # its clause takes no part in comparisons
        return False
    return all(unstable_call(part) is None for rex in rexes(plan) for part in walk(rex))
