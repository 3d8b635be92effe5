"""What tables over queues share: messages in a format, with changes if the format has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.connectors.async_sink import AsyncSinkSettings
from penstock.connectors.request_table import RequestTable
from penstock.connectors.table import ChangelogMode, SinkRequest, SinkRequirements

if TYPE_CHECKING:
    from penstock.catalog.objects import CatalogTable

__all__ = ["QueueTable"]


class QueueTable(RequestTable):
    """With a format of changes it is a table of changes, read and written; otherwise of rows."""

    upserts = False
    update_advice = "write in a format of changes such as debezium-json, or make the query append-only"

    def changelog_mode(self, table: CatalogTable) -> ChangelogMode:
        return "changelog" if self.message(table).format.changelog else "insert-only"

    def sink_changelog_mode(self, table: CatalogTable) -> ChangelogMode:
        return self.changelog_mode(table)

    def is_bounded(self, table: CatalogTable) -> bool:
        return False

    def batches(self) -> AsyncSinkSettings:
        """How messages are sent: one batch after the other, so that they stay in order."""
        return AsyncSinkSettings(
            max_batch_size=self.values["sink.batch.max-size"],
            max_batch_size_in_bytes=self.values["sink.flush-buffer.size"],
            max_in_flight_requests=1,
            max_retries=self.values["sink.max-retries"],
            initial_backoff_ms=self.values["sink.retry-delay"],
        )

    def sink_requirements(self, table: CatalogTable, request: SinkRequest) -> SinkRequirements:
        """Changes have an order: one task writes them, unless the table says otherwise."""
        tasks = self.values["sink.parallelism"]
        if tasks is None and request.retracts:
            tasks = 1
        return SinkRequirements(None if tasks is None else (), tasks)
