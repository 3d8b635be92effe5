"""The filesystem connector's options, and how its tables look to SQL."""

from __future__ import annotations

import datetime as dt
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.common.config_values import parse_duration, parse_memory
from penstock.common.datatypes import DataTypes, RowField, RowType
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.common.time import Duration
from penstock.formats import Format, find_format
from penstock.formats.base import Option, boolean, one_of
from penstock.sql.connectors.base import (
    KIND_COLUMN,
    POSITION_COLUMN,
    ChangelogMode,
    Direction,
    SqlConnector,
    new_view_name,
)
from penstock.sql.connectors.filesystem import blocks, columnar
from penstock.sql.connectors.filesystem.columnar_sizes import SizeLimit
from penstock.sql.connectors.filesystem.files import FileEntry, FileStore
from penstock.sql.connectors.filesystem.lookup import FileLookup
from penstock.sql.connectors.filesystem.partition_commit import (
    PartitionTimeTrigger,
    ProcessTimeTrigger,
    Trigger,
)
from penstock.sql.connectors.filesystem.partition_time import PartitionTime, check_formatter, zone
from penstock.sql.connectors.filesystem.partitions import Partitioning
from penstock.sql.connectors.filesystem.reader import FileScan, FileSplit, cut, group
from penstock.sql.connectors.filesystem.spreading import batch_spread
from penstock.sql.connectors.filesystem.writer import (
    STAGED_SCHEMA,
    FileSink,
    StagedFile,
    commit,
    mark_complete,
)
from penstock.sql.connectors.lookup import LookupSource
from penstock.sql.connectors.spark_types import spark_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

    from penstock.catalog.objects import CatalogTable


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression ({error})") from None


def _tasks(text: str) -> int:
    if not text.strip().isdecimal() or int(text) < 1:
        raise ValueError("expected a number of tasks, at least 1")
    return int(text)


