"""UNION, INTERSECT and EXCEPT."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.delta.distinct import Distinct
from penstock.delta.set_ops import SetOperation, SetOpType
from penstock.sql.plan.algebra import SetOp
from penstock.sql.streaming.physical import HIDDEN, Stream

if TYPE_CHECKING:
    from penstock.sql.streaming.planner import Planner


def plan_set_op(planner: Planner, plan: SetOp) -> Stream:
    left, right = planner.plan(plan.left), planner.plan(plan.right)
    if plan.kind == "UNION":
        union = _union_all(left, right, plan)
        return union if plan.all else _distinct(planner, union, plan)
    kind = SetOpType(f"{plan.kind.lower()} all" if plan.all else plan.kind.lower())
    operator = SetOperation(kind, len(plan.fields), state_ttl_ms=planner.state_ttl_ms)
    updating = left.retracts or right.retracts or plan.kind == "EXCEPT"
    return planner.delta(
        plan.describe(), operator, [left, right], plan.fields,
        retracts=updating, updated_by=plan.describe() if updating else "",
    )  # fmt: skip


def _union_all(left: Stream, right: Stream, plan: SetOp) -> Stream:
    both = SetOp((*plan.fields, *HIDDEN), left.plan, right.plan, "UNION", True)
    return replace(
        left,
        plan=both,
        nodes=(*left.nodes, *right.nodes),
        retracts=left.retracts or right.retracts,
        keys=frozenset(),
        updated_by=left.updated_by or right.updated_by,
        window=left.window if left.window == right.window else None,
    )


def _distinct(planner: Planner, union: Stream, plan: SetOp) -> Stream:
    operator = Distinct(len(plan.fields), input_retracts=union.retracts, state_ttl_ms=planner.state_ttl_ms)
    return planner.delta(
        "Distinct", operator, [union], plan.fields, retracts=union.retracts,
        keys=frozenset({frozenset(range(len(plan.fields)))}), updated_by=union.updated_by,
    )  # fmt: skip
