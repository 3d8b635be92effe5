"""Which exchanges nothing would come of: rows that are where their key belongs already.

    Join on id  ──▶ Top-N partitioned by id           one stage, no shuffle between them
    Join on id  ──▶ COUNT(*) GROUP BY id, category    an exchange: state is kept by the whole key

A row's place follows from the values of the key, in their order, so the keys must be the same columns in the same
order, and both operators must have the same number of subtasks.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.delta.columnar.group_aggregate import ColumnarGroupAggregate
from penstock.delta.columnar.session_windows import ColumnarSessionAggregate
from penstock.delta.columnar.sliced_windows import ColumnarWindowAggregate
from penstock.delta.group_aggregate import GroupAggregate
from penstock.delta.time.window_aggregate import WindowAggregate
from penstock.sql.plan.algebra import Filter, JoinKind, Plan, Project
from penstock.sql.plan.rex import InputRef
from penstock.sql.streaming.physical import DeltaNode, PhysicalNode

_KEYS_FIRST = (
    GroupAggregate, ColumnarGroupAggregate, WindowAggregate, ColumnarWindowAggregate, ColumnarSessionAggregate,
)  # fmt: skip
"""Operators whose output begins with the columns of their key."""


def is_in_place(node: PhysicalNode, steps: Sequence[Plan], key: tuple[int, ...], target: DeltaNode) -> bool:
    """Whether rows of `node`, behind linear steps, are at the subtask of `target` that has their key."""
    if not key or not isinstance(node, DeltaNode) or node.parallelism != target.parallelism:
        return False
    columns = _before(steps, key)
    return columns is not None and columns in _distributions(node)


def _before(steps: Sequence[Plan], key: tuple[int, ...]) -> tuple[int, ...] | None:
    """The columns as the node has them, if the steps only hand them on."""
    for step in reversed(steps):
        if isinstance(step, Filter):
            continue
        if not isinstance(step, Project):
            return None
        exprs = [step.exprs[i] for i in key]
        key = tuple(rex.index for rex in exprs if isinstance(rex, InputRef))
        if len(key) < len(exprs):
            return None
    return key


def _distributions(node: DeltaNode) -> Sequence[tuple[int, ...]]:
    """Columns of the output whose values decide which subtask a row comes from."""
    operator = node.operator
    if operator is not None and operator.keeps_columns:
        return [operator.key_columns(0)]
    if isinstance(operator, _KEYS_FIRST):
        return [tuple(range(len(operator.key_columns(0))))]
    return node.distributed


def of_join(
    kind: JoinKind, left_keys: Sequence[int], right_keys: Sequence[int], left_width: int
) -> tuple[tuple[int, ...], ...]:
    """The same for a join; a side that may be filled up with NULLs says nothing about where a row is."""
    left, right = tuple(left_keys), tuple(left_width + i for i in right_keys)
    if kind == "inner":
        return left, right
    if kind in ("left", "semi", "anti"):
        return (left,)
    return (right,) if kind == "right" else ()
