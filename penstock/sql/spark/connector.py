"""The connector of tables that Spark's own catalog holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.formats.base import Option
from penstock.sql.connectors import register_connector
from penstock.sql.connectors.base import SqlConnector

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.catalog.objects import CatalogTable


@register_connector
class SparkTableConnector(SqlConnector):
    """Reads and writes a table of the session catalog: 'table-name' is its full name for Spark."""

    name = "spark"
    supports_overwrite = True
    options = (Option("table-name", required=True),)

    def batch_relation(
        self, spark: SparkSession, table: CatalogTable, columns: Sequence[str] | None = None
    ) -> str:
        return str(self.values["table-name"])

    def write_batch(
        self,
        spark: SparkSession,
        table: CatalogTable,
        df: DataFrame,
        overwrite: bool = False,
        static_partition: Mapping[str, Any] | None = None,
    ) -> None:
        df.write.insertInto(str(self.values["table-name"]), overwrite=overwrite)
