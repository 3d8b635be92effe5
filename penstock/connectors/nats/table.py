"""`'connector' = 'nats'`: tables whose rows, or whose changes, are the messages of a JetStream stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.common.datatypes import DataTypes
from penstock.connectors.message_bodies import RowDecoder
from penstock.connectors.message_part import MessagePart
from penstock.connectors.message_sinks import RowMessageSink
from penstock.connectors.nats import options as o
from penstock.connectors.nats.client import nats_library
from penstock.connectors.nats.sink import NatsTarget
from penstock.connectors.nats.source import Decode, NatsStreamSource
from penstock.connectors.queue_table import QueueTable
from penstock.connectors.table import Direction, SinkRequest

if TYPE_CHECKING:
    from penstock.catalog.objects import CatalogTable

_METADATA: dict[str, Callable[[Any], Any]] = {
    "subject": lambda message: message.subject,
    "sequence": lambda message: message.metadata.sequence.stream,
    "timestamp": lambda message: message.metadata.timestamp,
}


@dataclass(frozen=True)
class StreamRows:
    """Makes rows of messages: physical columns, metadata, the kind if the format has changes; picklable."""

    message: MessagePart
    metadata: tuple[str, ...] = ()

    def __call__(self) -> Decode:
        decode, width = RowDecoder(self.message)(), len(self.message.row_type.fields)
        asked = [_METADATA[name] for name in self.metadata]

        def rows(message: Any) -> Sequence[Any]:
            found = decode(message.data)
            if not asked:
                return found
            more = tuple(ask(message) for ask in asked)
            return [(*row[:width], *more, *row[width:]) for row in found]

        return rows


class NatsConnector(QueueTable):
    """A stream goes on for ever, unless 'scan.bounded.mode' says otherwise."""

    name = "nats"
    options = o.OPTIONS
    endless_advice = "set 'scan.bounded.mode' to 'latest', or use streaming mode"
    watermarks_by_split = True
    metadata_columns = {
        "subject": DataTypes.STRING(False),
        "sequence": DataTypes.BIGINT(False),
        "timestamp": DataTypes.TIMESTAMP_LTZ(3, False),
    }

    def check(self, table: CatalogTable, for_: Direction) -> None:
        nats_library()
        o.check(self.values, for_)
        o.reading(self.values) if for_ == "source" else o.address(self.values)

    def is_bounded(self, table: CatalogTable) -> bool:
        return bool(self.values["scan.bounded.mode"] == "latest")

    def source(self, table: CatalogTable, columns: Sequence[str] | None = None) -> NatsStreamSource:
        metadata = tuple(c.metadata_key or c.name for c in table.requested_metadata)
        return NatsStreamSource(o.reading(self.values), StreamRows(self.message(table), metadata))

    def sink(self, table: CatalogTable, request: SinkRequest) -> RowMessageSink:
        target = NatsTarget(o.address(self.values), self.values["subject"])
        return RowMessageSink(target, self.message(table), request.changelog, self.batches())
