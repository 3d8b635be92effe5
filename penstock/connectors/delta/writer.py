"""What the tasks of a sink leave behind.

    rows only     Parquet files below the table's folder, which nobody sees before the log names them
    by key        the changes themselves, kept with the checkpoint: the driver merges them into the table

Files of a task that was repeated or given up are never named; `VACUUM` removes them.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.connectors.delta.types import delta_schema, partition_text
from penstock.connectors.lake_changes import ChangeWriter, KeptChanges
from penstock.connectors.sink import ArrowWriter, WriterContext

if TYPE_CHECKING:
    from penstock.connectors.delta.sink import DeltaSink

__all__ = ["DeltaFile", "DeltaPart", "FileWriter", "MergeWriter"]

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class DeltaFile:
    """A file that is to be part of the table."""

    path: str
    size_bytes: int
    rows: int
    partition: tuple[tuple[str, str | None], ...]
    written_ms: int

    @property
    def stats(self) -> str:
        return json.dumps({"numRecords": self.rows})


@dataclass(frozen=True)
class DeltaPart:
    """What one subtask leaves in an epoch."""

    epoch: int
    job_id: str
    files: tuple[DeltaFile, ...] = ()
    changes: KeptChanges | None = None


class FileWriter(ArrowWriter):
    """A file for each partition that the epoch's rows are in."""

    def __init__(self, sink: DeltaSink, context: WriterContext) -> None:
        self._sink = sink
        self._context = context
        self._schema = delta_schema(sink.row_type)
        self._waiting: list[pa.Table] = []

    def write_arrow(self, table: pa.Table) -> None:
        width = len(self._schema)
        columns = table.select(range(width)).rename_columns(self._schema.names)
        self._waiting.append(columns.cast(self._schema, safe=False))

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        rows = pa.concat_tables(self._waiting) if self._waiting else None
        self._waiting = []
        if rows is None or not rows.num_rows:
            return ()
        files = tuple(self._write(part, values) for part, values in self._partitions(rows))
        return (DeltaPart(self._context.epoch, self._context.job_id, files),)

    def _partitions(self, rows: pa.Table) -> Iterator[tuple[pa.Table, tuple[Any, ...]]]:
        """The rows of each combination of values of the partition columns."""
        names = list(self._sink.partition_by)
        if not names:
            yield rows, ()
            return
        places: dict[tuple[Any, ...], list[int]] = {}
        for place, values in enumerate(zip(*(rows.column(n).to_pylist() for n in names), strict=True)):
            places.setdefault(values, []).append(place)
        for values, found in places.items():
            yield rows.take(pa.array(found)), values

    def _write(self, rows: pa.Table, values: tuple[Any, ...]) -> DeltaFile:
        names = self._sink.partition_by
        texts = [partition_text(value) for value in values]
        folders = [
            f"{n}={quote(_NO_VALUE if t is None else t, safe='')}" for n, t in zip(names, texts, strict=True)
        ]
        path = "/".join([*folders, f"part-{self._context.epoch}-{uuid.uuid4().hex}.snappy.parquet"])
        lake = self._sink.lake
        with lake.explained("cannot write a file of the table"):
            store = lake.files()
            with store.open_output_stream(path) as stream:
                pq.write_table(
                    rows.drop_columns(list(names)) if names else rows, stream, compression="snappy"
                )
                size = stream.tell()
        return DeltaFile(
            path,
            size,
            rows.num_rows,
            tuple(zip(names, texts, strict=True)),
            self._context.processing_time_ms,
        )


class MergeWriter(ChangeWriter):
    """Keeps the changes of rows with a key for the driver."""

    def __init__(self, sink: DeltaSink, context: WriterContext) -> None:
        super().__init__(delta_schema(sink.row_type), sink.changelog, context)
        self._context = context

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        changes = self.finished()
        return () if changes is None else (DeltaPart(self._context.epoch, self._context.job_id, (), changes),)
