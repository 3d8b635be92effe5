"""DISTINCT over one side of a join only asks whether there is a match: a semi join, which counts no pairs.

>>> from penstock.sql.plan.examples import bound, shown
>>> plan = bound("SELECT DISTINCT a.y FROM a JOIN b ON a.x = b.x")
>>> print(shown(plan))
Aggregate(groupBy=[y], select=[])
   Calc(select=[y])
      Join(joinType=[inner], where=[x = x])
         a
         b
>>> print(shown(distinct_semi_join(plan)))
Aggregate(groupBy=[y], select=[])
   Calc(select=[y])
      Join(joinType=[semi], where=[x = x])
         a
         b

Only for joins by equality of columns. A join by time or by windows answers earlier and forgets, so it stays.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.sql.plan.algebra import Aggregate, Join, Plan, Project, transform_plan
from penstock.sql.plan.plan_rexes import contains_subquery
from penstock.sql.plan.rex_facts import all_columns, condition_parts, equal_columns


def distinct_semi_join(plan: Plan) -> Plan:
    return transform_plan(plan, _node)


def _node(plan: Plan) -> Plan:
    if not isinstance(plan, Aggregate) or plan.calls or plan.grouping_sets is not None or not plan.keys:
        return plan
    below = plan.input
    exprs = plan.keys
    project = below if isinstance(below, Project) else None
    if project is not None:
        below, exprs = project.input, project.exprs
    if (
        not isinstance(below, Join)
        or not _is_plain_equality(below)
        or any(contains_subquery(e) for e in exprs)
    ):
        return plan
    width = len(below.left.fields)
    if not all(column < width for column in all_columns(exprs)):
        return plan
    semi = replace(below, kind="semi", fields=below.fields[:width])
    return replace(plan, input=semi if project is None else replace(project, input=semi))


def _is_plain_equality(join: Join) -> bool:
    if join.kind != "inner" or join.hints or join.ttl_ms != (None, None):
        return False
    pairs = [equal_columns(rex) for rex in condition_parts(join.condition)]
    timed = any(f.time or f.name.startswith("window_") for f in join.fields)
    return bool(pairs) and None not in pairs and not timed
