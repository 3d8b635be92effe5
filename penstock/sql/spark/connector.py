"""The connector of tables that Spark's own catalog holds. Spark reads and writes them, in batch mode only.

A streaming query would have to know which of its epochs such a table holds already, and read it from a position. What
Spark tells about a table says neither, so streaming queries refuse it instead of writing an epoch twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.common.errors import NotSupportedError
from penstock.connectors.registry import register_connector
from penstock.connectors.table import SinkRequest, TableConnector
from penstock.formats.base import Option
from penstock.sql.spark.connector_io import ReadSteps, SparkBatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.catalog.objects import CatalogTable
    from penstock.connectors.sink import Sink
    from penstock.connectors.source import Source


@register_connector
class SparkTableConnector(TableConnector):
    """A table of the session catalog: 'table-name' is its full name for Spark."""

    name = "spark"
    supports_overwrite = True
    options = (Option("table-name", required=True),)
    spark_batch = f"{__name__}:SparkTableBatch"

    def source(self, table: CatalogTable, columns: Sequence[str] | None = None) -> Source:
        raise NotSupportedError(
            "reading a table of Spark's catalog in streaming mode",
            "Spark reads it as a whole and not from a position on",
            where=f"table {self.table_path}",
            do="use batch mode, or a table with 'connector' = 'filesystem' over the table's files",
        )

    def sink(self, table: CatalogTable, request: SinkRequest) -> Sink:
        raise NotSupportedError(
            "writing to a table of Spark's catalog in streaming mode",
            "nobody could tell which epochs it holds already, and a repeated one would be written twice",
            where=f"table {self.table_path}",
            do="use batch mode, or INSERT into a table with 'connector' = 'filesystem'",
        )


class SparkTableBatch(SparkBatch):
    def reads_itself(self, connector: TableConnector) -> bool:
        return True

    def relation(
        self,
        spark: SparkSession,
        connector: TableConnector,
        table: CatalogTable,
        columns: Sequence[str] | None,
        steps: ReadSteps | None = None,
    ) -> str:
        return str(connector.values["table-name"])

    def write(
        self, connector: TableConnector, table: CatalogTable, df: DataFrame, request: SinkRequest
    ) -> bool:
        df.write.insertInto(str(connector.values["table-name"]), overwrite=request.overwrite)
        return True
