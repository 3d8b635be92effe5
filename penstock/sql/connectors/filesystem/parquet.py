"""Parquet files as Arrow batches, from any row on: what a streaming scan reads epoch by epoch.

Spark's own reader takes whole files; a stream must be able to stop after a row and go on from there. Arrow gives the
same columns without a Python object per value. Only files whose types leave nothing to interpret are read this way:
a timestamp with another idea of the zone, or INT96, is left to Spark's reader (`can_read`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.common.errors import ValidationError
from penstock.sql.connectors.filesystem.files import FileStore
from penstock.sql.connectors.filesystem.reader import Columns, FileScan, FileSplit
from penstock.sql.connectors.spark_types import arrow_type

BATCH_ROWS = 1 << 16
_FOOTERS_READ = 64
"""Files of which the driver reads the footers to know how many rows there are."""


def can_read(scan: FileScan, splits: list[FileSplit]) -> bool:
    """Whether the first file says that Arrow reads the table as Flink would; the others must be like it."""
    if scan.format_name != "parquet":
        return False
    if not splits:
        return True
    with _open(scan.store, splits[0]) as file:
        found = file.schema_arrow
        int96 = {
            c.name for c in map(file.schema.column, range(len(file.schema))) if c.physical_type == "INT96"
        }
    wanted = [scan.file_type.fields[i] for i in _wanted(scan)]
    return all(
        f.name not in found.names
        or (f.name not in int96 and _same(found.field(f.name).type, arrow_type(f.data_type)))
        for f in wanted
    )


def count_rows(scan: FileScan, splits: list[FileSplit]) -> tuple[int, ...] | None:
    """How many rows each file has, if there are few enough files to ask."""
    if len(splits) > _FOOTERS_READ:
        return None
    counts = []
    for split in splits:
        with _open(scan.store, split) as file:
            counts.append(file.metadata.num_rows)
    return tuple(counts)


def read_blocks(scan: FileScan, split: FileSplit, row: int) -> Iterator[Columns]:
    """The wanted columns of the split's rows from `row` on; a column that the file lacks is left out."""
    fields = scan.file_type.fields
    with _open(scan.store, split) as file:
        there = [i for i in _wanted(scan) if fields[i].name in file.schema_arrow.names]
        names = [fields[i].name for i in there]
        types = [arrow_type(fields[i].data_type) for i in there]
        groups, skip = _from_row(file, row)
        for batch in file.iter_batches(BATCH_ROWS, groups, names, use_threads=False):
            rows = batch.slice(skip)
            skip = max(0, skip - batch.num_rows)
            if rows.num_rows:
                found = [rows.column(n).cast(t, safe=False) for n, t in zip(names, types, strict=True)]
                yield Columns(rows.num_rows, dict(zip(there, found, strict=True)))


def _open(store: FileStore, split: FileSplit) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(store.open_at(split.file.path, 0), pre_buffer=False)
    except pa.ArrowInvalid as error:
        raise ValidationError(f"'{split.file.path}' is not a Parquet file: {error}") from error


def _from_row(file: pq.ParquetFile, skip: int) -> tuple[list[int], int]:
    """The row groups that are left, and how many rows of the first are to be skipped."""
    for group in range(file.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        if skip < rows:
            return list(range(group, file.num_row_groups)), skip
        skip -= rows
    return [], 0


def _wanted(scan: FileScan) -> Sequence[int]:
    return range(len(scan.file_type.fields)) if scan.wanted is None else scan.wanted


def _same(found: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_timestamp(wanted):
        return pa.types.is_timestamp(found) and bool(found.tz) == bool(wanted.tz)
    if pa.types.is_string(wanted) or pa.types.is_binary(wanted):
        return found in (wanted, pa.large_string() if pa.types.is_string(wanted) else pa.large_binary())
    if pa.types.is_nested(wanted) or pa.types.is_time(wanted):
        return False
    return bool(found == wanted)
