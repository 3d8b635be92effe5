"""Parquet and ORC files of about a given size, written by Spark.

Spark ends such a file after a number of rows, never after a number of bytes, and how many bytes a row takes is known
only when rows have been written. So it is measured: a file that came out too large is read and written again in
pieces.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from penstock.connectors.filesystem.sink import FileTableSink
from penstock.connectors.filesystem.writer import StagedFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TOLERANCE = 1.25
"""Rows differ in size; a file that is only a little too large is not worth being written twice."""


def is_exceeded(limit_bytes: int, file_bytes: int) -> bool:
    return file_bytes > limit_bytes * _TOLERANCE


def rows_within(limit_bytes: int, file_bytes: int, rows: int) -> int:
    """How many rows make the limit, where `rows` made `file_bytes`.

    >>> rows_within(100, 1000, 50)
    5
    """
    return max(1, rows * limit_bytes // file_bytes)


def split_large(
    spark: SparkSession,
    sink: FileTableSink,
    files: Sequence[StagedFile],
    staging: str,
    options: Mapping[str, str],
) -> list[StagedFile]:
    """The staged files, those that are too large replaced by pieces of them, in `staging` too."""
    found = sink.store.system.get_file_info([file.staged for file in files])
    kept: list[StagedFile] = []
    for number, (file, info) in enumerate(zip(files, found, strict=True)):
        rows = _rows(sink, file.staged) if is_exceeded(sink.limit_bytes, info.size) else 0
        if rows < 2:
            kept.append(file)
            continue
        target = f"{staging}/split-{number}"
        most = rows_within(sink.limit_bytes, info.size, rows)
        _write_again(spark, sink, file.staged, target, {**options, "maxRecordsPerFile": str(most)})
        names = sink.store.written(target)
        kept += [StagedFile(path, file.folder, posixpath.basename(path)) for path in names]
        sink.store.delete(file.staged)
    return kept


def _rows(sink: FileTableSink, path: str) -> int:
    with sink.store.system.open_input_file(path) as stream:
        if sink.format_name == "parquet":
            import pyarrow.parquet as pq

            return int(pq.read_metadata(stream).num_rows)
        from pyarrow import orc

        return int(orc.ORCFile(stream).nrows)


def _write_again(
    spark: SparkSession, sink: FileTableSink, source: str, target: str, options: Mapping[str, str]
) -> None:
    # With its own folder as the base, the file's path does not say anything about partition columns.
    address = sink.store.address
    reader = spark.read.option("basePath", address(posixpath.dirname(source)))
    frame = reader.format(sink.format_name).load(address(source))
    frame.coalesce(1).write.format(sink.format_name).options(**options).save(address(target))
