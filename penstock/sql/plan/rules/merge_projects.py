"""Projections over projections become one, and those that change nothing go.

>>> from penstock.sql.plan.examples import bound, shown
>>> plan = bound("SELECT p + 1 AS q FROM (SELECT x * 2 AS p, y FROM a)")
>>> print(shown(plan))
Calc(select=[q])
   Calc(select=[p, y])
      a
>>> print(shown(merge_projects(plan)))
Calc(select=[q])
   a

What is computed below and read more than once stays, unless it costs nothing; so does what may differ when it is
computed twice, and what a subquery refers to.
"""

from __future__ import annotations

from collections import Counter

from penstock.sql.plan.algebra import Plan, Project, Scan, StreamScan, transform_plan
from penstock.sql.plan.plan_rexes import contains_subquery
from penstock.sql.plan.rex import InputRef, walk
from penstock.sql.plan.rex_facts import is_movable, is_plain, substituted


def merge_projects(plan: Plan) -> Plan:
    return transform_plan(plan, _merged)


def is_identity(plan: Project) -> bool:
    """Whether the projection gives its input's columns as they are, under their names."""
    if plan.fields != plan.input.fields:
        return False
    return all(isinstance(e, InputRef) and e.index == i for i, e in enumerate(plan.exprs))


def _merged(plan: Plan) -> Plan:
    if not isinstance(plan, Project):
        return plan
    if is_identity(plan) and not isinstance(
        plan.input, (Scan, StreamScan)
    ):  # a table is a projection of its scan
        return plan.input
    below = plan.input
    if not isinstance(below, Project) or not _can_merge(plan, below):
        return plan
    exprs = tuple(substituted(rex, below.exprs) for rex in plan.exprs)
    return Project(plan.fields, below.input, exprs)


def _can_merge(plan: Project, below: Project) -> bool:
    if any(contains_subquery(rex) for rex in (*plan.exprs, *below.exprs)):
        return False
    alone = {rex.index for rex in plan.exprs if isinstance(rex, InputRef)}
    uses = Counter(part.index for rex in plan.exprs for part in walk(rex) if isinstance(part, InputRef))
    for index, times in uses.items():
        rex = below.exprs[index]
        if is_plain(rex):
            continue
        if times > 1 or (not is_movable(rex) and index not in alone):
            return False
    return True
