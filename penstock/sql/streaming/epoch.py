"""What an epoch of a streaming query starts from: the committed plan of every node, and where event time stands.

An operator advances at least to the watermark that its sources had reported by the end of the epoch before. If all
its inputs come straight from scans, it also hears how far these have come in this one (`exchange_task.MarkTask`), and
advances to that. Once all input has been read, or is certain to be read in this epoch, time ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.ids import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.pickling import loads
from penstock.runtime.plan import JobDefinition, LevelPlan, NodePlan
from penstock.sql.connectors.moments import Moment
from penstock.sql.streaming.physical import (
    DeltaNode,
    LookupNode,
    PhysicalNode,
    ScanNode,
    Stream,
    ValuesNode,
    WatermarkNode,
)
from penstock.sql.streaming.query import Query
from penstock.sql.streaming.scan_source import PartSplit

Plans = Mapping[str, Mapping[int, NodePlan]]
"""The plan of each node, by uid, and subtask."""


@dataclass(frozen=True)
class Epoch:
    """One epoch of a query.

    Attributes:
        plan: What the coordinator said about the epoch as a whole.
        nodes: What it said about each node and subtask.
        watermarks: Where the output of each node stands as the epoch begins, by uid.
        final: Whether everything will have been read at its end.
    """

    plan: LevelPlan
    nodes: Plans
    watermarks: Mapping[str, int]
    final: bool

    def advanced(self, uid: str) -> int:
        """What an operator has been advanced to already."""
        states = [runtime_state(plan) for plan in self.nodes[uid].values()]
        return max((s.get("advanced", MIN_WATERMARK) for s in states), default=MIN_WATERMARK)

    def target(self, node: PhysicalNode) -> int:
        """What an operator is advanced to in this epoch, at least."""
        below = [self.watermarks[n.uid] for stream in node.inputs for n in stream.nodes]
        return min(below, default=MIN_WATERMARK)

    def moment(self, stream: Stream) -> Moment:
        """Where time stands for the sink of a stream: the watermark that everything before this epoch has given."""
        watermark = min((self.watermarks[node.uid] for node in stream.nodes), default=MIN_WATERMARK)
        return Moment(self.plan.processing_time_ms, watermark, self.final)

    def sink_state(self, uid: str) -> Any:
        """What a sink left for this epoch in the one before."""
        return runtime_state(self.nodes[uid][0]).get("sink")


def plan_epoch(job: JobDefinition, query: Query, plans: Sequence[LevelPlan]) -> Epoch:
    """The coordinator's plans, by node of the query."""
    nodes: dict[str, dict[int, NodePlan]] = {}
    for level, plan in zip(job.stages.levels, plans, strict=True):
        at = 0
        for stage_id in level:
            for subtask in range(job.stages.stages[stage_id].parallelism):
                for node_id, node_plan in plan.subtasks[at].nodes.items():
                    nodes.setdefault(job.graph.nodes[node_id].uid, {})[subtask] = node_plan
                at += 1
    sources = [nodes[n.uid] for n in query.nodes if isinstance(n, (ScanNode, ValuesNode))]
    final = all(_reads_to_the_end(plan) for source in sources for plan in source.values())
    return Epoch(plans[0], nodes, _watermarks(query, nodes, final), final)


def runtime_state(plan: NodePlan) -> dict[str, Any]:
    """What the runner itself remembers of a subtask: its watermark, how far it has been advanced."""
    if not plan.states or plan.states[0].runtime_state is None:
        return {}
    state = plan.states[0].runtime_state
    assert isinstance(state, bytes)
    loaded: dict[str, Any] = loads(state)
    return loaded


def _watermarks(query: Query, nodes: Plans, final: bool) -> dict[str, int]:
    reached: dict[str, int] = {}
    for node in query.nodes:
        below = min((reached[n.uid] for stream in node.inputs for n in stream.nodes), default=MIN_WATERMARK)
        reached[node.uid] = MAX_WATERMARK if final else _watermark(node, below, nodes[node.uid])
    return reached


def _watermark(node: PhysicalNode, below: int, plans: Mapping[int, NodePlan]) -> int:
    """Where the output of a node stands, whose inputs stand at `below`."""
    if isinstance(node, (ScanNode, ValuesNode)):
        return MAX_WATERMARK if all(_has_ended(plan) for plan in plans.values()) else MIN_WATERMARK
    if isinstance(node, LookupNode) or below == MAX_WATERMARK:
        return below
    if isinstance(node, WatermarkNode):
        seen = [state["watermark"] for plan in plans.values() if (state := runtime_state(plan))]
        return min(seen, default=MIN_WATERMARK)
    assert isinstance(node, DeltaNode)
    delay: int = getattr(node.operator, "watermark_delay_ms", 0)
    return below if below == MIN_WATERMARK else below - delay


def _reads_to_the_end(plan: NodePlan) -> bool:
    source = plan.source
    if source is None or not source.last:
        return False
    sure = {read.split.split_id for read in source.reads if _is_small(read)}
    return source.assigned <= sure


def _has_ended(plan: NodePlan) -> bool:
    return plan.source is not None and plan.source.last and not plan.source.assigned


def _is_small(read: Any) -> bool:
    """Whether the epoch is certain to read the split to its end."""
    split, limit = read.split, read.limit
    assert isinstance(split, PartSplit)
    left = split.rows_left(read.position)
    if limit.split_ends is False or left is None:
        return False
    return limit.max_records is None or left < limit.max_records
