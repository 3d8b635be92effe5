"""Processing time in a streaming query: one moment per epoch.

The driver reads the clock when it plans an epoch; that moment is what PROCTIME() gives in all of the epoch's texts
and what processing-time timers are compared with. So a window over processing time is cut by the same clock that
ends it, and an epoch that is run again cuts and ends the same windows.

    driver      now = 12:00:07.250
    linear SQL  PROCTIME(), CURRENT_TIMESTAMP …     -> 12:00:07.250
    operators   context.processing_time_ms          -> 12:00:07.250, timers up to it fire at the end of the epoch
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from penstock.common.datatypes import DataTypes
from penstock.sql.binder.coercion import cast_rex
from penstock.sql.plan.algebra import Plan, transform_plan
from penstock.sql.plan.plan_rexes import map_rexes
from penstock.sql.plan.rex import Call, Rex, SubqueryRex, UdfCall, transform

_NOW = ("PROCTIME", "CURRENT_TIMESTAMP", "NOW", "CURRENT_ROW_TIMESTAMP")
_PARTS_OF_NOW = ("LOCALTIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "LOCALTIME")


@dataclass(frozen=True)
class EpochTimeFunction:
    """Stands for the epoch's processing time as the function of a call.

    `pinned`: asked before a row waits in an operator and after it, it gives different answers, so it stays in place.
    """

    pinned: ClassVar[bool] = True


EPOCH_TIME = UdfCall(DataTypes.TIMESTAMP_LTZ(3, False), "PROCTIME", EpochTimeFunction(), ())


def with_epoch_time(plan: Plan) -> Plan:
    """The plan with PROCTIME() and its kin bound to the epoch's clock, in the queries inside expressions too."""
    return transform_plan(plan, lambda node: map_rexes(node, _bound))


def is_epoch_time(rex: Rex) -> bool:
    return isinstance(rex, UdfCall) and isinstance(rex.function, EpochTimeFunction)


def _bound(rex: Rex) -> Rex:
    def change(part: Rex) -> Rex | None:
        if isinstance(part, Call) and part.name in _NOW:
            return replace(EPOCH_TIME, name=part.name)
        if isinstance(part, Call) and part.name in _PARTS_OF_NOW:
            return cast_rex(replace(EPOCH_TIME, name=part.name), part.type)
        if isinstance(part, SubqueryRex):
            return replace(part, left=tuple(map(_bound, part.left)), plan=with_epoch_time(part.plan))
        return None

    return transform(rex, change)
