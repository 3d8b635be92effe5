"""Small files of several epochs become one before anybody sees them.

`auto-compaction` brings the rows of an epoch together, so an epoch leaves one file for each partition, as a
checkpoint of Flink's does. Epochs are much shorter than checkpoints usually are. With a
`sink.rolling-policy.rollover-interval` files therefore wait, hidden in the staging folder, until there is enough of
them, and are merged then:

    compaction.file-size 10      epoch 1: 4 bytes   2: 3 bytes   3: 5 bytes          4: 2 bytes ...
                                 waits              waits        12: merged, shown   waits, for the interval at most

What waits is part of every checkpoint. A partition that is complete, and the end of the input, wait for nothing.
This module decides, without files or a clock; `merging.py` merges.
"""

from __future__ import annotations

import posixpath
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.connectors.filesystem.partition_commit import Decision, Pending, Trigger, decide
from penstock.connectors.filesystem.writer import StagedFile
from penstock.connectors.sink import Moment, SinkCoordinator, Taken

__all__ = ["CompletePartition", "FilesAcrossEpochs", "MergedFile", "SweptFolders"]


@dataclass(frozen=True)
class CompletePartition:
    """Committable: a partition that gets its success file, after all files of the epoch are in their places."""

    folder: str


@dataclass(frozen=True)
class MergedFile:
    """Committable: files of several epochs that become one."""

    parts: tuple[StagedFile, ...]
    folder: str
    name: str


@dataclass(frozen=True)
class SweptFolders:
    """Committable: folders of epochs of which nothing waits any more."""

    paths: tuple[str, ...]


@dataclass(frozen=True)
class WaitingFiles:
    """The files of a partition that nobody sees yet, and when the first of them was written."""

    files: tuple[StagedFile, ...]
    since_ms: int

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


@dataclass(frozen=True)
class CompactionState:
    """What a checkpoint keeps."""

    waiting: Mapping[str, WaitingFiles] = field(default_factory=dict)
    pending: Pending = field(default_factory=dict)


class FilesAcrossEpochs(SinkCoordinator):
    """Holds files back until they make one that is worth reading.

    Args:
        limit_bytes: So much is enough.
        interval_ms: So long a file waits at most.
        trigger: When a partition is complete; None if nobody wants to know.
    """

    def __init__(self, limit_bytes: int, interval_ms: int, trigger: Trigger | None) -> None:
        self._limit_bytes = limit_bytes
        self._interval_ms = interval_ms
        self._trigger = trigger

    def at_epoch_end(self, committables: Sequence[Any], moment: Moment, state: Any) -> Taken:
        before = state or CompactionState()
        waiting = _added(before.waiting, committables, moment.processing_time_ms)
        decision = Decision()
        if self._trigger is not None:
            written = {file.folder for file in committables}
            decision = decide(self._trigger, before.pending, written, moment)
        due = [f for f, files in waiting.items() if self._is_due(f, files, moment, decision)]
        left = {folder: files for folder, files in waiting.items() if folder not in due}
        merged = tuple(_merged(waiting[folder].files) for folder in due)
        complete = tuple(CompletePartition(folder) for folder in decision.commit)
        swept = sorted(_folders(waiting) - _folders(left))
        sweep = (SweptFolders(tuple(swept)),) if swept else ()
        kept = CompactionState(left, dict(decision.pending)) if left or decision.pending else None
        wakes = [files.since_ms + self._interval_ms for files in left.values()]
        wakes += [decision.wake_ms] if decision.wake_ms is not None else []
        return Taken((*merged, *complete, *sweep), kept, min(wakes, default=None))

    def _is_due(self, folder: str, files: WaitingFiles, moment: Moment, decision: Decision) -> bool:
        return (
            moment.final
            or folder in decision.commit
            or files.size >= self._limit_bytes
            or moment.processing_time_ms >= files.since_ms + self._interval_ms
        )


def _added(
    waiting: Mapping[str, WaitingFiles], files: Sequence[StagedFile], now_ms: int
) -> dict[str, WaitingFiles]:
    """The files that wait, with those of the epoch, in order."""
    found = dict(waiting)
    for file in files:
        there = found.get(file.folder, WaitingFiles((), now_ms))
        found[file.folder] = WaitingFiles((*there.files, file), there.since_ms)
    return found


def _merged(files: tuple[StagedFile, ...]) -> StagedFile | MergedFile:
    """One file is moved as it is."""
    if len(files) == 1:
        return files[0]
    ending = posixpath.splitext(files[0].name)[1]
    return MergedFile(files, files[0].folder, f"compacted-{uuid.uuid4().hex}{ending}")


def _folders(waiting: Mapping[str, WaitingFiles]) -> set[str]:
    return {posixpath.dirname(file.staged) for files in waiting.values() for file in files.files}