class FileSystemConnector(SqlConnector):
    """Folders of files in any of the formats."""

    name = "filesystem"
    supports_overwrite = True
    options = (
        Option("path", required=True),
        Option("format", required=True),
        Option("partition.default-name", default="__DEFAULT_PARTITION__"),
        Option("source.monitor-interval"),
        Option("source.report-statistics", one_of("NONE", "ALL"), "ALL"),
        Option("source.path.regex-pattern", _pattern),
        Option("lookup.cache", one_of("FULL")),
        Option("lookup.full-cache.periodic-reload.interval", parse_duration),
        Option("sink.rolling-policy.file-size", parse_memory, 128 << 20),
        Option("sink.rolling-policy.rollover-interval", parse_duration),
        Option("sink.rolling-policy.check-interval", parse_duration),
        Option("sink.rolling-policy.inactivity-interval", parse_duration),
        Option("sink.shuffle-by-partition.enable", boolean, False),
        Option("partition.time-extractor.kind", one_of("default", "custom"), "default"),
        Option("partition.time-extractor.class"),
        Option("partition.time-extractor.timestamp-formatter", check_formatter),
        Option("partition.time-extractor.timestamp-pattern"),
        Option("sink.partition-commit.trigger", one_of("process-time", "partition-time"), "process-time"),
        Option("sink.partition-commit.watermark-time-zone", zone, dt.timezone.utc),
        Option("sink.partition-commit.delay", parse_duration, Duration.of_millis(0)),
        Option("sink.partition-commit.policy.kind"),
        Option("sink.partition-commit.policy.class"),
        Option("sink.partition-commit.policy.class.parameters"),
        Option("sink.partition-commit.success-file.name", default="_SUCCESS"),
        Option("auto-compaction", boolean, False),
        Option("compaction.file-size", parse_memory),
        Option("compaction.parallelism", _tasks),
        Option("sink.parallelism", _tasks),
    )
    metadata_columns = {
        "file.path": DataTypes.STRING(False),
        "file.name": DataTypes.STRING(False),
        "file.size": DataTypes.BIGINT(False),
        "file.modification-time": DataTypes.TIMESTAMP_LTZ(3, False),
    }

    def __init__(self, options: Mapping[str, str], table_path: str) -> None:
        super().__init__(options, table_path)
        self.format: Format = self._find_format()
        self.format_options = self._format_options()
        self.store = FileStore(self.values["path"])

    def knows(self, key: str) -> bool:
        return super().knows(key) or key.startswith(self.raw_options.get("format", "") + ".")

    def _find_format(self) -> Format:
        try:
            return find_format(self.values["format"])
        except ValidationError as error:
            raise self.refused(error.what, do=error.do) from None

    def _format_options(self) -> dict[str, Any]:
        try:
            return self.format.read_options(self.raw_options)
        except ValidationError as error:
            raise self.refused(error.what, do=error.do) from None

    # --- checks

    def validate(self, table: CatalogTable, for_: Direction) -> None:
        super().validate(table, for_)
        missing = [key for key in table.partition_keys if key not in table.physical_schema.names]
        if missing:
            raise self.refused(f"partition column '{missing[0]}' is not a column of the table")
        file_type = self._file_type(table)
        if not len(file_type):
            raise self.refused("a table needs at least one column that is not a partition column")
        try:
            self.format.check(file_type, self.format_options)
        except ValidationError as error:
            raise self.refused(error.what, do=error.do) from None
        if for_ == "sink":
            self._validate_sink(file_type)

    def _validate_sink(self, file_type: RowType) -> None:
        if self.format.encoder is not None:
            try:
                self.format.encoder(file_type, self.format_options)
            except ValueError as error:
                raise self.refused(
                    f"the {self.format.name} format cannot write this table: {error}"
                ) from None
        if self.format_options.get("schema-include"):
            raise self.refused(
                "debezium-json cannot write records with a schema", do="leave schema-include out"
            )
        if self.values["partition.time-extractor.kind"] == "custom":
            raise NotSupportedError(
                "a custom partition time extractor",
                "its class is one of Java's; 'partition.time-extractor.timestamp-pattern' and '.timestamp-formatter' "
                "can say how the time is read",
                where=f"table {self.table_path}",
            )
        policies = (self.values["sink.partition-commit.policy.kind"] or "").split(",")
        for policy in policies:
            if policy.strip() not in ("", "success-file"):
                raise NotSupportedError(
                    f"partition commit policy '{policy.strip()}'",
                    "there is neither a Hive metastore nor a class loader here",
                    where=f"table {self.table_path}",
                )

    def changelog_mode(self, table: CatalogTable) -> ChangelogMode:
        return "changelog" if self.format.changelog else "insert-only"

    def is_bounded(self, table: CatalogTable) -> bool:
        return self.values["source.monitor-interval"] is None

    # --- reading

    def batch_relation(
        self, spark: SparkSession, table: CatalogTable, columns: Sequence[str] | None = None
    ) -> str:
        if not self.is_bounded(table):
            raise self.refused(
                "a table with 'source.monitor-interval' never ends and cannot be read in batch mode",
                do="leave the option out, or use streaming mode",
            )
        if columnar.reads(self.format.name):
            return columnar.relation(spark, self, table)
        scan, splits = self.scan(table, columns), self.splits(table)
        frame = _read(spark, scan, splits, self.relation_type(table))
        view = new_view_name()
        frame.createOrReplaceTempView(view)
        return view

    def scan(self, table: CatalogTable, columns: Sequence[str] | None = None) -> FileScan:
        """How the table's files are read; streaming sources use it too."""
        file_type = self._file_type(table)
        layout: list[tuple[str, Any]] = []
        for field in table.physical_schema.fields:
            if field.name in table.partition_keys:
                layout.append(("partition", table.partition_keys.index(field.name)))
            else:
                layout.append(("file", file_type.names.index(field.name)))
        layout += [("metadata", column.metadata_key or column.name) for column in table.requested_metadata]
        wanted = None
        if columns is not None:
            wanted = tuple(i for i, name in enumerate(file_type.names) if name in columns) or None
        return FileScan(
            self.store,
            self.format.name,
            self.raw_options,
            file_type,
            tuple(layout),
            wanted,
            with_kind=self.format.changelog,
        )

    def splits(self, table: CatalogTable) -> list[FileSplit]:
        """The table's files as they are now."""
        return cut(self.listing(table), splittable=self.format.framing == "line")

    def listing(self, table: CatalogTable) -> list[tuple[FileEntry, tuple[Any, ...]]]:
        pattern = self.values["source.path.regex-pattern"]
        files = [f for f in self.store.files() if pattern is None or pattern.fullmatch(f.path)]
        if not table.partition_keys:
            return [(file, ()) for file in files]
        partitioning = self._partitioning(table)
        placed = [(file, partitioning.values(self.store.relative(file.path))) for file in files]
        return [(file, values) for file, values in placed if values is not None]

    def relation_type(self, table: CatalogTable) -> RowType:
        """The columns of the relation."""
        fields = list(table.physical_schema.fields)
        for column in table.requested_metadata:
            fields.append(RowField(column.name, self.metadata_columns[column.metadata_key or column.name]))
        if self.format.changelog:
            fields.append(RowField(KIND_COLUMN, DataTypes.TINYINT()))
            fields.append(RowField(POSITION_COLUMN, DataTypes.BIGINT()))
        return RowType(fields, nullable=False)

    def _file_type(self, table: CatalogTable) -> RowType:
        fields = [f for f in table.physical_schema.fields if f.name not in table.partition_keys]
        return RowType(fields, nullable=False)

    def _partitioning(self, table: CatalogTable) -> Partitioning:
        default_name = self.values["partition.default-name"]
        return Partitioning.of(table.physical_schema, table.partition_keys, default_name)

    def lookup_source(self, table: CatalogTable, key_columns: Sequence[int]) -> LookupSource | None:
        """With 'lookup.cache' = 'FULL' tasks hold the whole table; Flink cannot look files up at all."""
        if self.values["lookup.cache"] is None:
            return None
        if columnar.reads(self.format.name) or self.format.changelog:
            raise self.refused(f"format '{self.format.name}' cannot be looked up", do="use csv, json or avro")
        interval = self.values["lookup.full-cache.periodic-reload.interval"]
        return FileLookup(self, table, key_columns, None if interval is None else interval.to_millis())

    # --- writing

    def write_batch(
        self,
        spark: SparkSession,
        table: CatalogTable,
        df: DataFrame,
        overwrite: bool = False,
        static_partition: Mapping[str, Any] | None = None,
    ) -> None:
        staging = f"{self.store.root}/.staging_{uuid.uuid4().hex}"
        spread = batch_spread(self.values, self.partition_positions(table))
        rows = df if spread is None else spread.apply(df)
        try:
            files = self.stage(table, rows, staging, self.size_limit())
            commit(
                self.store,
                files,
                overwrite=overwrite,
                partitioned=bool(table.partition_keys),
            )
            if self.marks_partitions(table):
                self.mark_complete(sorted({file.folder for file in files}))
        finally:
            self.store.delete_folder(staging)

    def stage(self, table: CatalogTable, df: DataFrame, staging: str, limit: SizeLimit) -> list[StagedFile]:
        """Writes the rows into a hidden folder, where nobody sees them yet; streaming sinks use it too."""
        if columnar.reads(self.format.name):
            return columnar.stage(self, table, df, staging, limit)
        sink = self._sink(table, staging, df.columns[-1] == KIND_COLUMN, limit.limit_bytes)
        reported = df.mapInArrow(sink.write, STAGED_SCHEMA).collect()
        return [StagedFile(row.staged, row.folder, row.name) for row in reported]

    def partition_positions(self, table: CatalogTable) -> list[int]:
        """Where the partition columns are among the physical ones."""
        return [table.physical_schema.names.index(key) for key in table.partition_keys]

    def size_limit(self, compacted: bool = False) -> SizeLimit:
        """How large files become, or how large those that are put together."""
        merged = self.values["compaction.file-size"] if compacted else None
        return SizeLimit(merged or self.values["sink.rolling-policy.file-size"])

    def address(self, path: str) -> str:
        """A path with scheme and host again, as Spark needs it."""
        return self.store.location.rstrip("/") + path[len(self.store.root) :]

    def columnar_writer(self, df: DataFrame) -> DataFrameWriter:
        writer = df.write.format(self.format.name)
        codec = self.format_options.get("compression") or self.format_options.get("compress")
        return writer.option("compression", codec.lower()) if codec else writer

    def _sink(self, table: CatalogTable, staging: str, kind_column: bool, limit_bytes: int) -> FileSink:
        return FileSink(
            self.store,
            self.format.name,
            self.raw_options,
            table.physical_schema,
            self._partitioning(table),
            staging,
            kind_column,
            limit_bytes,
        )

    def marks_partitions(self, table: CatalogTable) -> bool:
        """Whether complete partitions get a success file."""
        wanted = "success-file" in (self.values["sink.partition-commit.policy.kind"] or "")
        return wanted and bool(table.partition_keys)

    def mark_complete(self, folders: Sequence[str]) -> None:
        mark_complete(self.store, folders, self.values["sink.partition-commit.success-file.name"])

    def commit_trigger(self, table: CatalogTable) -> Trigger | None:
        """When a streaming job says that a partition is complete; None if it never does."""
        if not self.marks_partitions(table):
            return None
        values = self.values
        delay_ms = values["sink.partition-commit.delay"].to_millis()
        if values["sink.partition-commit.trigger"] == "process-time":
            return ProcessTimeTrigger(delay_ms)
        time = PartitionTime(
            tuple(table.partition_keys),
            values["partition.time-extractor.timestamp-pattern"],
            values["partition.time-extractor.timestamp-formatter"],
        )
        return PartitionTimeTrigger(time, delay_ms, values["sink.partition-commit.watermark-time-zone"])


def _read(spark: SparkSession, scan: FileScan, splits: list[FileSplit], row_type: RowType) -> DataFrame:
    """A DataFrame whose task n reads the n-th group of splits, so that rows stay in file order."""
    tasks = group(splits, spark.sparkContext.defaultParallelism)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for split in tasks[number]:
                    yield from blocks.batches(scan, split, row_type)

    numbers = spark.range(0, len(tasks), 1, max(1, len(tasks)))
    return numbers.mapInArrow(read, spark_schema(row_type))
