"""`'connector' = 'rabbitmq'`: tables whose rows, or whose changes, are the messages of a queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.connectors.async_sink import AsyncSinkSettings
from penstock.connectors.message_part import MessagePart
from penstock.connectors.rabbitmq import options as o
from penstock.connectors.rabbitmq.client import pika_library
from penstock.connectors.rabbitmq.sink import RabbitTableSink, RabbitTarget
from penstock.connectors.rabbitmq.source import Decode, RabbitSource
from penstock.connectors.request_table import RequestTable
from penstock.connectors.table import ChangelogMode, Direction, SinkRequest, SinkRequirements
from penstock.formats.base import RecordContext

if TYPE_CHECKING:
    from penstock.catalog.objects import CatalogTable


@dataclass(frozen=True)
class RowDecoder:
    """Makes rows of messages, with their kinds if the format has changes; picklable."""

    message: MessagePart

    def __call__(self) -> Decode:
        decode, context = self.message.decoder().decode, RecordContext("message")
        if self.message.format.changelog:
            return lambda body: [(*row, kind) for kind, row in decode(body, context)]
        return lambda body: [row for _, row in decode(body, context)]


class RabbitConnector(RequestTable):
    """A queue never ends. With a format of changes it is a table of changes, read and written."""

    name = "rabbitmq"
    options = o.OPTIONS
    upserts = False
    update_advice = "write in a format of changes such as debezium-json, or make the query append-only"

    def check(self, table: CatalogTable, for_: Direction) -> None:
        pika_library()
        o.check(self.values, for_)
        o.address(self.values)

    def changelog_mode(self, table: CatalogTable) -> ChangelogMode:
        return "changelog" if self.message(table).format.changelog else "insert-only"

    def sink_changelog_mode(self, table: CatalogTable) -> ChangelogMode:
        return self.changelog_mode(table)

    def is_bounded(self, table: CatalogTable) -> bool:
        return False

    def source(self, table: CatalogTable, columns: Sequence[str] | None = None) -> RabbitSource:
        return RabbitSource(
            o.address(self.values),
            self.values["queue"],
            RowDecoder(self.message(table)),
            self.values["scan.correlation-ids"],
            self.values["scan.prefetch-count"],
        )

    def sink(self, table: CatalogTable, request: SinkRequest) -> RabbitTableSink:
        exchange = self.values["exchange"]
        key = self.values["queue"] if exchange is None else self.values["routing-key"] or ""
        return RabbitTableSink(
            RabbitTarget(o.address(self.values), exchange or "", key),
            self.message(table),
            request.changelog,
            AsyncSinkSettings(
                max_batch_size=self.values["sink.batch.max-size"],
                max_batch_size_in_bytes=self.values["sink.flush-buffer.size"],
                max_in_flight_requests=1,
                max_retries=self.values["sink.max-retries"],
                initial_backoff_ms=self.values["sink.retry-delay"],
            ),
        )

    def sink_requirements(self, table: CatalogTable, request: SinkRequest) -> SinkRequirements:
        """Changes have an order: one task writes them, unless the table says otherwise."""
        tasks = self.values["sink.parallelism"]
        if tasks is None and request.retracts:
            tasks = 1
        return SinkRequirements(None if tasks is None else (), tasks)
