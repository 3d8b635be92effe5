"""Where a job starts from: the checkpoint to use, and the progress it stands for."""

from __future__ import annotations

from penstock.checkpoint.metadata import CheckpointMetadata
from penstock.checkpoint.resolve import OperatorDescription, resolve_restore
from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.configuration import Configuration
from penstock.common.options import StateOptions
from penstock.graph.stream_graph import StreamGraph
from penstock.runtime.progress import JobProgress, NodeProgress, SplitState


def find_restore_point(
    storage: CheckpointStorage, configuration: Configuration, resumes: bool
) -> CheckpointMetadata | None:
    """The job's own newest complete checkpoint, else the one that the configuration names."""
    path = configuration.get(StateOptions.RECOVERY_PATH)
    own = storage.newest_complete() if resumes else None
    if own is not None or path is None:
        return own
    return storage.read_metadata(path)


def restore_progress(
    graph: StreamGraph, metadata: CheckpointMetadata, allow_non_restored: bool
) -> JobProgress:
    """Maps the checkpoint's operators to the program's by uid.

    Raises:
        StateMigrationError: State would be lost, or an operator's max parallelism has changed, which would
            move keys between key groups.
    """
    described = [
        OperatorDescription(n.uid, n.name, n.parallelism, n.max_parallelism, n.is_keyed) for n in graph.nodes
    ]
    resolve_restore(metadata, described, allow_non_restored)
    by_uid = {node.uid: node for node in graph.nodes}
    nodes = {
        by_uid[uid].id: NodeProgress(operator.subtasks)
        for uid, operator in metadata.operators.items()
        if uid in by_uid
    }
    splits = {
        by_uid[uid].id: {
            split_id: SplitState(split, subtask, position, finished)
            for split_id, (split, position, finished, subtask) in source.splits.items()
        }
        for uid, source in metadata.sources.items()
        if uid in by_uid
    }
    return JobProgress(metadata.epoch, nodes, splits, {})
