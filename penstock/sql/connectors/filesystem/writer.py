"""Rows to files, exactly once.

    task     writes each partition's rows to a file of its own in a hidden staging folder of the table, and
             returns where the file is and where it belongs
    driver   when all tasks have returned: makes room (overwrite), moves the files, marks partitions

A retried or speculative task writes under another name, and only files that a finished task reported are
moved. The staging folder is deleted in every case, so a failed job leaves nothing behind.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa

from penstock.common.datatypes import RowType
from penstock.formats import find_format
from penstock.formats.base import INSERT, Encoder
from penstock.sql.connectors.filesystem.files import FileStore
from penstock.sql.connectors.filesystem.partitions import Partitioning
from penstock.sql.connectors.spark_types import ArrowToRows

if TYPE_CHECKING:
    from penstock.formats.avro import AvroFileWriter

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

    def write(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The body of a task: all its rows into one file for each partition."""
        names = self.row_type.field_names()
        keys = [names.index(key) for key in self.partitioning.keys]
        kept = [i for i in range(len(names)) if i not in keys]
        to_rows = ArrowToRows(self.row_type)
        with ExitStack() as stack:
            files: dict[tuple[Any, ...], _PartFile] = {}
            for batch in batches:
                kinds, batch = self._split_kinds(batch)
                for n, row in enumerate(to_rows.rows(batch)):
                    partition = tuple(row[i] for i in keys)
                    part = files.get(partition)
                    if part is None:
                        part = stack.enter_context(self._open(partition))
                        files[partition] = part
                    part.write(kinds[n] if kinds else INSERT, tuple(row[i] for i in kept))
        yield _report([part.staged for part in files.values()])

    def _split_kinds(self, batch: pa.RecordBatch) -> tuple[list[int] | None, pa.RecordBatch]:
        if not self.kind_column:
            return None, batch
        last = batch.num_columns - 1
        return batch.column(last).to_pylist(), batch.select(range(last))

    def _open(self, partition: tuple[Any, ...]) -> _PartFile:
        unique = uuid.uuid4().hex
        staged = StagedFile(
            f"{self.staging}/{unique}", self.partitioning.folder(partition), f"part-{unique}-0-0"
        )
        return _PartFile(self, staged)

    def file_type(self) -> RowType:
        """What stands in the files: the columns that are not in folder names."""
        return RowType(
            [f for f in self.row_type.fields if f.name not in self.partitioning.keys], nullable=False
        )


class _PartFile:
    """One open file."""

    def __init__(self, sink: FileSink, staged: StagedFile) -> None:
        self.staged = staged
        self._stream: BinaryIO = sink.store.open_output(staged.staged)
        self._encoder: Encoder | None = None
        self._avro: AvroFileWriter | None = None
        file_format = find_format(sink.format_name)
        if file_format.encoder is not None:
            options = file_format.read_options(sink.options)
            if sink.format_name == "csv":
                # Flink's file writer does not look at this option; only its record serializer does.
                options["write-bigdecimal-in-scientific-notation"] = True
            self._encoder = file_format.encoder(sink.file_type(), options)
        else:
            from penstock.formats.avro import AvroFileWriter

            codec = file_format.read_options(sink.options)["codec"]
            self._avro = AvroFileWriter(self._stream, sink.file_type(), codec)

    def __enter__(self) -> _PartFile:
        return self

    def write(self, kind: int, row: tuple[Any, ...]) -> None:
        if self._avro is not None:
            self._avro.write(row)
        elif self._encoder is not None:
            self._stream.write(self._encoder.encode(kind, row) + b"\n")

    def __exit__(self, *failure: object) -> None:
        if self._avro is not None and failure[0] is None:
            self._avro.finish()
        self._stream.close()


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
    success_file: str | None,
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
    if success_file:
        for folder in folders:
            store.write_empty(
                f"{store.root}/{folder}/{success_file}" if folder else f"{store.root}/{success_file}"
            )
