"""Tables of Kafka without an engine: rows that their source reads, messages that their sink writes."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.catalog.objects import CatalogTable
from penstock.catalog.schema import Schema, SchemaColumn
from penstock.common.datatype_parser import parse_type
from penstock.common.ids import EpochId
from penstock.connectors.registry import find_connector
from penstock.connectors.sink import WriterContext
from penstock.connectors.table import SinkRequest
from penstock.formats.arrow_rows import RowsToArrow
from tests.connectors.epochs import SourceLoop
from tests.servers.kafka import KafkaServer


class Table:
    """A table `t`; metadata columns are named by their key, those in `written` are not VIRTUAL."""

    def __init__(
        self,
        columns: str,
        options: dict[str, str],
        metadata: Sequence[str] = (),
        written: Sequence[str] = (),
        key: Sequence[str] = (),
    ) -> None:
        fields = parse_type(f"ROW<{columns}>").fields
        self.connector = find_connector(options, "t")
        types = self.connector.metadata_columns
        asked = [SchemaColumn(k, types.get(k), metadata_key=k, is_virtual=k not in written) for k in metadata]
        physical = [SchemaColumn(f.name, f.data_type) for f in fields]
        self.table = CatalogTable(
            Schema((*physical, *asked), primary_key=tuple(key)),
            dict(options),
            requested_metadata=tuple(asked),
        )

    def read(self, columns: Sequence[str] | None = None, **loop: Any) -> list[tuple[Any, ...]]:
        """All rows of a bounded table."""
        self.connector.validate(self.table, "source")
        source = SourceLoop(self.connector.source(self.table, columns), **loop)
        try:
            return source.run_to_end()
        finally:
            source.enumerator.close()

    def write(self, *rows: tuple[Any, ...], kinds: Sequence[int] | None = None, subtask: int = 0) -> None:
        """One epoch of one subtask."""
        self.connector.validate(self.table, "sink")
        mode = self.connector.sink_changelog_mode(self.table)
        sink = self.connector.sink(self.table, SinkRequest(changelog=mode == "changelog"))
        context = WriterContext(subtask, 2, EpochId(1), uuid.uuid4().hex, int(time.time() * 1000))
        writer = sink.create_writer(context)
        batch = RowsToArrow(self.table.sink_schema).batch(rows)
        table = pa.Table.from_batches([batch])
        table = table.append_column("__kind", pa.array(kinds or [0] * len(rows), pa.int8()))
        writer.write_arrow(table.append_column("__pos", pa.array(range(len(rows)), pa.int64())))
        committables = writer.prepare_commit(True)
        committer = sink.create_committer()
        if committer is not None:
            committer.commit(committables)
            committer.close()


def kafka_options(kafka: KafkaServer, topic: str, **more: str) -> dict[str, str]:
    """Options of a bounded table that is read from its beginning; `_` is `-`, and `__` is `.`."""
    given = {name.replace("__", ".").replace("_", "-"): value for name, value in more.items()}
    return {
        "connector": "kafka",
        "topic": topic,
        "properties.bootstrap.servers": kafka.servers,
        "scan.startup.mode": "earliest-offset",
        "scan.bounded.mode": "latest-offset",
        **given,
    }
