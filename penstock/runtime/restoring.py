"""Where a job starts from: the checkpoint to use, who takes over what, and the progress it stands for."""

from __future__ import annotations

import logging

from penstock.checkpoint.metadata import CheckpointMetadata, SourceCheckpoint
from penstock.checkpoint.resolve import OperatorDescription, RestorePlan, resolve_restore
from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.configuration import Configuration
from penstock.common.options import StateOptions
from penstock.graph.stream_graph import StreamGraph
from penstock.runtime.progress import SINK_STATES, JobProgress, NodeProgress, SplitState

LOG = logging.getLogger(__name__)


def find_restore_point(
    storage: CheckpointStorage, configuration: Configuration, resumes: bool
) -> CheckpointMetadata | None:
    """The job's own newest complete checkpoint, else the one that the configuration names."""
    path = configuration.get(StateOptions.RECOVERY_PATH)
    own = storage.newest_complete() if resumes else None
    if own is not None or path is None:
        return own
    return storage.read_metadata(path)


def where_to_go_on_from(storage: CheckpointStorage) -> str:
    """What to do when a state file turned out to be damaged: names the checkpoints that do not need it."""
    usable = storage.usable()
    if not usable:
        return "no checkpoint of this job is usable: start from a savepoint, or anew"
    listed = "\n".join(usable)
    return f"these checkpoints are usable, start from one with execution.state-recovery.path:\n{listed}"


def plan_restore(graph: StreamGraph, metadata: CheckpointMetadata, allow_non_restored: bool) -> RestorePlan:
    """Maps the checkpoint's operators to the program's by uid.

    Raises:
        StateMigrationError: State would be lost, or an operator's max parallelism has changed, which would
            move keys between key groups.
    """
    described = [
        OperatorDescription(n.uid, n.name, n.parallelism, n.max_parallelism, n.is_keyed, n.is_source)
        for n in graph.nodes
    ]
    plan = resolve_restore(metadata, described, allow_non_restored)
    if plan.starting_empty:
        LOG.info("checkpoint %d has no state of %s", plan.epoch, ", ".join(plan.starting_empty))
    if plan.dropped:
        LOG.warning("checkpoint %d: the state of %s is dropped", plan.epoch, ", ".join(plan.dropped))
    return plan


def restored_progress(graph: StreamGraph, metadata: CheckpointMetadata, plan: RestorePlan) -> JobProgress:
    """The job as the checkpoint left it; its next epoch follows the plan."""
    nodes, splits = {}, {}
    for node in graph.nodes:
        if node.uid in metadata.operators:
            states = metadata.operators[node.uid].subtasks
            nodes[node.id] = NodeProgress(states, plan.operators[node.uid])
        if node.uid in plan.sources:
            splits[node.id] = _split_states(plan.sources[node.uid])
    return JobProgress(plan.epoch, nodes, splits, {}, metadata.properties.get(SINK_STATES, {}))


def _split_states(source: SourceCheckpoint) -> dict[str, SplitState]:
    return {
        split_id: SplitState(split, subtask, position, finished)
        for split_id, (split, position, finished, subtask) in source.splits.items()
    }
