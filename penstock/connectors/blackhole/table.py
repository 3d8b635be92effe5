"""`'connector' = 'blackhole'`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.connectors.blackhole.sink import BlackHoleSink
from penstock.connectors.table import ChangelogMode, SinkRequest, TableConnector
from penstock.formats.base import Option

if TYPE_CHECKING:
    from penstock.catalog.objects import CatalogTable


class BlackHoleConnector(TableConnector):
    """Its batch statements are Spark's own `noop`, which reads the query and leaves the rows in the JVM."""

    name = "blackhole"
    options = (Option("property-version"),)
    directions = ("sink",)
    spark_batch = "penstock.sql.spark.blackhole:BlackHoleBatch"

    def changelog_mode(self, table: CatalogTable) -> ChangelogMode:
        return "changelog"

    def sink(self, table: CatalogTable, request: SinkRequest) -> BlackHoleSink:
        return BlackHoleSink()
