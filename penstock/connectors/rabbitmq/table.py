"""`'connector' = 'rabbitmq'`: tables whose rows, or whose changes, are the messages of a queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.connectors.message_bodies import RowDecoder
from penstock.connectors.message_sinks import RowMessageSink
from penstock.connectors.queue_table import QueueTable
from penstock.connectors.rabbitmq import options as o
from penstock.connectors.rabbitmq.client import pika_library
from penstock.connectors.rabbitmq.sink import RabbitTarget
from penstock.connectors.rabbitmq.source import RabbitSource
from penstock.connectors.table import Direction, SinkRequest

if TYPE_CHECKING:
    from penstock.catalog.objects import CatalogTable


class RabbitConnector(QueueTable):
    """A queue never ends."""

    name = "rabbitmq"
    options = o.OPTIONS

    def check(self, table: CatalogTable, for_: Direction) -> None:
        pika_library()
        o.check(self.values, for_)
        o.address(self.values)

    def source(self, table: CatalogTable, columns: Sequence[str] | None = None) -> RabbitSource:
        return RabbitSource(
            o.address(self.values),
            self.values["queue"],
            RowDecoder(self.message(table)),
            self.values["scan.correlation-ids"],
            self.values["scan.prefetch-count"],
        )

    def sink(self, table: CatalogTable, request: SinkRequest) -> RowMessageSink:
        exchange = self.values["exchange"]
        key = self.values["queue"] if exchange is None else self.values["routing-key"] or ""
        target = RabbitTarget(o.address(self.values), exchange or "", key)
        return RowMessageSink(target, self.message(table), request.changelog, self.batches())
