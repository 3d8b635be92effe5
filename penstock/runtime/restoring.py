"""Where a job starts from: the checkpoint to use, who takes over what, and the progress it stands for."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from penstock.checkpoint.handles import OperatorSubtaskState
from penstock.checkpoint.listing import find_snapshots
from penstock.checkpoint.metadata import CheckpointMetadata, SourceCheckpoint
from penstock.checkpoint.resolve import OperatorDescription, RestorePlan, resolve_restore
from penstock.checkpoint.savepoint import RunAll, one_by_one, savepoint_is_intact
from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.configuration import Configuration
from penstock.common.errors import DamagedStateError, NotSupportedError
from penstock.common.ids import EpochId, OperatorUid
from penstock.common.options import CheckpointingOptions, StateOptions
from penstock.connectors.sink import Committer
from penstock.connectors.source import SplitEnumerator
from penstock.graph.stream_graph import StreamGraph
from penstock.runtime.history import CheckpointRecord, now_ms
from penstock.runtime.plan import JobDefinition
from penstock.runtime.progress import NO_EPOCH, SINK_STATES, JobProgress, NodeProgress, SplitState

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class RestorePoint:
    """What a job starts from. `path` is the checkpoint or savepoint that somebody named; None for its own."""

    metadata: CheckpointMetadata
    path: str | None = None
    claimed: bool = False


def find_restore_point(
    storage: CheckpointStorage,
    configuration: Configuration,
    resumes: bool,
    run: RunAll = one_by_one,
    against_going_back: Callable[[CheckpointMetadata], str | None] | None = None,
) -> RestorePoint | None:
    """The job's own newest complete checkpoint, else the one that the configuration names.

    Args:
        run: Where the parts of a savepoint are read.
        against_going_back: What speaks against an older checkpoint if the newest is damaged; by default everything.
    """
    path = configuration.get(StateOptions.RECOVERY_PATH)
    own = _own_newest(storage, path, against_going_back) if resumes else None
    if own is not None:
        return RestorePoint(own)
    if path is None:
        return None
    claims = claims_snapshot(configuration)
    metadata = storage.read_metadata(path, run)
    if claims and not storage.durable:
        LOG.warning(
            "%s is not claimed: a job without execution.checkpointing.dir cannot own a snapshot", path
        )
        claims = False
    return RestorePoint(metadata if claims else _with_own_files(metadata, storage), path, claims)


def _own_newest(
    storage: CheckpointStorage,
    named: str | None,
    against_going_back: Callable[[CheckpointMetadata], str | None] | None,
) -> CheckpointMetadata | None:
    try:
        return storage.newest_complete()
    except DamagedStateError as damaged:
        if named is not None:
            return None  # somebody has said what to use instead
        older = storage.newest_intact() if against_going_back is not None else None
        if older is None or against_going_back is None:
            raise
        reason = against_going_back(older)
        if reason is not None:
            damaged.do = (
                f"{damaged.do}\nIt is not gone on from the newest of them by itself, because {reason}."
            )
            raise
        LOG.warning(
            "%s: %s; the job goes on from the checkpoint before, %d, and runs again what came after it",
            damaged.where,
            damaged.what,
            older.epoch,
        )
        return older


def what_is_against_going_back(
    committers: Mapping[str, Committer], enumerators: Mapping[str, SplitEnumerator]
) -> str | None:
    """Why a job cannot run published epochs again without a trace; None if it can.

    The next epoch after an older checkpoint has its number again, but another cut of the input. A sink that has
    published the number would show elements twice or pass over them, and a source may not have them any more.
    """
    for name, committer in committers.items():
        if not committer.repeats_harmlessly:
            return f"sink {name} may have published later output, which would be there twice"
    for name, enumerator in enumerators.items():
        told = type(enumerator).on_committed is not SplitEnumerator.on_committed
        if told and not enumerator.reads_committed_again:
            return f"source {name} has acknowledged later input, which cannot be read again"
    return None


def tell_restore_point(job_name: str, point: RestorePoint, storage: CheckpointStorage) -> None:
    """One line for whoever started the job: that it does not begin anew, and where it goes on."""
    epoch = point.metadata.epoch
    LOG.info(
        "job '%s' goes on from checkpoint %d (%s)",
        job_name,
        epoch,
        point.path or storage.checkpoint_path(epoch),
    )


@functools.lru_cache(maxsize=1)
def tell_no_directory() -> None:
    """Once per process: checkpoints were asked for, and would be lost with the driver."""
    LOG.warning(
        "checkpoints are kept in a temporary folder, because no directory is configured: jobs restart after "
        "failures, but begin anew if this process ends. Set execution.checkpointing.dir to go on after that, too"
    )


def restored_record(point: RestorePoint, storage: CheckpointStorage) -> CheckpointRecord:
    """The checkpoint that a job started from, for its history."""
    path = point.path or storage.checkpoint_path(point.metadata.epoch)
    now = now_ms()
    from_savepoint = point.path is not None and "chk-" not in point.path
    return CheckpointRecord(
        int(point.metadata.epoch), "COMPLETED", now, now, path=path, is_savepoint=from_savepoint
    )


def claims_snapshot(configuration: Configuration) -> bool:
    """Whether the job becomes the owner of what it starts from.

    Raises:
        NotSupportedError: Flink's former mode, in which nobody was the owner.
    """
    given = configuration.get_string(StateOptions.CLAIM_MODE.key, "") or ""
    if given.upper() == "LEGACY":
        raise NotSupportedError(
            "the restore mode LEGACY",
            "nobody would know when files of the checkpoint may be deleted; Flink 2 has dropped it",
            do="use CLAIM or NO_CLAIM (execution.state-recovery.claim-mode, --restore-mode)",
        )
    return str(configuration.get(StateOptions.CLAIM_MODE)).upper() == "CLAIM"


def _with_own_files(metadata: CheckpointMetadata, storage: CheckpointStorage) -> CheckpointMetadata:
    """Copies the files of subtasks that have ended, and so will never write any of their own."""

    def copied(subtask: OperatorSubtaskState) -> OperatorSubtaskState:
        foreign = [ref for ref in subtask.files if not ref.path.startswith(storage.root + "/")]
        if not subtask.ended or not foreign:
            return subtask
        target = f"shared/ended/{metadata.epoch:08d}-"
        own = {
            ref: storage.write_file(target + ref.path.rpartition("/")[2], storage.read_file(ref))
            for ref in foreign
        }
        return subtask.with_files(own)

    operators = {
        uid: replace(op, subtasks=tuple(copied(sub) for sub in op.subtasks))
        for uid, op in metadata.operators.items()
    }
    return replace(metadata, operators=operators)


def where_to_go_on_from(storage: CheckpointStorage, job: JobDefinition) -> str:
    """What to do when a state file turned out to be damaged: names the checkpoints and savepoints without it."""
    usable = storage.usable() + _usable_savepoints(job)
    if not usable:
        return "no checkpoint of this job is usable: start from a savepoint, wherever you have one, or anew"
    listed = "\n".join(usable)
    return (
        "these are usable, start from one with execution.state-recovery.path; the output since then comes again, so "
        f"what sinks have published of it would be there twice:\n{listed}"
    )


def _usable_savepoints(job: JobDefinition) -> list[str]:
    """The job's own, in the configured folder, newest first; every part is read."""
    folder = job.configuration.get(CheckpointingOptions.SAVEPOINT_DIRECTORY.key)
    if not folder:
        return []
    own = [s for s in find_snapshots(folder) if s.kind == "savepoint" and s.job_id == job.job_id]
    return [s.path for s in reversed(own) if savepoint_is_intact(s.path)]


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


