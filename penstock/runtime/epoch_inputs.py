"""What an epoch was given to do, kept so that it can be run again: `penstock replay` (`replay.py`).

An epoch is its input and the state before it. The state is in the checkpoint before; a checkpoint keeps, as a
property of its metadata, the inputs of the epochs that it commits. Of an epoch that has failed there is none: the
input of the last one lies in the job's folder. The job itself, as tasks know it, lies there, too.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.ids import EpochId, OperatorUid
from penstock.common.pickling import dumps
from penstock.runtime.plan import JobDefinition, SourcePlan, SplitRead, SubtaskReport

EPOCH_INPUTS = "epochs"
"""The property of a checkpoint."""
DEFINITION_FILE = "_definition"
FAILED_FILE = "_failed_epoch"


@dataclass(frozen=True)
class EpochInput:
    """One epoch; `sources` by uid and subtask. `error`: what it has failed with, without traceback and advice."""

    epoch: EpochId
    processing_time_ms: int
    sources: Mapping[tuple[OperatorUid, int], SourcePlan]
    error: str = ""


def input_of(
    job: JobDefinition,
    epoch: EpochId,
    now_ms: int,
    sources: Mapping[tuple[int, int], SourcePlan],
    error: str = "",
) -> EpochInput:
    """As it was planned."""
    by_uid = {(job.graph.nodes[node].uid, subtask): plan for (node, subtask), plan in sources.items()}
    return EpochInput(epoch, now_ms, by_uid, error)


def as_read(given: EpochInput, reports: Sequence[SubtaskReport]) -> EpochInput:
    """As much of it as was read: a task takes input for a limited time only."""
    read = {
        (node.uid, report.subtask, done.split_id): done.records
        for report in reports
        for node in report.nodes
        for done in node.splits
    }

    def cut(place: tuple[OperatorUid, int], plan: SourcePlan) -> SourcePlan:
        return replace(plan, reads=tuple(_cut(r, read.get((*place, r.split.split_id))) for r in plan.reads))

    return replace(given, sources={place: cut(place, plan) for place, plan in given.sources.items()})


def _cut(read: SplitRead, records: int | None) -> SplitRead:
    return read if records is None else replace(read, limit=replace(read.limit, max_records=records))


@dataclass(frozen=True)
class NamedSplit:
    """A split that is in the checkpoint anyway, among those of its source."""

    split_id: str


def with_names(given: EpochInput, known: Mapping[OperatorUid, Mapping[str, Any]]) -> EpochInput:
    """The input without splits that the checkpoint has: some of them are large."""

    def named(uid: OperatorUid, read: SplitRead) -> SplitRead:
        there = read.split.split_id in known.get(uid, {})
        return replace(read, split=NamedSplit(read.split.split_id)) if there else read  # type: ignore[arg-type]

    return _with_reads(given, named)


def with_splits(given: EpochInput, known: Mapping[OperatorUid, Mapping[str, Any]]) -> EpochInput:
    """The input as it was, given the splits of the checkpoint's sources."""

    def found(uid: OperatorUid, read: SplitRead) -> SplitRead:
        split: Any = read.split
        return replace(read, split=known[uid][split.split_id][0]) if isinstance(split, NamedSplit) else read

    return _with_reads(given, found)


def _with_reads(given: EpochInput, change: Callable[[OperatorUid, SplitRead], SplitRead]) -> EpochInput:
    sources = {
        (uid, subtask): replace(plan, reads=tuple(change(uid, read) for read in plan.reads))
        for (uid, subtask), plan in given.sources.items()
    }
    return replace(given, sources=sources)


def keep_definition(storage: CheckpointStorage, shipped: bytes) -> None:
    storage.write_file(DEFINITION_FILE, shipped)


def keep_failed(storage: CheckpointStorage, inputs: Sequence[EpochInput]) -> None:
    """`inputs`: from the last checkpoint on; the last one is of the epoch that has failed."""
    storage.write_file(FAILED_FILE, dumps(tuple(inputs)))


def failed_epochs(data: bytes) -> tuple[EpochInput, ...]:
    found: tuple[EpochInput, ...] = pickle.loads(data)
    return found
