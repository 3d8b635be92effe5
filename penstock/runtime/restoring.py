"""Where a job starts from: the checkpoint to use, and the progress it stands for."""

from __future__ import annotations

from penstock.checkpoint.metadata import CheckpointMetadata
from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.configuration import Configuration
from penstock.common.errors import StateError
from penstock.common.options import StateOptions
from penstock.graph.stream_graph import StreamGraph
from penstock.runtime.progress import JobProgress, NodeProgress, SplitState


def find_restore_point(
    storage: CheckpointStorage, configuration: Configuration, resumes: bool
) -> CheckpointMetadata | None:
    """The savepoint or checkpoint that the configuration names, else the job's own newest complete one."""
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
        StateError: The checkpoint has state of an operator that the program lacks, or an operator's max
            parallelism has changed, which would move keys between key groups.
    """
    by_uid = {node.uid: node for node in graph.nodes}
    lost = [op for uid, op in metadata.operators.items() if uid not in by_uid and _has_state(op)]
    if lost and not allow_non_restored:
        raise StateError(
            f"the checkpoint holds state of operator '{lost[0].name}' (uid {lost[0].uid}), "
            "which the program does not have",
            do="give the operator its uid back, or set execution.state-recovery.ignore-unclaimed-state=true",
        )
    nodes: dict[int, NodeProgress] = {}
    for uid, operator in metadata.operators.items():
        node = by_uid.get(uid)
        if node is None:
            continue
        if node.is_keyed and node.max_parallelism != operator.max_parallelism:
            raise StateError(
                f"'{node.name}' had max parallelism {operator.max_parallelism} and now has "
                f"{node.max_parallelism}",
                do=f"call set_max_parallelism({operator.max_parallelism})",
            )
        nodes[node.id] = NodeProgress(operator.subtasks)
    splits = {
        by_uid[uid].id: {
            split_id: SplitState(split, subtask, position, finished)
            for split_id, (split, position, finished, subtask) in source.splits.items()
        }
        for uid, source in metadata.sources.items()
        if uid in by_uid
    }
    return JobProgress(metadata.epoch, nodes, splits, {})


def _has_state(operator: object) -> bool:
    subtasks = getattr(operator, "subtasks", ())
    return any(s.keyed is not None or s.operator_state is not None for s in subtasks)
