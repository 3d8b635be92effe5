"""Running a query for nothing, in batch mode: Spark's own sink for that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.sql.spark.connector_io import SparkBatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.catalog.objects import CatalogTable
    from penstock.connectors.table import SinkRequest, TableConnector


class BlackHoleBatch(SparkBatch):
    def write(
        self, connector: TableConnector, table: CatalogTable, df: DataFrame, request: SinkRequest
    ) -> bool:
        df.write.format("noop").mode("overwrite").save()
        return True
