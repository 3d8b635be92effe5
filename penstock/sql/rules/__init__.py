"""Rewrites of plans before they run: functions from plan to plan, applied in this order.

Catalyst optimizes what it gets; rules here only exist where Flink's meaning differs from the SQL text that
Spark would be given, or where Spark refuses a form.

1. `lateral_aggregate`: first, because it looks for the shape the binder makes.
2. `subquery_values`: last, because it makes new subqueries.
"""

from __future__ import annotations

from penstock.sql.algebra import Plan
from penstock.sql.rules.lateral_aggregate import lateral_aggregate
from penstock.sql.rules.subquery_values import subquery_values

RULES = (lateral_aggregate, subquery_values)


def optimize(plan: Plan) -> Plan:
    """Applies all rules."""
    for rule in RULES:
        plan = rule(plan)
    return plan
