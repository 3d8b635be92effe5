"""Where a job stands, as the driver knows it: the committed state of every operator and source.

`JobProgress` never changes: a new one is made when an epoch commits, and a failed epoch simply goes on from the
old one. Which subtask goes on from which state was decided in `checkpoint/resolve.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.checkpoint.handles import KeyedStateHandle, OperatorSubtaskState
from penstock.checkpoint.resolve import SubtaskRestore, own_states
from penstock.common.ids import EpochId, OperatorUid
from penstock.common.key_groups import key_group_range
from penstock.connectors.source import SourceSplit
from penstock.graph.stream_graph import StreamNode
from penstock.runtime.plan import (
    JobDefinition,
    LevelPlan,
    NodePlan,
    NodeReport,
    SnapshotSettings,
    SourcePlan,
    SubtaskPlan,
    SubtaskReport,
)
from penstock.state.backend import KeyedStateRestore

# A snapshot is taken when the deltas since the last one outgrow it, or when there are many of them: so many if it is
# small or they have come to a part of it, else more. Writing a large state again for little would hold the job up.
SNAPSHOT_DELTAS = 64
SNAPSHOT_PART = 8
SNAPSHOT_MAX_DELTAS = 512
# A large one is written beside the epochs, unless that takes so long that deltas have outgrown the state by far.
BACKGROUND_OVERDUE = 4

NO_EPOCH = EpochId(0)

SINK_STATES = "sinks"
"""The property of a checkpoint that holds what sinks have left for the next epoch."""


@dataclass(frozen=True)
class SplitState:
    """A split, who reads it, and how far it was read."""

    split: SourceSplit
    subtask: int
    position: Any = None
    finished: bool = False


@dataclass(frozen=True)
class NodeProgress:
    """The committed state of one operator.

    `states` is as the last epoch left it: of another parallelism than the operator's between a restore and
    the first epoch after it. `restores` says what each of the operator's subtasks goes on from.
    """

    states: tuple[OperatorSubtaskState, ...] = ()
    restores: tuple[SubtaskRestore, ...] = ()

    @classmethod
    def committed(cls, states: tuple[OperatorSubtaskState, ...]) -> NodeProgress:
        """After an epoch, in which every subtask reported its own state."""
        return cls(states, own_states(states))

    def restore_of(self, subtask: int) -> SubtaskRestore:
        return self.restores[subtask] if self.restores else SubtaskRestore()

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
    sinks: Mapping[OperatorUid, Any] = field(default_factory=dict)
    """What sinks that decide in the driver have left for the next epoch."""
    claimed: bool = False
    """The job owns the files of the checkpoint that it started from, and goes on with them."""

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
                states.setdefault(node_id, {})[report.subtask] = _with_compacted(node)
                for done in node.splits:
                    known = splits[node_id][done.split_id]
                    splits[node_id][done.split_id] = replace(
                        known, position=done.position, finished=done.finished
                    )
        nodes = {
            node_id: NodeProgress.committed(tuple(by_subtask[i] for i in sorted(by_subtask)))
            for node_id, by_subtask in states.items()
        }
        return JobProgress(epoch, nodes, splits, tokens, self.sinks, self.claimed)

    def keyed_handles(self) -> dict[tuple[int, int], KeyedStateHandle]:
        """The keyed state of subtasks that go on from what they reported themselves, by node and subtask."""
        return {
            (node_id, subtask): restore.keyed[0]
            for node_id, node in self.nodes.items()
            if len(node.restores) == len(node.states)
            for subtask, restore in enumerate(node.restores)
            if len(restore.keyed) == 1 and restore.keyed[0] is node.states[subtask].keyed
        }

    def with_handle(self, node_id: int, subtask: int, handle: KeyedStateHandle) -> JobProgress:
        """The same state in other files."""
        node = self.nodes[node_id]
        state = replace(node.states[subtask], keyed=handle)
        restore = replace(node.restores[subtask], keyed=(handle,), states=(state,))
        states = (*node.states[:subtask], state, *node.states[subtask + 1 :])
        restores = (*node.restores[:subtask], restore, *node.restores[subtask + 1 :])
        return replace(self, nodes={**self.nodes, node_id: NodeProgress(states, restores)})

    def restarted(self) -> JobProgress:
        """The same after a failure: nobody's memory counts."""
        return replace(self, tokens={})

    @property
    def ended(self) -> bool:
        return bool(self.nodes) and all(node.ended for node in self.nodes.values())

    def subtask_plan(
        self, job: JobDefinition, stage_id: int, subtask: int, sources: Mapping[tuple[int, int], SourcePlan]
    ) -> SubtaskPlan:
        stage = job.stages.stages[stage_id]
        nodes = {
            node_id: self._node_plan(job, job.graph.nodes[node_id], subtask, sources.get((node_id, subtask)))
            for node_id in stage.nodes
        }
        ended = all(
            len(self._node(n).states) == stage.parallelism and self._node(n).states[subtask].ended
            for n in stage.nodes
        )
        return SubtaskPlan(self.tokens.get((stage_id, subtask)), nodes, ended)

    def _node(self, node_id: int) -> NodeProgress:
        return self.nodes.get(node_id, NodeProgress())

    def _node_plan(
        self, job: JobDefinition, node: StreamNode, subtask: int, source: SourcePlan | None
    ) -> NodePlan:
        restore = self._node(node.id).restore_of(subtask)
        return NodePlan(
            states=restore.states,
            operator_states=restore.operator_states,
            keyed=self._keyed_restore(job, node, subtask, restore.keyed) if node.is_keyed else None,
            source=source,
            waiting=restore.waiting,
        )

    def _keyed_restore(
        self, job: JobDefinition, node: StreamNode, subtask: int, handles: tuple[KeyedStateHandle, ...]
    ) -> KeyedStateRestore:
        groups = key_group_range(subtask, node.max_parallelism, node.parallelism)
        first, last = groups[0], groups[-1]
        if not handles:
            return KeyedStateRestore(self.epoch, first, last)
        must = not _is_exactly(handles, first, last) or (
            not self.claimed and _is_foreign(handles[0], job.storage.root)
        )
        wants = wants_snapshot(handles[0], job.snapshots)
        beside = is_written_beside(handles[0], job.snapshots)
        return KeyedStateRestore(
            self.epoch,
            first,
            last,
            handles,
            take_snapshot=must or (wants and not beside),
            compact=wants and beside and not must,
        )


