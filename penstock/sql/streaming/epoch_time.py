"""Processing time in a streaming query: one moment per epoch.

The driver reads the clock when it plans an epoch; that moment is what PROCTIME() gives in all of the epoch's texts
and what processing-time timers are compared with. So a window over processing time is cut by the same clock that
ends it, and an epoch that is run again cuts and ends the same windows.

    driver      now = 12:00:07.250
    Spark SQL   PROCTIME()                          -> 12:00:07.250
    operators   context.processing_time_ms          -> 12:00:07.250, timers up to it fire at the end of the epoch
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.common.datatypes import DataTypes
from penstock.sql.plan.algebra import Plan, transform_plan
from penstock.sql.plan.plan_rexes import map_rexes
from penstock.sql.plan.rex import Call, Rex, SubqueryRex, UdfCall, transform

PARAMETER = "penstock_now"
"""The parameter of a Spark SQL text that stands for the epoch's processing time in milliseconds."""


@dataclass(frozen=True)
class EpochTimeText:
    """Renders the epoch's processing time."""

    def text(self) -> str:
        return f"timestamp_millis(:{PARAMETER})"


EPOCH_TIME = UdfCall(DataTypes.TIMESTAMP_LTZ(3, False), "PROCTIME", EpochTimeText(), ())


def with_epoch_time(plan: Plan) -> Plan:
    """The plan with every PROCTIME() bound to the epoch's clock, in the queries inside expressions too."""
    return transform_plan(plan, lambda node: map_rexes(node, _bound))


def _bound(rex: Rex) -> Rex:
    def change(part: Rex) -> Rex | None:
        if isinstance(part, Call) and part.name == "PROCTIME":
            return EPOCH_TIME
        if isinstance(part, SubqueryRex):
            return replace(part, left=tuple(map(_bound, part.left)), plan=with_epoch_time(part.plan))
        return None

    return transform(rex, change)
