"""Rewrites of plans before they run: functions from plan to plan, applied in this order.

Catalyst optimizes what it gets; rules here only exist where Flink's meaning differs from the SQL text that
Spark would be given, where Spark refuses a form, or where a connector of ours can do with less.

1. `lateral_aggregate`: first, because it looks for the shape the binder makes.
2. `subquery_values`: after it, because it makes new subqueries.
3. `scan_filters`: last, it only tells scans what the filters above them say. Streaming queries use it, too.
"""

from __future__ import annotations

from penstock.sql.plan.algebra import Plan
from penstock.sql.plan.rules.lateral_aggregate import lateral_aggregate
from penstock.sql.plan.rules.scan_filters import scan_filters
from penstock.sql.plan.rules.subquery_values import subquery_values

RULES = (lateral_aggregate, subquery_values, scan_filters)


def optimize(plan: Plan) -> Plan:
    """Applies all rules."""
    for rule in RULES:
        plan = rule(plan)
    return plan
