"""Rewrites of plans before they run, in this order; `sql/plan/optimizer.py` applies them.

Each rule is a function from plan to plan, in a file of its name that shows a plan before and after. Catalyst
optimizes what it gets, so batch queries only go through the rules where Flink's meaning differs from the SQL text
that Spark would be given, where Spark refuses a form, or where a connector of ours can do with less. Streaming
queries go through all that moves and removes work.

1. `lateral_aggregate`: first, because it looks for the shape the binder makes.
2. `subquery_values`: after it, because it makes new subqueries.
3. `fold_constants`, `factor_or`: what is left of conditions are comparisons that later rules know.
4. `outer_to_inner`: before conditions move, because it looks at those above a join.
5. `push_filters`: conditions to joins and below them.
6. `order_joins`: needs the conditions at their joins; what it derives is pushed in the next round.
7. `merge_projects`, `redundant_distinct`, `distinct_semi_join`: shapes that the moves have brought together.
   3 to 7 are repeated until nothing changes.
8. `scan_filters`: only tells scans what the filters above them say. A streaming job reads a table once, so its
   readers have to agree; Spark reads it for each of them.
9. `share_plans`: after all that makes sub-trees differ or equal.
10. `prune_columns`: last, because it gives a shared node what all its readers need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from penstock.sql.plan.algebra import Plan
from penstock.sql.plan.rules.distinct_semi_join import distinct_semi_join
from penstock.sql.plan.rules.factor_or import factor_or
from penstock.sql.plan.rules.fold_constants import fold_constants
from penstock.sql.plan.rules.lateral_aggregate import lateral_aggregate
from penstock.sql.plan.rules.merge_projects import merge_projects
from penstock.sql.plan.rules.order_joins import order_joins
from penstock.sql.plan.rules.outer_to_inner import outer_to_inner
from penstock.sql.plan.rules.prune_columns import prune_columns
from penstock.sql.plan.rules.push_filters import push_filters
from penstock.sql.plan.rules.redundant_distinct import redundant_distinct
from penstock.sql.plan.rules.scan_filters import agreed_scan_filters, scan_filters
from penstock.sql.plan.rules.share_plans import share_plans
from penstock.sql.plan.rules.subquery_values import subquery_values

Mode = Literal["batch", "streaming"]
BATCH: tuple[Mode, ...] = ("batch",)
STREAMING: tuple[Mode, ...] = ("streaming",)


@dataclass(frozen=True)
class Rule:
    """A rewrite of the queries of one job.

    Attributes:
        repeats: Whether it is applied, with its neighbours that repeat, until nothing changes.
        nested: Whether queries inside expressions are rewritten, too.
    """

    name: str
    apply: Callable[[Sequence[Plan]], list[Plan]]
    modes: tuple[Mode, ...]
    repeats: bool = False
    nested: bool = False


def _each(
    rule: Callable[[Plan], Plan], modes: tuple[Mode, ...], *, repeats: bool = False, nested: bool = False
) -> Rule:
    """A rule that looks at one query at a time."""
    return Rule(rule.__name__, lambda plans: [rule(plan) for plan in plans], modes, repeats, nested)


RULES = (
    _each(lateral_aggregate, BATCH),
    _each(subquery_values, BATCH),
    _each(fold_constants, STREAMING, repeats=True, nested=True),
    _each(factor_or, STREAMING, repeats=True, nested=True),
    _each(outer_to_inner, STREAMING, repeats=True, nested=True),
    _each(push_filters, STREAMING, repeats=True, nested=True),
    _each(order_joins, STREAMING, repeats=True, nested=True),
    _each(merge_projects, STREAMING, repeats=True, nested=True),
    _each(redundant_distinct, STREAMING, repeats=True, nested=True),
    _each(distinct_semi_join, STREAMING, repeats=True, nested=True),
    _each(scan_filters, BATCH),
    Rule("scan_filters", agreed_scan_filters, STREAMING),
    Rule("share_plans", share_plans, STREAMING),
    Rule("prune_columns", prune_columns, STREAMING, nested=True),
)
