"""`'connector' = 'mqtt'`: tables whose rows, or whose changes, are the messages of topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.common.datatypes import DataTypes
from penstock.connectors.message_bodies import RowDecoder
from penstock.connectors.message_sinks import RowMessageSink
from penstock.connectors.mqtt import options as o
from penstock.connectors.mqtt.client import mqtt_library
from penstock.connectors.mqtt.sink import MqttTarget
from penstock.connectors.mqtt.source import MqttTopicSource
from penstock.connectors.queue_table import QueueTable
from penstock.connectors.table import Direction, SinkRequest

if TYPE_CHECKING:
    from penstock.catalog.objects import CatalogTable


class MqttConnector(QueueTable):
    """Topics never end."""

    name = "mqtt"
    options = o.OPTIONS
    metadata_columns = {"topic": DataTypes.STRING(False)}

    def check(self, table: CatalogTable, for_: Direction) -> None:
        mqtt_library()
        o.check(self.values, for_)
        o.address(self.values)

    def source(self, table: CatalogTable, columns: Sequence[str] | None = None) -> MqttTopicSource:
        return MqttTopicSource(
            o.address(self.values),
            o.topics(self.values),
            RowDecoder(self.message(table)),
            self.values["scan.client-id"],
            int(self.values["qos"]),
            self.values["scan.prefetch-count"],
            self.values["scan.session-expiry"] // 1000,
            len(table.physical_schema.fields) if table.requested_metadata else None,
        )

    def sink(self, table: CatalogTable, request: SinkRequest) -> RowMessageSink:
        [topic] = o.topics(self.values)
        target = MqttTarget(
            o.address(self.values), topic, int(self.values["qos"]), self.values["sink.retain"]
        )
        return RowMessageSink(target, self.message(table), request.changelog, self.batches())