def restored_progress(
    graph: StreamGraph, metadata: CheckpointMetadata, plan: RestorePlan, claimed: bool = False
) -> JobProgress:
    """The job as the checkpoint left it; its next epoch follows the plan."""
    nodes, splits = {}, {}
    for node in graph.nodes:
        if node.uid in metadata.operators:
            states = metadata.operators[node.uid].subtasks
            nodes[node.id] = NodeProgress(states, plan.operators[node.uid])
        if node.uid in plan.sources:
            splits[node.id] = _split_states(plan.sources[node.uid])
    return JobProgress(plan.epoch, nodes, splits, {}, metadata.properties.get(SINK_STATES, {}), claimed)


def enumerator_states(
    sources: Mapping[OperatorUid, SourceCheckpoint], epoch: EpochId
) -> dict[OperatorUid, Any]:
    """What enumerators go on from.

    Before the first epoch nobody may have asked a source for its splits, and its enumerator would think that it has
    handed them out: that one begins anew.
    """
    return {uid: s.enumerator for uid, s in sources.items() if s.splits or epoch > NO_EPOCH}


def _split_states(source: SourceCheckpoint) -> dict[str, SplitState]:
    return {
        split_id: SplitState(split, subtask, position, finished)
        for split_id, (split, position, finished, subtask) in source.splits.items()
    }
