"""Where a job stands, as the driver knows it: the committed state of every operator and source.

`JobProgress` is immutable from epoch to epoch: a new one is made when an epoch commits, and a failed epoch
simply goes on from the old one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.checkpoint.handles import OperatorSubtaskState
from penstock.common.ids import EpochId
from penstock.common.key_groups import key_group_range
from penstock.connectors.source import SourceSplit
from penstock.graph.stream_graph import StreamNode
from penstock.runtime.plan import JobDefinition, NodePlan, SourcePlan, SubtaskPlan, SubtaskReport
from penstock.state.backend import KeyedStateRestore

# A snapshot is taken when the deltas since the last one outgrow it, or when there are this many of them.
SNAPSHOT_MIN_BYTES = 8 * 1024 * 1024
SNAPSHOT_MAX_DELTAS = 64

NO_EPOCH = EpochId(0)


@dataclass(frozen=True)
class SplitState:
    """A split, who reads it, and how far it was read."""

    split: SourceSplit
    subtask: int
    position: Any = None
    finished: bool = False


@dataclass(frozen=True)
class NodeProgress:
    """Committed state per subtask; of another parallelism than the operator's only right after a restore."""

    states: tuple[OperatorSubtaskState, ...] = ()

    @property
    def ended(self) -> bool:
        return bool(self.states) and all(state.ended for state in self.states)


@dataclass(frozen=True)
class JobProgress:
    """The job after `epoch`."""

    epoch: EpochId = NO_EPOCH
    nodes: Mapping[int, NodeProgress] = field(default_factory=dict)
    splits: Mapping[int, Mapping[str, SplitState]] = field(default_factory=dict)
    tokens: Mapping[tuple[int, int], str] = field(default_factory=dict)

    def after(self, epoch: EpochId, reports: Iterable[SubtaskReport], job: JobDefinition) -> JobProgress:
        """The job after one more epoch, from what its tasks reported."""
        node_ids = {node.uid: node.id for node in job.graph.nodes}
        states: dict[int, dict[int, OperatorSubtaskState]] = {}
        splits = {node_id: dict(known) for node_id, known in self.splits.items()}
        tokens = {}
        for report in reports:
            tokens[report.stage, report.subtask] = report.token
            for node in report.nodes:
                node_id = node_ids[node.uid]
                states.setdefault(node_id, {})[report.subtask] = node.state
                for done in node.splits:
                    known = splits[node_id][done.split_id]
                    splits[node_id][done.split_id] = replace(
                        known, position=done.position, finished=done.finished
                    )
        nodes = {
            node_id: NodeProgress(tuple(by_subtask[i] for i in sorted(by_subtask)))
            for node_id, by_subtask in states.items()
        }
        return JobProgress(epoch, nodes, splits, tokens)

    @property
    def ended(self) -> bool:
        return bool(self.nodes) and all(node.ended for node in self.nodes.values())

    def subtask_plan(
        self, job: JobDefinition, stage_id: int, subtask: int, sources: Mapping[tuple[int, int], SourcePlan]
    ) -> SubtaskPlan:
        stage = job.stages.stages[stage_id]
        nodes = {
            node_id: self._node_plan(job.graph.nodes[node_id], subtask, sources.get((node_id, subtask)))
            for node_id in stage.nodes
        }
        ended = all(
            len(self._node(n).states) == stage.parallelism and self._node(n).states[subtask].ended
            for n in stage.nodes
        )
        return SubtaskPlan(self.tokens.get((stage_id, subtask)), nodes, ended)

    def _node(self, node_id: int) -> NodeProgress:
        return self.nodes.get(node_id, NodeProgress())

    def _node_plan(self, node: StreamNode, subtask: int, source: SourcePlan | None) -> NodePlan:
        former = self._node(node.id).states
        same = len(former) == node.parallelism
        holders = (former[subtask],) if same else former
        return NodePlan(
            states=runtime_states_for(former, node, subtask),
            operator_states=tuple(s.operator_state for s in holders if s.operator_state is not None),
            keyed=self._keyed_restore(node, subtask, former) if node.is_keyed else None,
            source=source,
        )

    def _keyed_restore(
        self, node: StreamNode, subtask: int, former: tuple[OperatorSubtaskState, ...]
    ) -> KeyedStateRestore:
        groups = key_group_range(subtask, node.max_parallelism, node.parallelism)
        first, last = groups[0], groups[-1]
        handles = tuple(
            s.keyed
            for s in former
            if s.keyed is not None and s.keyed.first_key_group <= last and s.keyed.last_key_group >= first
        )
        exact = (
            len(handles) == 1 and handles[0].first_key_group == first and handles[0].last_key_group == last
        )
        grown = False
        if exact:
            size = handles[0].snapshot.size_bytes if handles[0].snapshot else 0
            grown = (
                handles[0].delta_bytes > max(SNAPSHOT_MIN_BYTES, size)
                or len(handles[0].deltas) >= SNAPSHOT_MAX_DELTAS
            )
        return KeyedStateRestore(self.epoch, first, last, handles, bool(handles) and (grown or not exact))


def runtime_states_for(
    former: tuple[OperatorSubtaskState, ...], node: StreamNode, subtask: int
) -> tuple[OperatorSubtaskState, ...]:
    """Whose runtime state a subtask takes over.

    After a change of parallelism a source looks through everybody's (its splits may have moved here), other
    operators take every P-th, so that each former state goes to exactly one subtask.
    """
    if len(former) == node.parallelism:
        return (former[subtask],)
    if node.is_source:
        return former
    return former[subtask :: node.parallelism]
