"""Rows to files, exactly once.

    task     writes each partition's rows to files of their own (rolling.py) in a hidden staging folder of the
             table, and returns where the files are and where they belong
    driver   when all tasks have returned: makes room (overwrite), moves the files, marks partitions

A retried or speculative task writes under another name, and only files that a finished task reported are
moved. The staging folder is deleted in every case, so a failed job leaves nothing behind.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa

from penstock.common.datatypes import RowType
from penstock.formats import find_format
from penstock.formats.base import INSERT
from penstock.sql.connectors.filesystem.files import FileStore
from penstock.sql.connectors.filesystem.partitions import Partitioning
from penstock.sql.connectors.filesystem.rolling import AvroWriter, LineWriter, PartWriter, RollingWriter
from penstock.sql.connectors.spark_types import ArrowToRows

STAGED_SCHEMA = "staged STRING, folder STRING, name STRING"


@dataclass(frozen=True)
class StagedFile:
    """A file that a task has written: where it is, and the folder and name it is to get."""

    staged: str
    folder: str
    name: str


@dataclass(frozen=True)
class FileSink:
    """How a table's rows become files; pickled into the tasks."""

    store: FileStore
    format_name: str
    options: Mapping[str, str]
    row_type: RowType
    partitioning: Partitioning
    staging: str
    kind_column: bool = False
    limit_bytes: int = 128 << 20

    def write(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The body of a task: all its rows into the files of their partitions."""
        names = self.row_type.field_names()
        keys = [names.index(key) for key in self.partitioning.keys]
        kept = [i for i in range(len(names)) if i not in keys]
        to_rows = ArrowToRows(self.row_type)
        staged: list[StagedFile] = []
        with ExitStack() as stack:
            writers: dict[tuple[Any, ...], RollingWriter] = {}
            for batch in batches:
                kinds, batch = self._split_kinds(batch)
                for n, row in enumerate(to_rows.rows(batch)):
                    partition = tuple(row[i] for i in keys)
                    writer = writers.get(partition)
                    if writer is None:
                        writer = stack.enter_context(self._writer(partition, staged))
                        writers[partition] = writer
                    writer.write(kinds[n] if kinds else INSERT, tuple(row[i] for i in kept))
        yield _report(staged)

    def _split_kinds(self, batch: pa.RecordBatch) -> tuple[list[int] | None, pa.RecordBatch]:
        if not self.kind_column:
            return None, batch
        last = batch.num_columns - 1
        return batch.column(last).to_pylist(), batch.select(range(last))

    def _writer(self, partition: tuple[Any, ...], staged: list[StagedFile]) -> RollingWriter:
        """Writes the rows of a partition; every file it begins is noted in `staged`."""
        unique, folder = uuid.uuid4().hex, self.partitioning.folder(partition)

        def open_file(number: int) -> BinaryIO:
            file = StagedFile(f"{self.staging}/{unique}-{number}", folder, f"part-{unique}-0-{number}")
            staged.append(file)
            return self.store.open_output(file.staged)

        return RollingWriter(open_file, self._part_writer, self.limit_bytes)

    def _part_writer(self, stream: BinaryIO) -> PartWriter:
        file_format = find_format(self.format_name)
        options = file_format.read_options(self.options)
        if file_format.encoder is None:
            return AvroWriter(stream, self.file_type(), options["codec"])
        if self.format_name == "csv":
            # Flink's file writer does not look at this option; only its record serializer does.
            options["write-bigdecimal-in-scientific-notation"] = True
        return LineWriter(stream, file_format.encoder(self.file_type(), options))

    def file_type(self) -> RowType:
        """What stands in the files: the columns that are not in folder names."""
        return RowType(
            [f for f in self.row_type.fields if f.name not in self.partitioning.keys], nullable=False
        )


def _report(files: Sequence[StagedFile]) -> pa.RecordBatch:
    columns = [
        pa.array([getattr(f, part) for f in files], pa.string()) for part in ("staged", "folder", "name")
    ]
    return pa.RecordBatch.from_arrays(columns, names=["staged", "folder", "name"])


def commit(
    store: FileStore,
    files: Sequence[StagedFile],
    *,
    overwrite: bool,
    partitioned: bool,
) -> None:
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
        store.move(file.staged, f"{folder}/{file.name}")


def mark_complete(store: FileStore, folders: Sequence[str], success_file: str) -> None:
    """Tells readers that partitions are complete; telling it twice is harmless."""
    for folder in folders:
        store.write_empty(f"{store.root}/{folder}/{success_file}")
