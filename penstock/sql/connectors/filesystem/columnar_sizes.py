"""Parquet and ORC files of about a given size.

Spark ends such a file after a number of rows, never after a number of bytes, and how many bytes a row takes is known
only when rows have been written. So it is measured: a file that came out too large is read and written again in
pieces, and what was learnt limits the rows of the files that come after it (in the next epochs of a streaming job).
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.sql.connectors.filesystem.writer import StagedFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrameWriter, SparkSession

    from penstock.sql.connectors.filesystem.connector import FileSystemConnector

_TOLERANCE = 1.25
"""Rows differ in size; a file that is only a little too large is not worth being written twice."""


@dataclass
class SizeLimit:
    """How large a file may become, and how many rows that is: 0 as long as nobody knows."""

    limit_bytes: int
    rows: int = 0

    def learn(self, file_bytes: int, rows: int) -> int:
        """The number of rows to which files like this one are to be limited."""
        self.rows = rows_within(self.limit_bytes, file_bytes, rows)
        return self.rows

    def is_exceeded(self, file_bytes: int) -> bool:
        return file_bytes > self.limit_bytes * _TOLERANCE


def rows_within(limit_bytes: int, file_bytes: int, rows: int) -> int:
    """How many rows make the limit, where `rows` made `file_bytes`.

    >>> rows_within(100, 1000, 50)
    5
    """
    return max(1, rows * limit_bytes // file_bytes)


def limited(writer: DataFrameWriter, rows: int) -> DataFrameWriter:
    return writer.option("maxRecordsPerFile", rows) if rows else writer


def split_large(
    spark: SparkSession,
    connector: FileSystemConnector,
    files: Sequence[StagedFile],
    staging: str,
    limit: SizeLimit,
) -> list[StagedFile]:
    """The staged files, those that are too large replaced by pieces of them."""
    found = connector.store.system.get_file_info([file.staged for file in files])
    kept: list[StagedFile] = []
    for number, (file, info) in enumerate(zip(files, found, strict=True)):
        rows = _rows(connector, file.staged) if limit.is_exceeded(info.size) else 0
        if rows < 2:
            kept.append(file)
            continue
        target = f"{staging}/split-{number}"
        _write_again(spark, connector, file.staged, target, limit.learn(info.size, rows))
        names = connector.store.written(target)
        kept += [StagedFile(path, file.folder, posixpath.basename(path)) for path in names]
        connector.store.delete(file.staged)
    return kept


def _rows(connector: FileSystemConnector, path: str) -> int:
    with connector.store.system.open_input_file(path) as stream:
        if connector.format.name == "parquet":
            import pyarrow.parquet as pq

            return int(pq.read_metadata(stream).num_rows)
        from pyarrow import orc

        return int(orc.ORCFile(stream).nrows)


def _write_again(
    spark: SparkSession, connector: FileSystemConnector, source: str, target: str, rows: int
) -> None:
    # With its own folder as the base, the file's path does not say anything about partition columns.
    address = connector.address
    reader = spark.read.option("basePath", address(posixpath.dirname(source)))
    frame = reader.format(connector.format.name).load(address(source))
    writer = connector.columnar_writer(frame.coalesce(1))
    limited(writer, rows).save(address(target))
