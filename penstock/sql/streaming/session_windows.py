"""GROUP BY over SESSION in one operator: sessions with their partial results, instead of rows that wait.

A session window function below an aggregate keeps all its rows until the session ends. Where the aggregate needs
nothing of the window but its bounds, and its keys are those that sessions belong to, the rows are aggregated as they
come (`delta/columnar/session_windows.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.common.datatypes import LocalZonedTimestampType
from penstock.delta.columnar.results import has_columnar_result
from penstock.delta.columnar.session_windows import ColumnarSessionAggregate
from penstock.sql.plan.algebra import Aggregate, Field, Plan, WindowTvf
from penstock.sql.plan.rex import InputRef
from penstock.sql.streaming.aggregates import InputColumns, agg_spec, pre_aggregation
from penstock.sql.streaming.physical import Stream
from penstock.sql.streaming.sliced_windows import PROPERTIES, needs_bounds_only
from penstock.sql.streaming.windows import WindowColumns, arranged, check_sessions

if TYPE_CHECKING:
    from penstock.sql.streaming.planner import Planner


def plan_sessions(planner: Planner, plan: Aggregate, below: Plan) -> Stream | None:
    """The aggregate over the sessions `below` it, None if it is not one or needs the rows of each session."""
    if not isinstance(below, WindowTvf) or not _has_sessions(plan, below):
        return None
    kind = below.input.fields[below.time_column].type
    zone = planner.zone if isinstance(kind, LocalZonedTimestampType) else None
    width = len(below.input.fields)
    properties = {width + i: name for i, name in enumerate(PROPERTIES)}
    others = [k for k in plan.keys if not (isinstance(k, InputRef) and k.index in properties)]
    columns = InputColumns([InputRef(kind, below.time_column)])
    keys = [columns.place(k) for k in others]
    specs = [agg_spec(c, columns, planner.zone) for c in plan.calls]
    partial = pre_aggregation(planner, False, keys, specs, columns)
    if zone not in (None, "UTC") or partial is None:
        return None
    if not all(map(has_columnar_result, partial.partial_specs())):
        return None
    stream = planner.plan(below.input)
    check_sessions(stream, below)
    types = [rex.type for rex in columns.rexes]
    operator = ColumnarSessionAggregate(keys, 0, below.size, specs, types, PROPERTIES)
    fields = [
        *(Field(f"k{i}", k.type) for i, k in enumerate(others)),
        *(Field(f"a{i}", c.type) for i, c in enumerate(plan.calls)),
        *below.fields[width : width + len(PROPERTIES)],
    ]
    result = planner.delta(f"Window{plan.describe()}", operator, [columns.of(stream)], fields)
    cut = (below.kind, below.size, below.slide, below.offset)
    return arranged(result, plan, others, properties, WindowColumns(width, width + 1, width + 2, cut, zone))


def _has_sessions(plan: Aggregate, tvf: WindowTvf) -> bool:
    """Whether the aggregate has a result per session: its keys are the session's and its bounds."""
    if plan.grouping_sets is not None or tvf.kind != "SESSION":
        return False
    if tvf.input.fields[tvf.time_column].time != "rowtime" or not needs_bounds_only(plan, tvf):
        return False
    width = len(tvf.input.fields)
    keys = {k.index if isinstance(k, InputRef) else -1 for k in plan.keys}
    return {k for k in keys if k < width} == set(tvf.partition)
