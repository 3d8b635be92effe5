"""One job for several INSERTs: what they have in common is planned, and computed, once.

    EXECUTE STATEMENT SET BEGIN
      INSERT INTO a SELECT … FROM (SELECT k, COUNT(*) … GROUP BY k) …
      INSERT INTO b SELECT … FROM (SELECT k, COUNT(*) … GROUP BY k) …
    END

`shared` makes equal sub-trees of the plans the same object. The planner plans an object once, so both inserts read
the same node; the runner keeps the output of a node with several readers for the length of the epoch. Sub-trees
that give something else each time they are asked, such as RAND(), stay apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.sql.plan.algebra import MatchRecognize, Plan, Scan, transform_plan
from penstock.sql.plan.plan_rexes import rexes, unstable_call
from penstock.sql.plan.rex import walk


def shared(plans: Sequence[Plan]) -> list[Plan]:
    """The plans, with every sub-tree that occurs more than once being one object."""
    pool: dict[str, list[Plan]] = {}

    def one(plan: Plan) -> Plan:
        if not isinstance(plan, Scan) and not _is_repeatable(plan):
            return plan
        known = pool.setdefault(plan.describe(), [])
        for other in known:
            if type(other) is type(plan) and other == plan:
                return other
        known.append(plan)
        return plan

    return [transform_plan(plan, one) for plan in plans]


def _is_repeatable(plan: Plan) -> bool:
    if isinstance(plan, MatchRecognize):  # its clause takes no part in comparisons
        return False
    return all(unstable_call(part) is None for rex in rexes(plan) for part in walk(rex))
