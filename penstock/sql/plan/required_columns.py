"""Which columns of each scan a plan really reads.

Connectors get to know it, because a field that nobody reads must not fail a query: a CSV line with a bad
number in a column that is not selected is a good line.
"""

from __future__ import annotations

from penstock.sql.plan.algebra import (
    Aggregate,
    Correlate,
    Filter,
    Join,
    Over,
    Plan,
    Project,
    Scan,
    Sort,
    TableFunctionScan,
    TemporalJoin,
    Unnest,
    Watermark,
    WindowTvf,
)
from penstock.sql.plan.plan_rexes import contains_subquery, has_outer, rexes
from penstock.sql.plan.rex import InputRef, Rex, SubqueryRex, walk

Needed = dict[int, set[int]]


def required_columns(plan: Plan) -> Needed:
    """Positions per scan, keyed by `id(scan)`."""
    found: Needed = {}
    _visit(plan, set(range(len(plan.fields))), found)
    return found


def _refs(expressions: list[Rex]) -> set[int]:
    return {part.index for rex in expressions for part in walk(rex) if isinstance(part, InputRef)}


def _visit(plan: Plan, needed: set[int], found: Needed) -> None:
    own = list(rexes(plan))
    subqueries = [part for rex in own for part in walk(rex) if isinstance(part, SubqueryRex)]
    for subquery in subqueries:
        _visit(subquery.plan, set(range(len(subquery.plan.fields))), found)
    correlated = any(contains_subquery(rex) for rex in own) and any(has_outer(s.plan) for s in subqueries)
    if isinstance(plan, Scan):
        found.setdefault(id(plan), set()).update(needed)
        return
    for child, wanted in zip(plan.inputs, _wanted(plan, needed, own), strict=True):
        everything = correlated or isinstance(plan, Correlate)
        _visit(child, set(range(len(child.fields))) if everything else wanted, found)


def _wanted(plan: Plan, needed: set[int], own: list[Rex]) -> list[set[int]]:
    """What each input must provide."""
    if isinstance(plan, Project):
        return [_refs([plan.exprs[i] for i in needed])]
    if isinstance(plan, Aggregate):
        return [_refs(own)]
    if isinstance(plan, Watermark):
        return [needed]
    if isinstance(plan, (Filter, Sort)):
        return [needed | _refs(own)]
    if isinstance(plan, (Over, Unnest, TableFunctionScan, WindowTvf)):
        width = len(plan.inputs[0].fields)
        extra = {plan.time_column, *plan.partition} if isinstance(plan, WindowTvf) else set()
        return [{i for i in needed if i < width} | _refs(own) | extra]
    if isinstance(plan, (Join, TemporalJoin)):
        return _join_inputs(plan, needed | _refs(own))
    return [set(range(len(child.fields))) for child in plan.inputs]


def _join_inputs(plan: Join | TemporalJoin, needed: set[int]) -> list[set[int]]:
    width = len(plan.left.fields)
    left = {i for i in needed if i < width}
    if isinstance(plan, TemporalJoin):
        left.add(plan.time)
    return [left, {i - width for i in needed if i >= width}]
