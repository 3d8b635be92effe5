"""What a task of a filesystem sink does: rows of an epoch into the files of their partitions."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa

from penstock.common.datatypes import RowType
from penstock.connectors.filesystem.columnar_writers import columnar_writer, is_columnar
from penstock.connectors.filesystem.rolling import AvroWriter, LineWriter, PartWriter, RollingWriter
from penstock.connectors.sink import ArrowWriter
from penstock.formats import find_format
from penstock.formats.arrow_rows import ArrowToRows, arrow_type
from penstock.formats.base import INSERT

if TYPE_CHECKING:
    from penstock.connectors.filesystem.sink import FileTableSink

__all__ = ["FileTableWriter", "StagedFile"]

Partition = tuple[Any, ...]


@dataclass(frozen=True)
class StagedFile:
    """Committable: a file that a task has written, and the folder and name it is to get."""

    staged: str
    folder: str
    name: str


class FileTableWriter(ArrowWriter):
    """Writes below `folder`, a hidden one of the epoch."""

    def __init__(self, sink: FileTableSink, folder: str) -> None:
        self._sink = sink
        self._folder = folder
        self._staged: list[StagedFile] = []
        self._writers: dict[Partition, RollingWriter] = {}
        names = sink.row_type.field_names()
        self._keys = [names.index(key) for key in sink.partitioning.keys]
        self._kept = [i for i in range(len(names)) if i not in self._keys]
        self._columnar = is_columnar(sink.format_name)
        self._to_rows = ArrowToRows(sink.row_type)

    def write_arrow(self, table: pa.Table) -> None:
        if self._columnar:
            self._write_columns(table)
        else:
            for batch in table.to_batches():
                self._write_rows(batch)

    def _write_rows(self, batch: pa.RecordBatch) -> None:
        width, writers, keys, kept = len(self._sink.row_type.fields), self._writers, self._keys, self._kept
        kinds = batch.column(width).to_pylist() if self._sink.changelog else None
        for n, row in enumerate(self._to_rows.rows(batch.select(range(width)))):
            partition = tuple(row[i] for i in keys)
            writer = writers.get(partition) or self._writer(partition)
            writer.write(INSERT if kinds is None else kinds[n], tuple(row[i] for i in kept))

    def _write_columns(self, table: pa.Table) -> None:
        fields = self._sink.row_type.fields
        columns = [table.column(i).cast(arrow_type(fields[i].data_type)) for i in self._kept]
        stored = pa.table(columns, names=[fields[i].name for i in self._kept])
        if not self._keys:
            (self._writers.get(()) or self._writer(())).write_table(stored)
            return
        for partition, rows in self._rows_by_partition(table).items():
            writer = self._writers.get(partition) or self._writer(partition)
            writer.write_table(stored.take(pa.array(rows)))

    def _rows_by_partition(self, table: pa.Table) -> dict[Partition, list[int]]:
        """The numbers of the rows of each partition, in order."""
        fields = self._sink.row_type.fields
        to_rows = ArrowToRows(RowType([fields[i] for i in self._keys], nullable=False))
        found: dict[Partition, list[int]] = {}
        number = 0
        for batch in table.select(self._keys).to_batches():
            for partition in to_rows.rows(batch):
                found.setdefault(partition, []).append(number)
                number += 1
        return found

    def prepare_commit(self, end_of_input: bool) -> Sequence[StagedFile]:
        for writer in self._writers.values():
            writer.close()
        return tuple(self._staged)

    def abort(self) -> None:
        for writer in self._writers.values():
            writer.abandon()
        for file in self._staged:
            self._sink.store.discard(file.staged)

    def _writer(self, partition: Partition) -> RollingWriter:
        """Writes the rows of a partition; every file it begins is noted in `_staged`."""
        unique, folder = uuid.uuid4().hex, self._sink.partitioning.folder(partition)
        ending = (
            f".{self._sink.format_name}" if self._columnar else ""
        )  # as Spark calls those of a batch statement

        def open_file(number: int) -> BinaryIO:
            name = f"part-{unique}-0-{number}{ending}"
            file = StagedFile(f"{self._folder}/{unique}-{number}", folder, name)
            self._staged.append(file)
            return self._sink.store.open_output(file.staged)

        made = RollingWriter(open_file, self._part_writer, self._sink.limit_bytes)
        self._writers[partition] = made
        return made

    def _part_writer(self, stream: BinaryIO) -> PartWriter:
        sink = self._sink
        file_format = find_format(sink.format_name)
        options = file_format.read_options(sink.options)
        file_type = sink.file_type()
        if self._columnar:
            return columnar_writer(sink.format_name, stream, file_type, options, sink.limit_bytes)
        if file_format.encoder is None:
            return AvroWriter(stream, file_type, options["codec"])
        if sink.format_name == "csv":
            # Flink's file writer does not look at this option; only its record serializer does.
            options["write-bigdecimal-in-scientific-notation"] = True
        return LineWriter(stream, file_format.encoder(file_type, options))
