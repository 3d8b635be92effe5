"""A correlated LATERAL aggregate gives no row where nothing matched.

Flink turns `CROSS JOIN LATERAL (SELECT COUNT(*) … WHERE s.k = b.k)` into a join with a grouped aggregate: a
left row without a match disappears, though SQL's own reading would give it a zero. Spark reads it SQL's way,
so the aggregate gets a filter on its number of rows.

>>> from penstock.sql.plan.examples import bound, shown
>>> plan = bound("SELECT a.x, l.n FROM a CROSS JOIN LATERAL (SELECT COUNT(*) AS n FROM b WHERE b.x = a.x) l")
>>> print(shown(plan))
Calc(select=[x, n])
   Correlate(joinType=[inner])
      a
      Calc(select=[n])
         Aggregate(groupBy=[], select=[COUNT])
            Filter(where=[x = outer.$0])
               b
>>> print(shown(lateral_aggregate(plan)))
Calc(select=[x, n])
   Correlate(joinType=[inner])
      a
      Calc(select=[n])
         Calc(select=[a0])
            Filter(where=[$rows > 0])
               Aggregate(groupBy=[], select=[COUNT, COUNT])
                  Filter(where=[x = outer.$0])
                     b
"""

from __future__ import annotations

from dataclasses import replace

from penstock.common.datatypes import DataTypes
from penstock.sql.plan.algebra import Aggregate, Correlate, Field, Filter, Plan, Project, transform_plan
from penstock.sql.plan.plan_rexes import has_outer
from penstock.sql.plan.rex import AggCall, Call, Const, InputRef


def lateral_aggregate(plan: Plan) -> Plan:
    return transform_plan(plan, _correlate)


def _correlate(plan: Plan) -> Plan:
    if isinstance(plan, Correlate):
        return replace(plan, right=_guard(plan.right))
    return plan


def _guard(plan: Plan) -> Plan:
    """Adds the filter above the first keyless aggregate under projections and filters."""
    if isinstance(plan, (Project, Filter)):
        return replace(plan, input=_guard(plan.input))
    if not isinstance(plan, Aggregate) or plan.keys or not has_outer(plan.input):
        return plan
    count = AggCall(DataTypes.BIGINT(False), "COUNT", ())
    fields = (*plan.fields, Field("$rows", count.type))
    counted = replace(plan, calls=(*plan.calls, count), fields=fields)
    zero = Const(DataTypes.BIGINT(False), 0)
    condition = Call(DataTypes.BOOLEAN(False), ">", (InputRef(count.type, len(plan.fields)), zero))
    kept = Filter(fields, counted, condition)
    refs = tuple(InputRef(f.type, i, f.time) for i, f in enumerate(plan.fields))
    return Project(plan.fields, kept, refs)
