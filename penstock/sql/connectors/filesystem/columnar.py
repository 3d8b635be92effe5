"""Parquet and ORC: Spark's own readers and writers, with Flink's partition folders and file metadata.

Partition columns are read as text and converted here, because Spark guesses their types and has another name for
the folder of NULL. Making a reader and its view takes Spark some 200 ms, so a session keeps them (`files_view`) until
the files are others.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from weakref import WeakKeyDictionary

from penstock.common.datatypes import DataTypes, RowField, RowType
from penstock.sql.connectors.base import new_view_name
from penstock.sql.connectors.filesystem.files import FileEntry
from penstock.sql.connectors.filesystem.partitions import Partitioning, escape
from penstock.sql.connectors.filesystem.writer import StagedFile
from penstock.sql.connectors.spark_types import spark_schema
from penstock.sql.functions.text import quoted_name, spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.sql.connectors.filesystem.connector import FileSystemConnector
    from penstock.table.catalog import CatalogTable

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
    """Full addresses again: the listing has paths without scheme and host."""
    location, root = connector.store.location.rstrip("/"), connector.store.root
    return [location + file.path[len(root) :] for file in files]


def _column(field: RowField, connector: FileSystemConnector, table: CatalogTable) -> str:
    name = quoted_name(field.name)
    if field.name not in table.partition_keys:
        return name
    default = connector.values["partition.default-name"].replace("'", "''")
    return f"CAST(NULLIF({name}, '{default}') AS {spark_type(field.data_type)}) AS {name}"


def stage(
    connector: FileSystemConnector, table: CatalogTable, df: DataFrame, staging: str
) -> list[StagedFile]:
    """Lets Spark write into the staging folder and says where each file belongs."""
    renamed = df.toDF(*table.physical_schema.names)
    writer = renamed.write.format(connector.format.name)
    codec = connector.format_options.get("compression") or connector.format_options.get("compress")
    if codec:
        writer = writer.option("compression", codec.lower())
    if table.partition_keys:
        writer = writer.partitionBy(*table.partition_keys)
    location, root = connector.store.location.rstrip("/"), connector.store.root
    writer.save(location + staging[len(root) :])
    partitioning = Partitioning.of(
        table.physical_schema, table.partition_keys, connector.values["partition.default-name"]
    )
    return [_staged(path, staging, partitioning) for path in _written(connector, staging)]


def _written(connector: FileSystemConnector, staging: str) -> list[str]:
    from pyarrow import fs

    selector = fs.FileSelector(staging, recursive=True)
    found: list[Any] = connector.store.system.get_file_info(selector)
    names = [info.path for info in found if info.type == fs.FileType.File]
    return [path for path in names if not posixpath.basename(path).startswith(("_", "."))]


def _staged(path: str, staging: str, partitioning: Partitioning) -> StagedFile:
    """Spark's folder names in Flink's spelling."""
    *folders, name = path[len(staging) :].strip("/").split("/")
    parts = []
    for folder in folders:
        key, _, text = folder.partition("=")
        value = partitioning.default_name if text == _SPARK_NULL_FOLDER else escape(unquote(text))
        parts.append(f"{escape(unquote(key))}={value}")
    return StagedFile(path, "/".join(parts), name)
