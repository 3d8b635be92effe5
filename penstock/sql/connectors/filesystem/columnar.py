"""Parquet and ORC: Spark's own readers and writers, with Flink's partition folders and file metadata.

Partition columns are read as text and converted here, because Spark guesses their types and has another name for
the folder of NULL. Making a reader and its view takes Spark some 200 ms, so a session keeps them (`files_view`) until
the files are others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote
from weakref import WeakKeyDictionary

from penstock.common.datatypes import DataTypes, RowField, RowType
from penstock.sql.connectors.base import new_view_name
from penstock.sql.connectors.filesystem.columnar_sizes import SizeLimit, limited, split_large
from penstock.sql.connectors.filesystem.files import FileEntry
from penstock.sql.connectors.filesystem.partitions import Partitioning, escape
from penstock.sql.connectors.filesystem.writer import StagedFile
from penstock.sql.connectors.spark_types import spark_schema
from penstock.sql.functions.text import quoted_name, spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.catalog.objects import CatalogTable
    from penstock.sql.connectors.filesystem.connector import FileSystemConnector

_SPARK_NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
_METADATA = {
    "file.path": "url_decode(regexp_replace(_metadata.file_path, '^file:/+', '/'))",
    "file.name": "_metadata.file_name",
    "file.size": "_metadata.file_size",
    "file.modification-time": "_metadata.file_modification_time",
}


def reads(format_name: str) -> bool:
    return format_name in ("parquet", "orc")


def relation(spark: SparkSession, connector: FileSystemConnector, table: CatalogTable) -> str:
    """A query over a temporary view of the files."""
    files = [file for file, _ in connector.listing(table)]
    stored = [f for f in table.physical_schema.fields if f.name not in table.partition_keys]
    folders = [RowField(key, DataTypes.STRING()) for key in table.partition_keys]
    schema = spark_schema(RowType([*stored, *folders]))
    if not files:
        return f"(SELECT {', '.join(_nulls(connector, table))} WHERE FALSE)"

    def read() -> DataFrame:
        reader = spark.read.schema(schema).option("basePath", connector.store.location)
        return reader.format(connector.format.name).load(locations(connector, files))

    view = files_view(spark, connector, files, schema, read)
    if not table.partition_keys and not table.requested_metadata:
        return view
    columns = [_column(f, connector, table) for f in table.physical_schema.fields]
    for column in table.requested_metadata:
        columns.append(f"{_METADATA[column.metadata_key or column.name]} AS {quoted_name(column.name)}")
    return f"(SELECT {', '.join(columns)} FROM {view})"


def _nulls(connector: FileSystemConnector, table: CatalogTable) -> list[str]:
    fields = connector.relation_type(table).fields
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
    view = known.setdefault(
        (connector.format.name, connector.store.location, pattern, how), _View(new_view_name(), ())
    )
    if view.files != files:
        read().createOrReplaceTempView(view.name)
        view.files = files
    return view.name


def locations(connector: FileSystemConnector, files: Sequence[FileEntry]) -> list[str]:
    return [connector.address(file.path) for file in files]


def _column(field: RowField, connector: FileSystemConnector, table: CatalogTable) -> str:
    name = quoted_name(field.name)
    if field.name not in table.partition_keys:
        return name
    default = connector.values["partition.default-name"].replace("'", "''")
    return f"CAST(NULLIF({name}, '{default}') AS {spark_type(field.data_type)}) AS {name}"


def stage(
    connector: FileSystemConnector, table: CatalogTable, df: DataFrame, staging: str, limit: SizeLimit
) -> list[StagedFile]:
    """Lets Spark write into the staging folder and says where each file belongs."""
    writer = connector.columnar_writer(df.toDF(*table.physical_schema.names))
    if table.partition_keys:
        writer = writer.partitionBy(*table.partition_keys)
    target = f"{staging}/whole"
    limited(writer, limit.rows).save(connector.address(target))
    partitioning = Partitioning.of(
        table.physical_schema, table.partition_keys, connector.values["partition.default-name"]
    )
    files = [_staged(path, target, partitioning) for path in connector.store.written(target)]
    return split_large(df.sparkSession, connector, files, staging, limit)


def _staged(path: str, staging: str, partitioning: Partitioning) -> StagedFile:
    """Spark's folder names in Flink's spelling."""
    *folders, name = path[len(staging) :].strip("/").split("/")
    parts = []
    for folder in folders:
        key, _, text = folder.partition("=")
        value = partitioning.default_name if text == _SPARK_NULL_FOLDER else escape(unquote(text))
        parts.append(f"{escape(unquote(key))}={value}")
    return StagedFile(path, "/".join(parts), name)
