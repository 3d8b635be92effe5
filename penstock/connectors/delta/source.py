"""Reading a Delta table: a split for each of its files, which never change.

A version is read once; or the newest one, and then what later ones add, for ever (`growing.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.common.datatypes import RowType
from penstock.common.errors import ExternalSystemError, MalformedRecordError
from penstock.connectors.delta.growing import Following, GrowingFiles
from penstock.connectors.delta.lake import DeltaLake
from penstock.connectors.delta.splits import DeltaFileSplit, files_of
from penstock.connectors.filesystem.columnar_types import in_table_type
from penstock.connectors.source import (
    ArrowBatch,
    ArrowReader,
    Boundedness,
    EnumeratorContext,
    ReadLimit,
    Source,
    SourceSplit,
    SplitEnumerator,
)
from penstock.formats.arrow_rows import arrow_type

__all__ = ["DeltaSource"]

_BATCH_ROWS = 1 << 16


@dataclass(frozen=True)
class DeltaSource(Source):
    """Reads the table as it is when the job starts, as it was, or as it grows.

    Attributes:
        wanted: The columns that are looked at; others are NULL.
        version: A version's number, or a time in RFC 3339; None: the newest.
        following: How new versions are read; None: they are not.
    """

    lake: DeltaLake
    row_type: RowType
    wanted: tuple[str, ...]
    version: Any = None
    following: Following | None = None

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.following is None else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> SplitEnumerator:
        if self.following is not None:
            return GrowingFiles(self, self.following, restored)
        return _Files(self, restored)

    def create_reader(self) -> ArrowReader:
        return _DeltaReader(self)


class _Files(SplitEnumerator):
    def __init__(self, source: DeltaSource, restored: Any) -> None:
        self._source = source
        self._discovered = restored is not None

    def discover(self) -> Sequence[SourceSplit]:
        if self._discovered:
            return ()
        self._discovered = True
        lake = self._source.lake
        return files_of(lake, lake.opened(self._source.version))

    def snapshot(self) -> Any:
        return "discovered" if self._discovered else None


class _DeltaReader(ArrowReader):
    """Positions are numbers of rows in the file."""

    def __init__(self, source: DeltaSource) -> None:
        self.row_type = RowType(source.row_type.nullable_fields(), nullable=False)
        self._source = source

    def read_arrow(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[ArrowBatch]:
        assert isinstance(split, DeltaFileSplit)
        row, count, most = position or 0, 0, limit.max_records
        with self._opened(split) as file:
            stored = [n for n in self._source.wanted if n in file.schema_arrow.names]
            skip = row
            for batch in file.iter_batches(_BATCH_ROWS, columns=stored, use_threads=False):
                rows = batch.slice(skip)
                skip = max(0, skip - batch.num_rows)
                if most is not None:
                    rows = rows.slice(0, most - count)
                if not rows.num_rows:
                    continue
                row += rows.num_rows
                count += rows.num_rows
                yield ArrowBatch(self._columns(split, rows), row)
                if most is not None and count >= most:
                    return

    def _opened(self, split: DeltaFileSplit) -> pq.ParquetFile:
        lake = self._source.lake
        try:
            return pq.ParquetFile(lake.files().open_input_file(split.path), coerce_int96_timestamp_unit="us")
        except (FileNotFoundError, OSError, pa.ArrowInvalid) as error:
            raise ExternalSystemError(
                f"cannot read the file {split.path}: {error}",
                where=lake.where,
                do="if VACUUM has removed it meanwhile, start the job again: it then reads the newest version",
            ) from error

    def _columns(self, split: DeltaFileSplit, rows: pa.RecordBatch) -> pa.RecordBatch:
        partition, names = dict(split.partition), rows.schema.names
        arrays = []
        for field in self.row_type.fields:
            wanted = arrow_type(field.data_type)
            try:
                if field.name in names:
                    arrays.append(in_table_type(rows.column(field.name), wanted))
                else:
                    value = partition.get(field.name) if field.name in self._source.wanted else None
                    same = pa.array([value] * rows.num_rows)
                    arrays.append(in_table_type(same, wanted))
            except (ValueError, pa.ArrowException) as error:
                raise MalformedRecordError(
                    f"column '{field.name}' cannot be read as {field.data_type.as_summary()}: {error}",
                    where=f"{self._source.lake.where}, file {split.path}",
                    do="declare the column with the type that the table has",
                ) from None
        return pa.RecordBatch.from_arrays(arrays, names=self.row_type.names)
