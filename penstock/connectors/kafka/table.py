"""`'connector' = 'kafka'`: tables whose rows, or whose changes, are the messages of topics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.common.datatypes import DataTypes
from penstock.common.errors import ValidationError
from penstock.connectors.kafka import options as o
from penstock.connectors.kafka.client import KafkaCluster, confluent
from penstock.connectors.kafka.fields import MessagePart, knows, message_parts
from penstock.connectors.kafka.sink import KafkaWriting
from penstock.connectors.kafka.source import KafkaReading
from penstock.connectors.kafka.table_reader import KafkaScan, KafkaTableSource
from penstock.connectors.kafka.table_sink import KafkaTableSink
from penstock.connectors.table import (
    ChangelogMode,
    Direction,
    SinkRequest,
    SinkRequirements,
    TableConnector,
)

if TYPE_CHECKING:
    from penstock.catalog.objects import CatalogTable


class KafkaTables(TableConnector, ABC):
    """What `kafka` and `upsert-kafka` share."""

    endless_advice = "set 'scan.bounded.mode', or use streaming mode"
    all_or_nothing = False
    watermarks_by_split = True
    writable_metadata = frozenset({"headers", "timestamp", "topic"})
    metadata_columns = {
        "topic": DataTypes.STRING(False),
        "partition": DataTypes.INT(False),
        "headers": DataTypes.MAP(DataTypes.STRING(False), DataTypes.BYTES(), False),
        "leader-epoch": DataTypes.INT(),
        "offset": DataTypes.BIGINT(False),
        "timestamp": DataTypes.TIMESTAMP_LTZ(3, False),
        "timestamp-type": DataTypes.STRING(False),
    }

    def __init__(self, options: Mapping[str, str], table_path: str) -> None:
        super().__init__(options, table_path)
        self.client = o.properties(self.raw_options)
        try:
            o.check(self.values)
        except ValidationError as error:
            raise self.refused(error.what, do=error.do) from None

    def knows(self, key: str) -> bool:
        return super().knows(key) or key.startswith(o.PROPERTIES) or knows(self.raw_options, key)

    @abstractmethod
    def key_fields(self, table: CatalogTable) -> Sequence[str]:
        """The columns that make a message's key."""

    def parts(self, table: CatalogTable) -> tuple[MessagePart | None, MessagePart]:
        """Key and value of the table's messages."""
        try:
            return message_parts(
                table.physical_schema,
                self.raw_options,
                self.key_fields(table),
                self.values["key.fields-prefix"],
                self.values["value.fields-include"],
                self.values["topic"][0] if self.values["topic"] and len(self.values["topic"]) == 1 else None,
            )
        except ValidationError as error:
            raise self.refused(error.what, do=error.do) from None

    # --- checks

    def validate(self, table: CatalogTable, for_: Direction) -> None:
        super().validate(table, for_)
        confluent()
        if table.partition_keys:
            raise self.refused("tables of Kafka cannot be PARTITIONED BY columns: topics have partitions")
        key, value = self.parts(table)
        try:
            for part in (key, value):
                if part is not None:
                    part.check()
                    part.decoder() if for_ == "source" else part.encoder()
            if key is not None and key.format.changelog:
                raise ValidationError(
                    f"a key format should only deal with INSERT-only records, but '{key.format_name}' has changes"
                )
            self.check_formats(table, value)
            self.reading() if for_ == "source" else self._check_sink(table)
        except ValidationError as error:
            raise self.refused(error.what, do=error.do) from None
        except ValueError as error:
            raise self.refused(f"the format cannot write this table: {error}") from None

    def check_formats(self, table: CatalogTable, value: MessagePart) -> None:
        """Refuses formats that do not go with what the table is."""

    def _check_sink(self, table: CatalogTable) -> None:
        self.writing()
        written = [c.metadata_key or c.name for c in table.metadata_columns if not c.is_virtual]
        if "topic" not in written and (not self.values["topic"] or len(self.values["topic"]) > 1):
            raise ValidationError(
                "a sink needs one topic to write to",
                do="name one in 'topic', or declare a column `topic` STRING NOT NULL METADATA for each row",
            )

    # --- reading

    def is_bounded(self, table: CatalogTable) -> bool:
        return bool(self.values["scan.bounded.mode"] != "unbounded")

    def reading(self) -> KafkaReading:
        interval = str(self.values["scan.topic-partition-discovery.interval"])
        client = {"partition.discovery.interval.ms": interval, **self.client}
        stopping = o.stopping(self.values)
        return KafkaReading(
            KafkaCluster(client),
            o.subscription(self.values),
            o.starting(self.values, self.client),
            stopping,
            bounded=stopping is not None,
        )

    def source(self, table: CatalogTable, columns: Sequence[str] | None = None) -> KafkaTableSource:
        key, value = self.parts(table)
        names = table.physical_schema.names
        wanted = [i for i, name in enumerate(names) if columns is None or name in columns]
        return KafkaTableSource(
            KafkaScan(
                self.reading(),
                self.row_type(table),
                len(names),
                key,  # also if nobody asks for it: a message without a key is no row
                value.only(wanted),
                tuple(c.metadata_key or c.name for c in table.requested_metadata),
                with_kind=self.changelog_mode(table) == "changelog",
                upserts=self.emits_upserts,
            )
        )

    # --- writing

    def writing(self) -> KafkaWriting:
        return KafkaWriting(
            KafkaCluster(self.client), o.guarantee(self.values), self.values["sink.transactional-id-prefix"]
        )

    def sink(self, table: CatalogTable, request: SinkRequest) -> KafkaTableSink:
        key, value = self.parts(table)
        names = table.sink_schema.names
        physical = table.physical_schema.names
        topics = self.values["topic"] or ()
        return KafkaTableSink(
            self.writing(),
            table.sink_schema,
            key,
            value,
            places=tuple(names.index(name) for name in physical),
            metadata={
                (c.metadata_key or c.name): names.index(c.name)
                for c in table.metadata_columns
                if not c.is_virtual
            },
            topics=topics,
            topic_pattern=self.values["topic-pattern"],
            changelog=request.changelog,
            **self.sink_settings(),
        )

    def sink_settings(self) -> dict[str, Any]:
        """What else the sink is told."""
        return {}

    def sink_requirements(self, table: CatalogTable, request: SinkRequest) -> SinkRequirements:
        """A key's changes go to one task, in order."""
        tasks = self.values["sink.parallelism"]
        names = table.sink_schema.names
        by_key = tuple(names.index(name) for name in table.primary_key)
        if by_key and request.changelog:
            return SinkRequirements(by_key, tasks or request.parallelism)
        if request.retracts and tasks not in (None, 1):
            raise self.refused(
                f"'sink.parallelism' is {tasks} and the query updates rows, but there is no primary key by which the "
                "changes of a row could stay together",
                do="declare a primary key, or leave 'sink.parallelism' out",
            )
        return SinkRequirements(None if tasks is None else (), tasks)


