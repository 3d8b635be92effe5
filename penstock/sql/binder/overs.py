"""OVER: window calls of select items become columns of an `Over` node."""

from __future__ import annotations

from typing import Any

from penstock.sql.binder.context import BindContext
from penstock.sql.plan.algebra import Field, Over, Plan
from penstock.sql.plan.rex import InputRef, OverCall, Rex, transform, walk


def with_windows(ctx: BindContext, plan: Plan, rexes: list[Rex], node: Any = None) -> tuple[Plan, list[Rex]]:
    """Moves window calls into an `Over` node and leaves their columns in the expressions."""
    calls: list[OverCall] = []
    for rex in rexes:
        for part in walk(rex):
            if isinstance(part, OverCall) and part not in calls:
                calls.append(part)
    if not calls:
        return plan, rexes
    _check(ctx, calls, node)
    width = len(plan.fields)
    fields = (*plan.fields, *(Field(f"w{i}", c.type) for i, c in enumerate(calls)))

    def column(part: Rex) -> Rex | None:
        return InputRef(part.type, width + calls.index(part)) if isinstance(part, OverCall) else None

    return Over(fields, plan, tuple(calls)), [transform(r, column) for r in rexes]


def _check(ctx: BindContext, calls: list[OverCall], node: Any) -> None:
    if not ctx.streaming:
        return
    if len({(c.partition, c.order, c.frame) for c in calls}) > 1:
        raise ctx.error("streaming OVER aggregates of one SELECT must share one window", node)
    for call in calls:
        if call.frame is not None and call.frame.end[0] == "FOLLOWING":
            raise ctx.error("a streaming OVER window cannot end in FOLLOWING rows", node)
