"""Writing to a database's table in batch mode: rows with a primary key have to come in the order of the query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.connectors.table import POSITION_COLUMN, SinkRequest, TableConnector
from penstock.sql.spark.connector_io import SparkBatch, spread, write_all

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.catalog.objects import CatalogTable


class JdbcBatch(SparkBatch):
    """Numbers the rows before they are brought together by key, and sorts them by that number afterwards."""

    def write(
        self, connector: TableConnector, table: CatalogTable, df: DataFrame, request: SinkRequest
    ) -> bool:
        if not table.primary_key:
            return False
        from pyspark.sql.functions import monotonically_increasing_id

        numbered = df.withColumn(POSITION_COLUMN, monotonically_increasing_id())
        rows = spread(numbered, connector.sink_requirements(table, request))
        sink = connector.sink(table, request)
        write_all(sink, rows.sortWithinPartitions(POSITION_COLUMN), table.sink_schema, request)
        return True
