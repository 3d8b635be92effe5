"""Projections and filters, and the queries inside them, which become joins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.common.errors import NotSupportedError
from penstock.sql.algebra import Correlate, Filter, Project
from penstock.sql.plan_rexes import contains_subquery
from penstock.sql.streaming.physical import Stream

if TYPE_CHECKING:
    from penstock.sql.streaming.planner import Planner


def plan_project(planner: Planner, plan: Project) -> Stream:
    from penstock.sql.streaming.planner import linear_project

    if any(contains_subquery(e) for e in plan.exprs):
        raise NotSupportedError("a subquery in the select list", "it has no incremental form yet")
    return linear_project(planner.plan(plan.input), plan)


def plan_filter(planner: Planner, plan: Filter) -> Stream:
    if contains_subquery(plan.condition):
        raise NotSupportedError("a subquery in a condition", "it has no incremental form yet")
    stream = planner.plan(plan.input)
    return stream.over(Filter(stream.plan.fields, stream.plan, plan.condition))


def plan_correlate(planner: Planner, plan: Correlate) -> Stream:
    raise NotSupportedError("a LATERAL subquery", "it has no incremental form yet")
