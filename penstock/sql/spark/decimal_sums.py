"""How decimals are added: chosen by a rule over the plan, and again where the choice turns out not to do.

    SUM(price * 2)  →  SUM(Summand(price * 2, LONGS))

`Summand` around the argument of a SUM or AVG says that it is not added as Spark adds decimals. Adding without the
point (`unscaled.py`) is several times faster, but a product may have more digits than fit, which only its rows tell.
Then the row raises an error whose message is the condition itself, and the query is planned again in the next way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TypeVar

from penstock.common.datatypes import DecimalType
from penstock.sql.functions.aggregates import PRODUCT_TOO_LONG, SAFE_DIGITS, SUM_OVERFLOWED
from penstock.sql.plan.algebra import Aggregate, Over, Plan, transform_plan
from penstock.sql.plan.plan_rexes import map_rexes
from penstock.sql.plan.rex import AggCall, OverCall, Rex, SubqueryRex, transform
from penstock.sql.spark.unscaled import has_unscaled_form

C = TypeVar("C", AggCall, OverCall)


class Sums(IntEnum):
    """How decimals are added. Each way is slower than the one before it, and right where that one gives up."""

    LONGS = 0
    """Without their point, where they have at most 18 digits."""
    DECIMALS = 1
    """By Spark."""
    ONE_BY_ONE = 2
    """Wide ones row by row, in their order."""


_WAY_AFTER = {PRODUCT_TOO_LONG: Sums.DECIMALS, SUM_OVERFLOWED: Sums.ONE_BY_ONE}


def way_after(condition: str | None, way: Sums) -> Sums | None:
    """How to add in a query that has raised this condition; None if another way would not help."""
    other = _WAY_AFTER.get(condition or "")
    return other if other is not None and other > way else None


@dataclass(frozen=True)
class Summand(Rex):
    """What is added in a way of its own. Its type is that of the value."""

    value: Rex
    way: Sums

    def children(self) -> tuple[Rex, ...]:
        return (self.value,)

    def with_children(self, children: tuple[Rex, ...]) -> Rex:
        return replace(self, value=children[0])


def decimal_sums(plan: Plan, way: Sums) -> Plan:
    """Marks the sums that are added in this way; the plan itself if there are none."""
    return plan if way is Sums.DECIMALS else transform_plan(plan, lambda node: _node(node, way))


def _node(plan: Plan, way: Sums) -> Plan:
    def inside(part: Rex) -> Rex | None:
        if not isinstance(part, SubqueryRex):
            return None
        left = tuple(transform(rex, inside) for rex in part.left)
        query = decimal_sums(part.plan, way)
        return part if query is part.plan and left == part.left else replace(part, left=left, plan=query)

    plan = map_rexes(plan, lambda rex: transform(rex, inside))
    if isinstance(plan, Aggregate):
        calls = tuple(_call(call, way) for call in plan.calls)
        return plan if calls == plan.calls else replace(plan, calls=calls)
    if isinstance(plan, Over) and way is Sums.ONE_BY_ONE:
        over = tuple(_call(call, way) for call in plan.calls)
        return plan if over == plan.calls else replace(plan, calls=over)
    return plan


def _call(call: C, way: Sums) -> C:
    if call.function is not None or call.name not in ("SUM", "AVG"):
        return call
    value = call.args[0]
    chosen = not call.distinct and has_unscaled_form(value) if way is Sums.LONGS else _may_overflow(call)
    return replace(call, args=(Summand(value.type, value, way),)) if chosen else call


def _may_overflow(call: AggCall | OverCall) -> bool:
    kind = call.args[0].type
    return call.name == "SUM" and isinstance(kind, DecimalType) and kind.precision > SAFE_DIGITS