class KafkaConnector(KafkaTables):
    """Every message is a row, or, in a format of changes, says how rows change."""

    name = "kafka"
    options = o.KAFKA_OPTIONS

    def key_fields(self, table: CatalogTable) -> Sequence[str]:
        fields: Sequence[str] = self.values["key.fields"]
        return fields

    def check_formats(self, table: CatalogTable, value: MessagePart) -> None:
        if table.primary_key and not value.format.changelog:
            raise ValidationError(
                f"the Kafka table with '{value.format_name}' format doesn't support defining a PRIMARY KEY, because "
                "it can't guarantee the semantic of primary key",
                do="use 'upsert-kafka', or leave the key out",
            )

    def validate(self, table: CatalogTable, for_: Direction) -> None:
        if for_ == "sink":
            try:
                o.check_partitioner(self.values, f"table {self.table_path}")
            except ValidationError as error:
                raise self.refused(error.what, do=error.do) from None
        super().validate(table, for_)

    def changelog_mode(self, table: CatalogTable) -> ChangelogMode:
        return "changelog" if self.parts(table)[1].format.changelog else "insert-only"

    def sink_settings(self) -> dict[str, Any]:
        return {"partitioner": self.values["sink.partitioner"]}


class UpsertKafkaConnector(KafkaTables):
    """A message replaces the row with its key, or deletes it if it has no value (FLIP-149)."""

    name = "upsert-kafka"
    options = o.UPSERT_OPTIONS
    upserts = True
    emits_upserts = True

    def key_fields(self, table: CatalogTable) -> Sequence[str]:
        return table.primary_key

    def validate(self, table: CatalogTable, for_: Direction) -> None:
        if not table.primary_key:
            raise self.refused(
                "'upsert-kafka' tables require to define a PRIMARY KEY constraint: it says which columns are a "
                "message's key",
                do="add PRIMARY KEY (...) NOT ENFORCED",
            )
        rows, interval = (self.values[f"sink.buffer-flush.{n}"] for n in ("max-rows", "interval"))
        if (rows > 0) != (interval > 0):
            raise self.refused(
                "'sink.buffer-flush.max-rows' and 'sink.buffer-flush.interval' must be set to be greater than zero "
                "together to enable sink buffer flushing"
            )
        super().validate(table, for_)

    def check_formats(self, table: CatalogTable, value: MessagePart) -> None:
        if value.format.changelog:
            raise ValidationError(
                f"'upsert-kafka' connector doesn't support '{value.format_name}' as value format, because "
                f"'{value.format_name}' is not in insert-only mode"
            )

    def changelog_mode(self, table: CatalogTable) -> ChangelogMode:
        return "changelog"

    def sink_settings(self) -> dict[str, Any]:
        rows = self.values["sink.buffer-flush.max-rows"]
        return {"upserts": True, "buffer_rows": max(0, rows)}
