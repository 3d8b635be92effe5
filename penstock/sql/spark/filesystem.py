"""Filesystem tables in batch mode: files to DataFrames, and Parquet and ORC by Spark's own readers and writers.

Partition columns of Parquet and ORC files are read as text and converted here, because Spark guesses their types and
has another name for the folder of NULL. Making a reader and its view takes Spark some 200 ms, so a session keeps them
(`files_view`) until the files are others. Other formats are read in the connector's blocks, neighbouring files by one
task, so that rows come in the order of the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from weakref import WeakKeyDictionary

import pyarrow as pa

from penstock.common.datatypes import DataTypes, RowField, RowType
from penstock.connectors.filesystem import blocks
from penstock.connectors.filesystem.columnar_writers import is_columnar
from penstock.connectors.filesystem.files import FileEntry
from penstock.connectors.filesystem.partitions import Partitioning, escape
from penstock.connectors.filesystem.reader import FileScan, FileSplit, group
from penstock.connectors.filesystem.sharing import spread_over
from penstock.connectors.filesystem.sink import FileTableSink
from penstock.connectors.filesystem.table import FileSystemConnector
from penstock.connectors.filesystem.writer import StagedFile
from penstock.connectors.sink import Moment
from penstock.connectors.table import KIND_COLUMN, POSITION_COLUMN, SinkRequest, TableConnector
from penstock.sql.functions.text import quoted_name, spark_type
from penstock.sql.spark.connector_io import ReadSteps, SparkBatch, spread, tasks_frame, view_of
from penstock.sql.spark.file_sizes import split_large
from penstock.sql.spark.schemas import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.catalog.objects import CatalogTable

_SPARK_NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
_METADATA = {
    "file.path": "url_decode(regexp_replace(_metadata.file_path, '^file:/+', '/'))",
    "file.name": "_metadata.file_name",
    "file.size": "_metadata.file_size",
    "file.modification-time": "_metadata.file_modification_time",
}


class FileSystemBatch(SparkBatch):
    """Reads all formats; writes Parquet and ORC."""

    def reads_itself(self, connector: TableConnector) -> bool:
        assert isinstance(connector, FileSystemConnector)
        return is_columnar(connector.format.name)

    def relation(
        self,
        spark: SparkSession,
        connector: TableConnector,
        table: CatalogTable,
        columns: Sequence[str] | None,
        steps: ReadSteps | None = None,
    ) -> str:
        assert isinstance(connector, FileSystemConnector)
        if is_columnar(connector.format.name):
            return _columnar_relation(spark, connector, table)
        scan, listing = connector.scan(table, columns), connector.listing(table)
        parallelism = spark.sparkContext.defaultParallelism
        if steps is None:
            tasks = group(listing.splits(), parallelism)
        else:  # a user's function makes reading the work of all cores
            tasks = spread_over(scan, listing.files(), parallelism)
        return view_of(_read(spark, scan, tasks, relation_type(connector, table), steps))

    def write(
        self, connector: TableConnector, table: CatalogTable, df: DataFrame, request: SinkRequest
    ) -> bool:
        assert isinstance(connector, FileSystemConnector)
        if not is_columnar(connector.format.name):
            return False
        sink = connector.sink(table, request)
        committer, coordinator = sink.create_committer(), sink.create_coordinator()
        try:
            rows = spread(df, connector.sink_requirements(table, request))
            committables: Sequence[Any] = _stage(connector, sink, table, rows)
            if coordinator is not None:
                committables = coordinator.at_epoch_end(committables, _END, None).committables
            committer.commit(committables)
        finally:
            committer.close()
        return True


_END = Moment(0, 0, final=True)


def relation_type(connector: FileSystemConnector, table: CatalogTable) -> RowType:
    """The columns of the relation: those of the source, and for changes the order in which they were made."""
    fields = list(connector.row_type(table).fields)
    if fields[-1].name == KIND_COLUMN:
        fields.append(RowField(POSITION_COLUMN, DataTypes.BIGINT()))
    return RowType(fields, nullable=False)


def _read(
    spark: SparkSession,
    scan: FileScan,
    tasks: list[list[FileSplit]],
    row_type: RowType,
    steps: ReadSteps | None,
) -> DataFrame:
    """A DataFrame whose task n reads the n-th group of splits, so that rows stay in file order."""

    def read(number: int) -> Iterator[pa.RecordBatch]:
        for split in tasks[number]:
            yield from blocks.batches(scan, split, row_type)

    return tasks_frame(spark, len(tasks), read, row_type, steps)


# --- Parquet and ORC


def _columnar_relation(spark: SparkSession, connector: FileSystemConnector, table: CatalogTable) -> str:
    """A query over a temporary view of the files."""
    files = [file for file, _ in connector.listing(table).files()]
    stored = [f for f in table.physical_schema.fields if f.name not in table.partition_keys]
    folders = [RowField(key, DataTypes.STRING()) for key in table.partition_keys]
    schema = spark_schema(RowType([*stored, *folders]))
    if not files:
        return f"(SELECT {', '.join(_nulls(connector, table))} WHERE FALSE)"

    def read() -> DataFrame:
        reader = spark.read.schema(schema).option("basePath", connector.store.location)
        return reader.format(connector.format.name).load([connector.store.address(f.path) for f in files])

    view = files_view(spark, connector, files, schema, read)
    if not table.partition_keys and not table.requested_metadata:
        return view
    columns = [_column(f, connector, table) for f in table.physical_schema.fields]
    for column in table.requested_metadata:
        columns.append(f"{_METADATA[column.metadata_key or column.name]} AS {quoted_name(column.name)}")
    return f"(SELECT {', '.join(columns)} FROM {view})"


def _nulls(connector: FileSystemConnector, table: CatalogTable) -> list[str]:
    fields = relation_type(connector, table).fields
    return [f"CAST(NULL AS {spark_type(f.data_type)}) AS {quoted_name(f.name)}" for f in fields]


@dataclass
class _View:
    """A temporary view and the files it was made for."""

    name: str
    files: Sequence[FileEntry]


_views: WeakKeyDictionary[SparkSession, dict[tuple[str, ...], _View]] = WeakKeyDictionary()


def files_view(
    spark: SparkSession,
    connector: FileSystemConnector,
    files: Sequence[FileEntry],
    how: str,
    read: Callable[[], DataFrame],
) -> str:
    """The name of a view over the files; made by `read` unless these very files were read that way before.

    Args:
        how: What else makes two ways of reading the same files different, as text.
    """
    known = _views.setdefault(spark, {})
    pattern = str(connector.values["source.path.regex-pattern"])
    key = (connector.format.name, connector.store.location, pattern, how)
    view = known.get(key)
    if view is None or view.files != files:
        if view is None:
            view = known[key] = _View(view_of(read()), files)
        else:
            read().createOrReplaceTempView(view.name)
            view.files = files
    return view.name


def _column(field: RowField, connector: FileSystemConnector, table: CatalogTable) -> str:
    name = quoted_name(field.name)
    if field.name not in table.partition_keys:
        return name
    default = connector.values["partition.default-name"].replace("'", "''")
    return f"CAST(NULLIF({name}, '{default}') AS {spark_type(field.data_type)}) AS {name}"


def _stage(
    connector: FileSystemConnector, sink: FileTableSink, table: CatalogTable, df: DataFrame
) -> list[StagedFile]:
    """Lets Spark write into the staging folder and says where each file belongs."""
    codec = connector.format_options.get("compression") or connector.format_options.get("compress")
    options = {"compression": codec.lower()} if codec else {}
    writer = df.write.format(sink.format_name).options(**options)
    if table.partition_keys:
        writer = writer.partitionBy(*table.partition_keys)
    folder = f"{sink.staging}/1"
    target = f"{folder}/whole"
    writer.save(sink.store.address(target))
    files = [_staged(path, target, sink.partitioning) for path in sink.store.written(target)]
    return split_large(df.sparkSession, sink, files, folder, options)


def _staged(path: str, staging: str, partitioning: Partitioning) -> StagedFile:
    """Spark's folder names in Flink's spelling."""
    *folders, name = path[len(staging) :].strip("/").split("/")
    parts = []
    for folder in folders:
        key, _, text = folder.partition("=")
        value = partitioning.default_name if text == _SPARK_NULL_FOLDER else escape(unquote(text))
        parts.append(f"{escape(unquote(key))}={value}")
    return StagedFile(path, "/".join(parts), name)
