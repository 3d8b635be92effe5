"""What a task of a filesystem sink does: rows of an epoch into the files of their partitions."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import RowType
from penstock.common.group_codes import group_codes
from penstock.common.storage_errors import writing_to
from penstock.connectors.filesystem.columnar_writers import columnar_writer, is_columnar
from penstock.connectors.filesystem.rolling import AvroWriter, LineWriter, PartWriter, RollingWriter, pieces
from penstock.connectors.sink import ArrowWriter
from penstock.formats import find_format
from penstock.formats.arrow_rows import ArrowToRows, arrow_type
from penstock.formats.base import INSERT
from penstock.formats.column_texts import ColumnEncoder, column_encoder

if TYPE_CHECKING:
    from penstock.connectors.filesystem.sink import FileTableSink

__all__ = ["FileTableWriter", "StagedFile"]

Partition = tuple[Any, ...]

_TEXTS_AT_ONCE = (
    32 << 20
)  # bytes of a table that are made texts at once: offsets of Arrow's texts have 32 bits


@dataclass(frozen=True)
class StagedFile:
    """Committable: a file that a task has written, and the folder and name it is to get; `size` is in bytes."""

    staged: str
    folder: str
    name: str
    size: int = 0


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
        self._to_texts: ColumnEncoder | None = None
        if not (self._columnar or sink.changelog):
            self._to_texts = column_encoder(sink.format_name, sink.file_type(), self._format_options())

    def write_arrow(self, table: pa.Table) -> None:
        with writing_to(self._sink.store.location):
            self._write(table)

    def _write(self, table: pa.Table) -> None:
        if self._columnar:
            self._write_columns(table)
        elif self._to_texts is not None:
            for piece in pieces(table, _TEXTS_AT_ONCE):
                self._write_texts(self._to_texts, piece)
        else:
            for batch in table.to_batches():
                self._write_rows(batch)

    def _write_texts(self, to_texts: ColumnEncoder, table: pa.Table) -> None:
        lines = pc.binary_join_element_wise(to_texts.records(table.select(self._kept)), "\n", "")
        for partition, rows in self._rows_by_partition(table):
            writer = self._writers.get(partition) or self._writer(partition)
            writer.write_lines(lines if rows is None else lines.take(rows))

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
        for partition, rows in self._rows_by_partition(table):
            writer = self._writers.get(partition) or self._writer(partition)
            writer.write_table(stored if rows is None else stored.take(rows))

    def _rows_by_partition(self, table: pa.Table) -> Iterator[tuple[Partition, pa.Array | None]]:
        """Each partition with the numbers of its rows, in order; None stands for all rows."""
        if not table.num_rows:
            return
        fields = self._sink.row_type.fields
        keys = table.select(self._keys).combine_chunks()
        codes = group_codes(keys.columns, keys.num_rows)
        _, first = np.unique(codes, return_index=True)
        to_rows = ArrowToRows(RowType([fields[i] for i in self._keys], nullable=False))
        named = keys.take(pa.array(first)).to_batches() if self._keys else []
        partitions = [row for batch in named for row in to_rows.rows(batch)] or [()]
        if len(partitions) == 1:
            yield partitions[0], None
            return
        ordered = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes))
        for n, partition in enumerate(partitions):
            yield partition, pa.array(ordered[ends[n - 1] if n else 0 : ends[n]])

    def prepare_commit(self, end_of_input: bool) -> Sequence[StagedFile]:
        with writing_to(self._sink.store.location):
            for writer in self._writers.values():
                writer.close()
            return self._measured() if self._sink.hold_ms is not None else tuple(self._staged)

    def _measured(self) -> tuple[StagedFile, ...]:
        infos = self._sink.store.system.get_file_info([file.staged for file in self._staged])
        pairs = zip(self._staged, infos, strict=True)
        return tuple(replace(file, size=info.size or 0) for file, info in pairs)

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
        file_format, options = find_format(sink.format_name), self._format_options()
        file_type = sink.file_type()
        if self._columnar:
            return columnar_writer(sink.format_name, stream, file_type, options, sink.limit_bytes)
        if file_format.encoder is None:
            return AvroWriter(stream, file_type, options["codec"])
        return LineWriter(stream, file_format.encoder(file_type, options))

    def _format_options(self) -> dict[str, Any]:
        options = find_format(self._sink.format_name).read_options(self._sink.options)
        if self._sink.format_name == "csv":
            # Flink's file writer does not look at this option; only its record serializer does.
            options["write-bigdecimal-in-scientific-notation"] = True
        return options
