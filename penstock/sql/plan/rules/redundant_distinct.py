"""A DISTINCT of rows that are distinct already, and an ORDER BY that nothing sees, go.

>>> from penstock.sql.plan.examples import bound, shown
>>> plan = bound("SELECT DISTINCT x, n FROM (SELECT x, COUNT(*) AS n FROM a GROUP BY x)")
>>> print(shown(plan))
Aggregate(groupBy=[x, n], select=[])
   Calc(select=[x, n])
      Aggregate(groupBy=[x], select=[COUNT])
         a
>>> print(shown(redundant_distinct(plan)))
Calc(select=[x, n])
   Aggregate(groupBy=[x], select=[COUNT])
      a

A primary key that a table only declares is not relied on.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.sql.plan.algebra import Aggregate, Filter, Plan, Project, SetOp, Sort, transform_plan
from penstock.sql.plan.rex import InputRef

_ORDERLESS = ("COUNT", "MIN", "MAX")
Keys = list[frozenset[int]]


def redundant_distinct(plan: Plan) -> Plan:
    return transform_plan(plan, _node)


def _node(plan: Plan) -> Plan:
    if isinstance(plan, Aggregate):
        below = plan.input
        if (
            isinstance(below, Sort)
            and _is_only_order(below)
            and all(c.name in _ORDERLESS for c in plan.calls)
        ):
            plan = replace(plan, input=below.input)
        return _distinct(plan)
    if isinstance(plan, Sort) and plan.keys and isinstance(plan.input, Sort) and _is_only_order(plan.input):
        return replace(plan, input=plan.input.input)
    return plan


def _is_only_order(plan: Sort) -> bool:
    return plan.fetch is None and not plan.offset


def _distinct(plan: Aggregate) -> Plan:
    if plan.calls or plan.grouping_sets is not None or not plan.keys:
        return plan
    columns = {key.index for key in plan.keys if isinstance(key, InputRef)}
    if not any(key <= columns for key in unique_keys(plan.input)):
        return plan
    return Project(plan.fields, plan.input, plan.keys)


def unique_keys(plan: Plan) -> Keys:
    """Sets of columns in which no two rows are equal, by what the query does."""
    if isinstance(plan, Aggregate) and plan.grouping_sets is None and plan.row_window is None:
        return [frozenset(range(len(plan.keys)))]
    if isinstance(plan, SetOp) and not plan.all:
        return [frozenset(range(len(plan.fields)))]
    if isinstance(plan, (Filter, Sort)):
        return unique_keys(plan.input)
    if isinstance(plan, Project):
        places = {rex.index: at for at, rex in enumerate(plan.exprs) if isinstance(rex, InputRef)}
        below = unique_keys(plan.input)
        return [frozenset(places[c] for c in key) for key in below if key <= places.keys()]
    return []
