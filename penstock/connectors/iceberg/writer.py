"""What the tasks of a sink leave behind.

    rows only     Parquet files in the table's folder, which nobody sees before a snapshot names them
    by key        the changes themselves, kept with the checkpoint: the driver merges them into the table

Files of a task that was repeated or given up are never named; removing orphan files removes them.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.connectors.iceberg.types import iceberg_schema
from penstock.connectors.lake_changes import ChangeWriter, KeptChanges
from penstock.connectors.sink import ArrowWriter, WriterContext

if TYPE_CHECKING:
    from penstock.connectors.iceberg.sink import IcebergSink

__all__ = ["FileWriter", "IcebergPart", "MergeWriter"]


@dataclass(frozen=True)
class IcebergPart:
    """What one subtask leaves in an epoch: addresses of files, or changes."""

    epoch: int
    paths: tuple[str, ...] = ()
    changes: KeptChanges | None = None


class FileWriter(ArrowWriter):
    """A file for each partition that the epoch's rows are in."""

    def __init__(self, sink: IcebergSink, context: WriterContext) -> None:
        self._sink = sink
        self._epoch = context.epoch
        self._schema = iceberg_schema(sink.row_type)
        self._waiting: list[pa.Table] = []

    def write_arrow(self, table: pa.Table) -> None:
        columns = table.select(range(len(self._schema))).rename_columns(self._schema.names)
        self._waiting.append(columns.cast(self._schema, safe=False))

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        rows = pa.concat_tables(self._waiting) if self._waiting else None
        self._waiting = []
        if rows is None or not rows.num_rows:
            return ()
        lake = self._sink.lake
        table = lake.made(self._schema, self._sink.partition_by)
        with lake.explained("cannot write a file of the table"):
            paths = tuple(self._write(table, part) for part in self._partitions(rows))
        return (IcebergPart(self._epoch, paths),)

    def _partitions(self, rows: pa.Table) -> Iterator[pa.Table]:
        """The rows of each combination of values of the partition columns."""
        names = list(self._sink.partition_by)
        if not names:
            yield rows
            return
        places: dict[tuple[Any, ...], list[int]] = {}
        for place, values in enumerate(zip(*(rows.column(n).to_pylist() for n in names), strict=True)):
            places.setdefault(values, []).append(place)
        for found in places.values():
            yield rows.take(pa.array(found))

    def _write(self, table: Any, rows: pa.Table) -> str:
        path = f"{table.location()}/data/penstock-{self._epoch}-{uuid.uuid4().hex}.parquet"
        with table.io.new_output(path).create() as stream:
            pq.write_table(rows, stream, compression="zstd")
        return path


class MergeWriter(ChangeWriter):
    """Keeps the changes of rows with a key for the driver."""

    def __init__(self, sink: IcebergSink, context: WriterContext) -> None:
        super().__init__(iceberg_schema(sink.row_type), sink.changelog, context)
        self._epoch = context.epoch

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        changes = self.finished()
        return () if changes is None else (IcebergPart(self._epoch, (), changes),)
