from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from penstock.catalog.objects import CatalogTable
from penstock.catalog.schema import Schema, SchemaColumn
from penstock.common.datatype_parser import parse_type
from penstock.connectors.registry import find_connector
from penstock.connectors.table import SinkRequest
from penstock.runtime.spark.session import get_spark
from penstock.sql.spark import connector_io


@pytest.fixture(scope="session")
def spark() -> Any:
    session = get_spark({"spark.master": "local[2]", "spark.driver.memory": "1g"}).newSession()
    session.conf.set("spark.sql.ansi.enabled", "false")
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set("spark.sql.timeType.enabled", "true")
    return session


class Table:
    """A table with its connector: `read` and `write` go through Spark as a query would."""

    def __init__(
        self,
        spark: Any,
        columns: str,
        options: Mapping[str, str],
        partitioned_by: tuple[str, ...] = (),
        metadata: tuple[str, ...] = (),
    ) -> None:
        fields = parse_type(f"ROW<{columns}>").fields
        physical = [SchemaColumn(f.name, f.data_type) for f in fields]
        asked = [SchemaColumn(key, None, metadata_key=key, is_virtual=True) for key in metadata]
        self.spark = spark
        self.table = CatalogTable(
            Schema((*physical, *asked)),
            dict(options),
            partition_keys=partitioned_by,
            requested_metadata=tuple(asked),
        )
        self.connector = find_connector(options, "cat.db.t")

    def read(self, columns: list[str] | None = None) -> list[tuple[Any, ...]]:
        self.connector.validate(self.table, "source")
        relation = connector_io.relation(self.spark, self.connector, self.table, columns)
        return [tuple(row) for row in self.spark.sql(f"SELECT * FROM {relation}").collect()]

    def write(self, query: str, overwrite: bool = False) -> None:
        self.connector.validate(self.table, "sink")
        connector_io.write(
            self.connector, self.table, self.spark.sql(query), SinkRequest(overwrite=overwrite)
        )


@pytest.fixture
def make_table(spark: Any) -> Callable[..., Table]:
    def make(columns: str, options: Mapping[str, str], **more: Any) -> Table:
        return Table(spark, columns, options, **more)

    return make
