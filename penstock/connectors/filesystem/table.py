"""`'connector' = 'filesystem'`: tables that are folders of files in any of the formats."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.common.config_values import parse_duration
from penstock.common.datatypes import DataTypes, RowType
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.connectors.filesystem.columnar_writers import is_columnar
from penstock.connectors.filesystem.files import FileStore
from penstock.connectors.filesystem.listing import FileListing
from penstock.connectors.filesystem.lookup import FileLookup
from penstock.connectors.filesystem.options import OPTIONS
from penstock.connectors.filesystem.partition_commit import (
    PartitionTimeTrigger,
    ProcessTimeTrigger,
    Trigger,
)
from penstock.connectors.filesystem.partition_time import PartitionTime
from penstock.connectors.filesystem.partitions import Partitioning
from penstock.connectors.filesystem.reader import FileScan
from penstock.connectors.filesystem.sink import FileTableSink
from penstock.connectors.filesystem.source import FileTableSource
from penstock.connectors.filesystem.spreading import batch_spread, epoch_spread
from penstock.connectors.lookup import LookupSource
from penstock.connectors.table import (
    ChangelogMode,
    Direction,
    SinkRequest,
    SinkRequirements,
    TableConnector,
)
from penstock.formats import Format, find_format

if TYPE_CHECKING:
    from penstock.catalog.objects import CatalogTable


class FileSystemConnector(TableConnector):
    """Folders of files. In batch mode Spark itself reads and writes Parquet and ORC."""

    name = "filesystem"
    supports_overwrite = True
    options = OPTIONS
    spark_batch = "penstock.sql.spark.filesystem:FileSystemBatch"
    endless_advice = "leave 'source.monitor-interval' out, or use streaming mode"
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
            found = find_format(self.values["format"])
        except ValidationError as error:
            raise self.refused(error.what, do=error.do) from None
        if found.framing == "message":
            raise self.refused(f"format '{found.name}' is one for messages, not for files", do="use avro")
        return found

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

    def source(self, table: CatalogTable, columns: Sequence[str] | None = None) -> FileTableSource:
        interval = self.values["source.monitor-interval"]
        return FileTableSource(
            self.listing(table),
            self.scan(table, columns),
            self.row_type(table),
            None if interval is None else parse_duration(interval).to_millis(),
        )

    def listing(self, table: CatalogTable) -> FileListing:
        """Which files make the table."""
        pattern = self.values["source.path.regex-pattern"]
        splittable = self.format.framing == "line"
        return FileListing(self.store, self.partitioning(table), pattern, splittable)

    def scan(self, table: CatalogTable, columns: Sequence[str] | None = None) -> FileScan:
        """How the table's files are read."""
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

    def _file_type(self, table: CatalogTable) -> RowType:
        fields = [f for f in table.physical_schema.fields if f.name not in table.partition_keys]
        return RowType(fields, nullable=False)

    def partitioning(self, table: CatalogTable) -> Partitioning:
        default_name = self.values["partition.default-name"]
        return Partitioning.of(table.physical_schema, table.partition_keys, default_name)

    def lookup_source(self, table: CatalogTable, key_columns: Sequence[int]) -> LookupSource | None:
        """With 'lookup.cache' = 'FULL' tasks hold the whole table; Flink cannot look files up at all."""
        if self.values["lookup.cache"] is None:
            return None
        if is_columnar(self.format.name) or self.format.changelog:
            raise self.refused(f"format '{self.format.name}' cannot be looked up", do="use csv, json or avro")
        interval = self.values["lookup.full-cache.periodic-reload.interval"]
        return FileLookup(self, table, key_columns, None if interval is None else interval.to_millis())

    # --- writing

    def sink(self, table: CatalogTable, request: SinkRequest) -> FileTableSink:
        return FileTableSink(
            self.store,
            self.format.name,
            self.raw_options,
            table.physical_schema,
            self.partitioning(table),
            f"{self.store.root}/.staging_{uuid.uuid4().hex}",
            changelog=request.changelog and self.format.changelog,
            limit_bytes=self.size_limit(compacted=self.values["auto-compaction"] and not request.bounded),
            trigger=self.commit_trigger(table),
            success_file=self.values["sink.partition-commit.success-file.name"],
            bounded=request.bounded,
            overwrite=request.overwrite,
            hold_ms=None if request.bounded else self.hold_ms(),
        )

    def hold_ms(self) -> int | None:
        """How long files wait for those of later epochs, to be merged with them; None: they do not."""
        interval = self.values["sink.rolling-policy.rollover-interval"]
        return interval.to_millis() if self.values["auto-compaction"] and interval is not None else None

    def sink_requirements(self, table: CatalogTable, request: SinkRequest) -> SinkRequirements:
        """Who writes what; changes of one row must not overtake each other on the way to another number of tasks."""
        names = table.physical_schema.names
        keys = [names.index(key) for key in table.partition_keys]
        if request.bounded:
            return batch_spread(self.values, keys)
        if not request.retracts:
            return epoch_spread(self.values, keys, request.input_parallelism)
        by_key = [names.index(column) for column in table.primary_key]
        wanted = epoch_spread(self.values, keys, request.input_parallelism, by_key)
        if wanted.partition_by == () and wanted.parallelism != 1:
            raise self.refused(
                f"'sink.parallelism' is {wanted.parallelism} and {request.input_parallelism} tasks produce updates, "
                "but there is no primary key by which the changes of a row could stay together",
                do="declare a primary key, or leave 'sink.parallelism' out",
            )
        return wanted

    def size_limit(self, compacted: bool = False) -> int:
        """How large files become, in bytes, or how large those that are put together."""
        merged: int | None = self.values["compaction.file-size"] if compacted else None
        return merged or int(self.values["sink.rolling-policy.file-size"])

    def commit_trigger(self, table: CatalogTable) -> Trigger | None:
        """When a job says that a partition is complete; None if it never does."""
        wanted = "success-file" in (self.values["sink.partition-commit.policy.kind"] or "")
        if not wanted or not table.partition_keys:
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
