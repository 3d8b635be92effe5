"""`'connector' = 'http'`: rows are sent to a service, or a service is asked for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.connectors.http import options as o
from penstock.connectors.http.address import address_of, named_in
from penstock.connectors.http.client import checked_url
from penstock.connectors.http.lookup import HttpAsking, HttpLookup
from penstock.connectors.http.sink import HttpTableSink
from penstock.connectors.request_table import RequestTable, batch_settings
from penstock.connectors.table import Direction, SinkRequest

if TYPE_CHECKING:
    from penstock.catalog.objects import CatalogTable
    from penstock.connectors.lookup import LookupSource
    from penstock.connectors.source import Source


class HttpConnector(RequestTable):
    """A sink, and the right side of a lookup join."""

    name = "http"
    options = o.OPTIONS

    def knows(self, key: str) -> bool:
        return super().knows(key) or key.startswith(o.HEADERS)

    def check(self, table: CatalogTable, for_: Direction) -> None:
        o.http_settings(self.values, self.raw_options)
        checked_url(self.values["url"].replace("{", "").replace("}", ""))
        address_of(self.values["url"], table.physical_schema.names)
        if self.message(table).format.changelog:
            raise ValidationError(
                f"the format '{self.format_name}' is one of changes", do="use json, csv, avro or raw"
            )
        if for_ == "sink" and self.values["sink.request-mode"] == "batch":
            self._check_batches(table)

    def _check_batches(self, table: CatalogTable) -> None:
        if named_in(self.values["url"]) or table.primary_key:
            raise ValidationError(
                "'sink.request-mode' = 'batch' cannot be used with a PRIMARY KEY, nor with columns in the URL: "
                "rows of a batch share their address and method"
            )
        if self.format_name not in ("json", "csv", "raw"):
            raise ValidationError(
                f"'{self.format_name}' records cannot be put together: use json, csv or raw"
            )

    def source(self, table: CatalogTable, columns: Sequence[str] | None = None) -> Source:
        raise NotSupportedError(
            "reading connector 'http' as a whole",
            "a service is asked for the rows of a key",
            where=f"table {self.table_path}",
            do="use it in a lookup join: JOIN … FOR SYSTEM_TIME AS OF",
        )

    def lookup_source(self, table: CatalogTable, key_columns: Sequence[int]) -> LookupSource | None:
        self.validate(table, "source")
        names = table.physical_schema.names
        missing = [n for n in named_in(self.values["url"]) if n not in [names[i] for i in key_columns]]
        if missing:
            raise self.refused(f"the join has no value for '{missing[0]}', which the URL names")
        return HttpLookup(
            HttpAsking(
                self.values["url"],
                self.message(table),
                tuple(key_columns),
                o.http_settings(self.values, self.raw_options),
                self.values["lookup.method"],
                self.values["lookup.max-retries"],
                self.values["lookup.retry-delay"],
                self.values["lookup.requests.max-inflight"],
            )
        )

    def sink(self, table: CatalogTable, request: SinkRequest) -> HttpTableSink:
        return HttpTableSink(
            self.values["url"],
            self.message(table),
            o.http_settings(self.values, self.raw_options),
            self.values["insert-method"],
            self.values["delete-method"],
            self.values["sink.request-mode"] == "batch",
            self.key_places(table),
            request.changelog,
            batch_settings(self.values),
        )
