"""The sink of a filesystem table: rows to files, exactly once.

    task     writes each partition's rows to files of their own (rolling.py) in a hidden staging folder of the
             table; where the files are, and where they belong, are its committables
    driver   says which files wait for those of later epochs (compaction.py), and which partitions are complete now
             (partition_commit.py)
             when the epoch is durable: makes room (overwrite), merges and moves the files, marks partitions

    <path>/.staging_<id>/<epoch>/<unique>-0     what a writer leaves
    <path>/day=mon/part-<unique>-0-0            what readers see

A retried or speculative task writes under another name, and only files that are committed are moved. A file that is
not in the staging folder any more was moved by an earlier try, so committing twice is harmless. When an epoch has
been committed nothing else in its folder is needed; what an epoch that was never committed has left stays hidden.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyarrow import fs

from penstock.common.datatypes import RowType
from penstock.common.points import Point, reach
from penstock.common.storage_errors import writing_to
from penstock.connectors.filesystem.compaction import (
    CompletePartition,
    FilesAcrossEpochs,
    MergedFile,
    SweptFolders,
)
from penstock.connectors.filesystem.files import FileStore
from penstock.connectors.filesystem.merging import merge
from penstock.connectors.filesystem.partition_commit import Trigger, decide
from penstock.connectors.filesystem.partitions import Partitioning
from penstock.connectors.filesystem.writer import FileTableWriter, StagedFile
from penstock.connectors.sink import Committer, Moment, Sink, SinkCoordinator, Taken, WriterContext

_EPOCH_FOLDER = re.compile(r"(.*/\.staging_[0-9a-f]+/\d+)/.")

__all__ = ["CompletePartition", "FileTableCommitter", "FileTableSink", "PartitionCommits"]


@dataclass(frozen=True)
class FileTableSink(Sink):
    """How a table's rows become files.

    Attributes:
        options: The table's options, of which the format reads its own.
        row_type: The table's columns; those of `partitioning` are in folder names, not in files.
        staging: The hidden folder, of this sink alone.
        changelog: Whether the format writes kinds of changes.
        limit_bytes: A file larger than that gets no more rows.
        trigger: When a partition is complete; None if nobody wants to know.
        bounded: All is committed once: what is then left in the staging folder is of no use.
        overwrite: Files that are there are replaced.
        hold_ms: So long files wait at most for those of later epochs, to be merged with them (`compaction.py`).
    """

    store: FileStore
    format_name: str
    options: Mapping[str, str]
    row_type: RowType
    partitioning: Partitioning
    staging: str
    changelog: bool = False
    limit_bytes: int = 128 << 20
    trigger: Trigger | None = None
    success_file: str = "_SUCCESS"
    bounded: bool = False
    overwrite: bool = False
    hold_ms: int | None = None

    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> FileTableWriter:
        return FileTableWriter(self, f"{self.staging}/{context.epoch}")

    def create_committer(self) -> FileTableCommitter:
        return FileTableCommitter(self)

    def create_coordinator(self) -> SinkCoordinator | None:
        if self.hold_ms is not None:
            return FilesAcrossEpochs(self.limit_bytes, self.hold_ms, self.trigger)
        return None if self.trigger is None else PartitionCommits(self.trigger)

    def file_type(self) -> RowType:
        """What stands in the files: the columns that are not in folder names."""
        kept = [f for f in self.row_type.fields if f.name not in self.partitioning.keys]
        return RowType(kept, nullable=False)


class PartitionCommits(SinkCoordinator):
    """Adds the partitions that are complete now; those that are not, are the state."""

    def __init__(self, trigger: Trigger) -> None:
        self._trigger = trigger

    def at_epoch_end(self, committables: Sequence[Any], moment: Moment, state: Any) -> Taken:
        written = {file.folder for file in committables}
        decision = decide(self._trigger, state or {}, written, moment)
        complete = tuple(CompletePartition(folder) for folder in decision.commit)
        return Taken((*committables, *complete), dict(decision.pending) or None, decision.wake_ms)


class FileTableCommitter(Committer):
    """Moves files to their places, then marks partitions."""

    takes_several_epochs = True

    def __init__(self, sink: FileTableSink) -> None:
        self._sink = sink
        self._store = sink.store
        self._stagings = {sink.staging}

    def commit(self, committables: Sequence[Any]) -> None:
        files = [item for item in committables if isinstance(item, StagedFile)]
        infos = self._store.system.get_file_info([file.staged for file in files])
        waiting = [f for f, info in zip(files, infos, strict=True) if info.type == fs.FileType.File]
        partitioned = bool(self._sink.partitioning.keys)
        publish(self._store, waiting, overwrite=self._sink.overwrite, partitioned=partitioned)
        for item in committables:
            if isinstance(item, MergedFile):
                self._merge(item)
        folders = [item.folder for item in committables if isinstance(item, CompletePartition)]
        mark_complete(self._store, folders, self._sink.success_file)
        for folder in self._ended_epochs(files, committables):
            self._store.delete_folder(folder)
            self._stagings.add(posixpath.dirname(folder))

    def _merge(self, merged: MergedFile) -> None:
        """The file is there, whole, or it is not: only then the parts go."""
        sink, store = self._sink, self._store
        folder = f"{store.root}/{merged.folder}" if merged.folder else store.root
        target = f"{folder}/{merged.name}"
        infos = store.system.get_file_info([target, *(part.staged for part in merged.parts)])
        there = [info.path for info in infos[1:] if info.type == fs.FileType.File]
        if infos[0].type != fs.FileType.File and there:
            aside = f"{posixpath.dirname(there[0])}/{merged.name}"
            with writing_to(store.location):
                merge(store, sink.format_name, sink.file_type(), sink.options, there, aside)
                store.move(aside, target)
        for path in there:
            store.discard(path)

    def _ended_epochs(self, files: Sequence[StagedFile], committables: Sequence[Any]) -> Sequence[str]:
        if self._sink.hold_ms is None:
            return _epoch_folders(files)
        return [path for item in committables if isinstance(item, SweptFolders) for path in item.paths]

    def close(self) -> None:
        """Files that a checkpoint may name and that were not moved yet are left for whoever restores it."""
        for folder in self._stagings:
            if self._sink.bounded or not self._store.has_files(folder):
                self._store.delete_folder(folder)


def _epoch_folders(files: Sequence[StagedFile]) -> list[str]:
    """`<path>/.staging_<id>/<epoch>` of the files that lie in such a folder."""
    found = {match[1] for file in files if (match := _EPOCH_FOLDER.match(file.staged))}
    return sorted(found)


def publish(store: FileStore, files: Sequence[StagedFile], *, overwrite: bool, partitioned: bool) -> None:
    """Makes the staged files visible.

    Overwriting a table without partitions replaces everything, also by nothing; overwriting a partitioned
    table replaces the partitions that receive rows.
    """
    folders = sorted({file.folder for file in files})
    if overwrite:
        for old in store.files() if store.exists() else []:
            if not partitioned or store.relative(old.path).rsplit("/", 1)[0] in folders:
                store.delete(old.path)
    store.create_folder(store.root)
    for file in files:
        folder = f"{store.root}/{file.folder}" if file.folder else store.root
        reach(Point.RENAME_NEXT)
        store.move(file.staged, f"{folder}/{file.name}")
        reach(Point.RENAMED)


def mark_complete(store: FileStore, folders: Sequence[str], success_file: str) -> None:
    """Tells readers that partitions are complete; telling it twice is harmless."""
    for folder in folders:
        store.write_empty(f"{store.root}/{folder}/{success_file}")
