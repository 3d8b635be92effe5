"""Group windows of a number of rows; only the Table API can ask for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.common.errors import NotSupportedError
from penstock.delta.row_windows import RowWindowAggregate
from penstock.sql.plan.algebra import Aggregate
from penstock.sql.streaming.aggregates import InputColumns, agg_spec
from penstock.sql.streaming.physical import Stream

if TYPE_CHECKING:
    from penstock.sql.streaming.planner import Planner


def plan_row_windows(planner: Planner, plan: Aggregate) -> Stream:
    assert plan.row_window is not None
    stream = planner.plan(plan.input)
    if stream.retracts:
        raise NotSupportedError(
            "windows of a number of rows over a table that is updated",
            "an epoch has the net change of a row, so which rows share a window would depend on the epochs",
        )
    columns = InputColumns(plan.keys)
    specs = [agg_spec(c, columns, planner.zone) for c in plan.calls]
    operator = RowWindowAggregate(range(len(plan.keys)), *plan.row_window, specs)
    fields = [replace(f, time="") for f in plan.fields]
    return planner.delta(f"RowWindow{plan.describe()}", operator, [columns.of(stream)], fields)
