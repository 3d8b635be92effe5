"""The sink that takes everything and keeps nothing; for measuring what comes before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock.formats.base import Option
from penstock.sql.connectors.base import ChangelogMode, SqlConnector

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.catalog.objects import CatalogTable


class BlackHoleConnector(SqlConnector):
    name = "blackhole"
    options = (Option("property-version"),)
    directions = ("sink",)

    def changelog_mode(self, table: CatalogTable) -> ChangelogMode:
        return "changelog"

    def write_batch(
        self,
        spark: SparkSession,
        table: CatalogTable,
        df: DataFrame,
        overwrite: bool = False,
        static_partition: Mapping[str, Any] | None = None,
    ) -> None:
        df.write.format("noop").mode("overwrite").save()
