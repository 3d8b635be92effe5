"""What a checkpoint is: one small file that names every byte needed to go on from the end of an epoch.

Writing this file, aside and then renamed, is the commit of the epoch: before the rename the epoch has not
happened, after it the epoch has happened and its output is going to be published, even across a crash.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.checkpoint.handles import FileRef, OperatorSubtaskState
from penstock.common.ids import EpochId, OperatorUid


@dataclass(frozen=True)
class OperatorCheckpoint:
    """State of one operator: an entry per subtask, in subtask order."""

    uid: OperatorUid
    name: str
    parallelism: int
    max_parallelism: int
    subtasks: tuple[OperatorSubtaskState, ...]


@dataclass(frozen=True)
class SourceCheckpoint:
    """Where a source stands: its enumerator's own state and the position in every split it knows.

    `splits` maps split id to (split, position, finished, subtask); split and position belong to the connector
    and only have to be picklable.
    """

    uid: OperatorUid
    enumerator: Any
    splits: dict[str, tuple[Any, Any, bool, int]]


@dataclass(frozen=True)
class PendingCommit:
    """Committables of one sink that became durable with this checkpoint. Committing them is idempotent."""

    uid: OperatorUid
    committables: tuple[Any, ...]


@dataclass(frozen=True)
class CheckpointMetadata:
    """The checkpoint of epoch `epoch`. `finished` is set on the last one of a bounded job."""

    epoch: EpochId
    job_id: str
    job_name: str
    timestamp_ms: int
    operators: dict[OperatorUid, OperatorCheckpoint] = field(default_factory=dict)
    sources: dict[OperatorUid, SourceCheckpoint] = field(default_factory=dict)
    commits: tuple[PendingCommit, ...] = ()
    finished: bool = False
    properties: dict[str, Any] = field(default_factory=dict)

    @property
    def files(self) -> set[FileRef]:
        """Every file that must not be deleted while this checkpoint is retained: state, and output to publish."""
        state = {f for op in self.operators.values() for sub in op.subtasks for f in sub.files}
        named = (getattr(item, "files", None) for c in self.commits for item in c.committables)
        stored = (f for files in named if isinstance(files, tuple) for f in files)
        return state | {f.ref for f in stored if isinstance(getattr(f, "ref", None), FileRef)}
