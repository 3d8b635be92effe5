"""Parquet and ORC files as Arrow batches, from any row on: what a streaming scan reads epoch by epoch.

Spark's own reader takes whole files; a stream must be able to stop after a row and go on from there. Arrow gives the
same columns without a Python object per value; `columnar_types.py` says what becomes of types that differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.common.errors import MalformedRecordError, ValidationError
from penstock.connectors.filesystem.columnar_types import in_table_type
from penstock.connectors.filesystem.files import FileStore
from penstock.connectors.filesystem.reader import Columns, FileScan, FileSplit
from penstock.formats.arrow_rows import arrow_type

BATCH_ROWS = 1 << 16


def read_parquet(scan: FileScan, split: FileSplit, row: int) -> Iterator[Columns]:
    """The wanted columns of the split's rows from `row` on; a column that the file lacks is left out."""
    fields = scan.file_type.fields
    with open_parquet(scan.store, split) as file:
        there = [i for i in wanted_columns(scan) if fields[i].name in file.schema_arrow.names]
        names = [fields[i].name for i in there]
        groups, skip = _from_row(file, row)
        for batch in file.iter_batches(BATCH_ROWS, groups, names, use_threads=False):
            rows = batch.slice(skip)
            skip = max(0, skip - batch.num_rows)
            if rows.num_rows:
                yield Columns(rows.num_rows, {i: _column(scan, split, rows, i) for i in there})


def read_orc(scan: FileScan, split: FileSplit, stripe: int) -> Iterator[tuple[int, Columns]]:
    """The wanted columns of the split's rows, stripe by stripe from number `stripe` on, with their numbers."""
    from pyarrow import orc

    fields = scan.file_type.fields
    with scan.store.open_at(split.file.path, 0) as stream:
        try:
            file = orc.ORCFile(stream)
        except (pa.ArrowInvalid, OSError) as error:
            raise ValidationError(f"'{split.file.path}' is not an ORC file: {error}") from error
        there = [i for i in wanted_columns(scan) if fields[i].name in file.schema.names]
        names = [fields[i].name for i in there]
        for number in range(stripe, file.nstripes):
            # Without columns Arrow does not say how many rows there are.
            found = file.read_stripe(number, columns=names or file.schema.names[:1])
            batch = pa.RecordBatch.from_arrays(found.columns, names=found.schema.names)
            yield number, Columns(batch.num_rows, {i: _column(scan, split, batch, i) for i in there})


def _column(scan: FileScan, split: FileSplit, rows: pa.RecordBatch, place: int) -> pa.Array:
    field = scan.file_type.fields[place]
    try:
        return in_table_type(rows.column(field.name), arrow_type(field.data_type))
    except (ValueError, pa.ArrowException) as error:
        raise MalformedRecordError(
            f"column '{field.name}' cannot be read as {field.data_type.as_summary()}: {error}",
            where=split.file.path,
            do="declare the column with the type that its files have",
        ) from None


def open_parquet(store: FileStore, split: FileSplit) -> pq.ParquetFile:
    try:
        stream = store.open_at(split.file.path, 0)
        return pq.ParquetFile(stream, pre_buffer=False, coerce_int96_timestamp_unit="us")
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


def wanted_columns(scan: FileScan) -> Sequence[int]:
    return range(len(scan.file_type.fields)) if scan.wanted is None else scan.wanted
