"""Joins that follow each other on one key become one operator (`delta/columnar/multi_join.py`).

    FROM bid B JOIN person P ON P.id = B.bidder JOIN auction A ON A.seller = B.bidder

Both joins are on the bidder, so each table is sent by it and kept once, and pairs of bids and persons are not kept at
all. For that a join must be inner or left, with equalities and nothing else, and each of its keys must equal a key of
the joins before it, of a table whose rows these do not fill up. Joins by windows or by time, with a time to live, or
whose result somebody else reads too, stay what they are. With `table.optimizer.multi-join.enabled` = `false` all do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from penstock.delta.columnar.multi_join import ColumnarMultiJoin
from penstock.delta.columns import can_group
from penstock.sql.plan.algebra import Field, Join, Plan, Project
from penstock.sql.plan.rex import InputRef, Rex, walk
from penstock.sql.streaming.aggregates import InputColumns
from penstock.sql.streaming.join_conditions import Parts, disorder, take_apart
from penstock.sql.streaming.physical import DeltaNode, Stream
from penstock.sql.streaming.state_text import column_names

if TYPE_CHECKING:
    from penstock.sql.streaming.planner import Planner

MULTI_JOIN = "table.optimizer.multi-join.enabled"

Place = tuple[int, int]
"""An input, and one of its columns."""


@dataclass(frozen=True)
class Chain:
    """Joins on one key.

    Attributes:
        inputs: What is joined.
        padded: For each input whether it is the right side of a left join.
        keys: For each input the expressions over its columns that are equal, in the same order.
        columns: Where the columns of the result come from.
    """

    inputs: tuple[Plan, ...]
    padded: tuple[bool, ...]
    keys: tuple[tuple[Rex, ...], ...]
    columns: tuple[Place, ...]

    def key_at(self, rex: Rex) -> int | None:
        """Which of the keys a column of the result is; None if it may be NULL where the keys are not."""
        if not isinstance(rex, InputRef):
            return None
        index, column = self.columns[rex.index]
        keys = self.keys[index]
        found = (at for at, key in enumerate(keys) if isinstance(key, InputRef) and key.index == column)
        return None if self.padded[index] else next(found, None)


def chain_of(planner: Planner, plan: Join) -> Chain | None:
    """The joins that end with this one; None if it has another form."""
    if plan.kind not in ("inner", "left") or plan.hints or plan.ttl_ms != (None, None):
        return None
    parts = take_apart(plan.condition, len(plan.left.fields))
    if not parts.left or parts.rest or any(parts.null_safe):
        return None
    before = _chain_below(planner, plan.left)
    if before is None:
        columns = tuple((0, i) for i in range(len(plan.left.fields)))
        before = Chain((plan.left,), (False,), (tuple(parts.left),), columns)
        wanted: tuple[Rex, ...] | None = tuple(parts.right)
    else:
        wanted = _same_keys(before, parts)
    if wanted is None:
        return None
    number = len(before.inputs)
    return Chain(
        (*before.inputs, plan.right),
        (*before.padded, plan.kind == "left"),
        (*before.keys, wanted),
        (*before.columns, *((number, i) for i in range(len(plan.right.fields)))),
    )


def _same_keys(chain: Chain, parts: Parts) -> tuple[Rex, ...] | None:
    """What equals the keys of the chain, in their order, by whichever of their columns; None unless each has one."""
    found: dict[int, Rex] = {}
    for left, right in zip(parts.left, parts.right, strict=True):
        at = chain.key_at(left)
        if at is None or found.setdefault(at, right) != right:
            return None
    return tuple(found[at] for at in sorted(found)) if len(found) == len(chain.keys[0]) else None


def _chain_below(planner: Planner, plan: Plan) -> Chain | None:
    """The joins that this plan is the result of, but for the order of columns."""
    if planner.readers[id(plan)] > 1:
        return None
    if isinstance(plan, Join):
        return chain_of(planner, plan)
    if not isinstance(plan, Project):
        return None
    moved = [rex.index for rex in plan.exprs if isinstance(rex, InputRef)]
    below = _chain_below(planner, plan.input) if len(moved) == len(plan.exprs) else None
    return None if below is None else replace(below, columns=tuple(below.columns[i] for i in moved))


def plan_multi_join(planner: Planner, plan: Join) -> Stream | None:
    """The operator for a chain of joins; None if joins of two are needed."""
    if planner.configured_ttl_ms or planner.config.get(MULTI_JOIN, "true").lower() != "true":
        return None
    chain = chain_of(planner, plan)
    if chain is None or len(chain.inputs) < 3:
        return None
    streams = [planner.plan(below) for below in chain.inputs]
    if not can_group([rex.type for rex in chain.keys[0]]) or _is_by_time(chain, streams):
        return None
    return _planned(planner, plan, chain, streams)


def _is_by_time(chain: Chain, streams: list[Stream]) -> bool:
    """Whether joins of two may be joins by windows, or by row times."""
    timed = [
        any(
            isinstance(part, InputRef) and stream.fields[part.index].time
            for key in keys
            for part in walk(key)
        )
        for stream, keys in zip(streams, chain.keys, strict=True)
    ]
    return sum(timed) > 1 or sum(stream.window is not None for stream in streams) > 1


def _planned(planner: Planner, plan: Join, chain: Chain, streams: list[Stream]) -> Stream:
    collected = [InputColumns(stream.refs()) for stream in streams]
    keys = [[c.place(rex) for rex in found] for c, found in zip(collected, chain.keys, strict=True)]
    wide = [c.of(stream) for c, stream in zip(collected, streams, strict=True)]
    operator = ColumnarMultiJoin(
        [[f.type for f in stream.fields] for stream in wide],
        keys,
        padded=chain.padded,
        retracts=[stream.retracts for stream in streams],
    )
    kinds = ["left" if padded else "inner" for padded in chain.padded[1:]]
    name = f"MultiJoin(joinTypes=[{', '.join(kinds)}])"
    retracts = any(chain.padded) or any(stream.retracts for stream in streams)
    made = [f for stream in wide for f in stream.fields]
    shown = [[column_names(stream)[i] for i in own] for stream, own in zip(wide, keys, strict=True)]
    result = planner.delta(
        name, operator, wide, [Field(f"j{i}", f.type.nullable()) for i, f in enumerate(made)],
        retracts=retracts, updated_by=name if retracts else "",
        detail=f"keys=[{'; '.join(map(', '.join, shown))}]",
    )  # fmt: skip
    starts = [sum(stream.width for stream in wide[:i]) for i in range(len(wide))]
    _distribute(result, chain, starts, keys)
    exprs = [
        InputRef(f.type, starts[at] + column)
        for f, (at, column) in zip(plan.fields, chain.columns, strict=True)
    ]
    fields = [replace(f, time="") for f in plan.fields]
    return result.project(fields, exprs, disordered_by=disorder(name, streams, wide, keys))


def _distribute(result: Stream, chain: Chain, starts: list[int], keys: list[list[int]]) -> None:
    """Rows of the result are where the keys of every input belong that has rows in all of them."""
    [node] = result.nodes
    assert isinstance(node, DeltaNode)
    node.distributed = tuple(
        tuple(start + column for column in own)
        for start, own, padded in zip(starts, keys, chain.padded, strict=True)
        if not padded
    )