def level_plans(
    job: JobDefinition, progress: JobProgress, epoch: EpochId, run_id: str, attempt_number: int, now_ms: int,
    sources: Mapping[tuple[int, int], SourcePlan], limit_ms: float | None = None,
    sampled: frozenset[int] = frozenset(), profiled: frozenset[int] = frozenset(),
) -> list[LevelPlan]:  # fmt: skip
    """What the tasks of each level are told."""
    plans = []
    for level, stage_ids in enumerate(job.stages.levels):
        subtasks = tuple(
            progress.subtask_plan(job, stage_id, subtask, sources)
            for stage_id in stage_ids
            for subtask in range(job.stages.stages[stage_id].parallelism)
        )
        plans.append(
            LevelPlan(epoch, run_id, attempt_number, now_ms, level, subtasks, limit_ms, sampled, profiled)
        )
    return plans


def _with_compacted(node: NodeReport) -> OperatorSubtaskState:
    """The state as it was reported, and a snapshot in the place of the files that it replaces."""
    if node.compacted is None or node.state.keyed is None:
        return node.state
    handle = node.compacted.adopted(node.state.keyed)
    return node.state if handle is None else replace(node.state, keyed=handle)


def _is_exactly(handles: tuple[KeyedStateHandle, ...], first: int, last: int) -> bool:
    """True if the files hold the subtask's key groups and no others: new deltas can simply follow them."""
    return len(handles) == 1 and (handles[0].first_key_group, handles[0].last_key_group) == (first, last)


def _is_foreign(handle: KeyedStateHandle, root: str) -> bool:
    """Whether the job depends on files that others may delete: those of a checkpoint that it does not own."""
    return any(not ref.path.startswith(root + "/") for ref in handle.files)


def is_written_beside(handle: KeyedStateHandle, settings: SnapshotSettings) -> bool:
    """Whether a snapshot of it is a matter for a process beside the epochs (`compaction.py`)."""
    size = handle.snapshot.size_bytes if handle.snapshot else 0
    deltas, added = len(handle.deltas), handle.delta_bytes
    overdue = (
        added > BACKGROUND_OVERDUE * max(settings.background_bytes, size)
        or deltas >= BACKGROUND_OVERDUE * SNAPSHOT_MAX_DELTAS
    )
    return size + added >= settings.background_bytes and not overdue


def wants_snapshot(handle: KeyedStateHandle, settings: SnapshotSettings) -> bool:
    """Whether the whole state should be written instead of adding to its deltas for ever."""
    size = handle.snapshot.size_bytes if handle.snapshot else 0
    deltas, added = len(handle.deltas), handle.delta_bytes
    if added > max(settings.min_growth_bytes, size) or deltas >= SNAPSHOT_MAX_DELTAS:
        return True
    return deltas >= SNAPSHOT_DELTAS and (size <= settings.min_growth_bytes or added * SNAPSHOT_PART >= size)
