"""`'connector' = 'jdbc'`: tables of PostgreSQL, MySQL, MariaDB and SQLite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.common.datatypes import LocalZonedTimestampType, RowField, RowType
from penstock.common.errors import ValidationError
from penstock.sql.connectors.base import (
    KIND_COLUMN,
    ChangelogMode,
    Direction,
    SqlConnector,
    new_view_name,
)
from penstock.sql.connectors.jdbc.dialect import Login, find_dialect
from penstock.sql.connectors.jdbc.lookup import JdbcLookup
from penstock.sql.connectors.jdbc.options import OPTIONS, check, with_old_cache_options
from penstock.sql.connectors.jdbc.sink import WRITTEN_SCHEMA, JdbcSink
from penstock.sql.connectors.jdbc.source import WHOLE, JdbcScan, Range, ranges
from penstock.sql.connectors.jdbc.table import JdbcTable
from penstock.sql.connectors.jdbc.url import JdbcUrl
from penstock.sql.connectors.spark_types import RowsToArrow, spark_schema
from penstock.sql.functions.text import quoted_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.catalog.objects import CatalogTable
    from penstock.sql.connectors.lookup import LookupSource

_ORDER = "__order"


class JdbcConnector(SqlConnector):
    """A table is read once, as it is then; with a primary key it takes updates and deletions."""

    name = "jdbc"
    options = OPTIONS
    upserts = True
    all_or_nothing = False  # every task has a transaction of its own
    uses_filters = True
    update_advice = "declare a PRIMARY KEY for the sink: rows can only be replaced by key"

    def __init__(self, options: Mapping[str, str], table_path: str) -> None:
        super().__init__(options, table_path)
        try:
            check(self.values)
            self.login = Login(
                JdbcUrl.parse(self.values["url"]),
                self.values["username"],
                self.values["password"],
                self.values["connection.max-retry-timeout"],
            )
            self.dialect = find_dialect(self.login.url)
        except ValidationError as error:
            raise self.refused(error.what, do=error.do) from None
        self.values = with_old_cache_options(self.values)

    def validate(self, table: CatalogTable, for_: Direction) -> None:
        super().validate(table, for_)
        self.dialect.driver()
        if table.partition_keys:
            raise self.refused("tables of a database cannot be PARTITIONED BY columns")
        try:
            for field in table.physical_schema.fields:
                self.dialect.check_type(field.name, field.data_type)
        except ValidationError as error:
            raise self.refused(error.what, do=error.do) from None

    def sink_changelog_mode(self, table: CatalogTable) -> ChangelogMode:
        return "changelog" if table.primary_key else "insert-only"

    def _table(self, table: CatalogTable) -> JdbcTable:
        zoned = any(isinstance(f.data_type, LocalZonedTimestampType) for f in table.physical_schema.fields)
        return JdbcTable(self.dialect, self.login, self.values["table-name"], self.table_path, zoned)

    # --- reading

    def scan(self, table: CatalogTable, columns: Sequence[str] | None = None) -> JdbcScan:
        """How the table is read; streaming sources use it too."""
        names = table.physical_schema.names
        wanted = tuple(name for name in names if columns is None or name in columns)
        return JdbcScan(
            self._table(table),
            table.physical_schema,
            wanted,
            self.values["scan.fetch-size"],
            self.values["scan.partition.column"],
            tuple(self.parts()),
            table.filters if self.values["filter.handling.policy"] == "always" else (),
        )

    def parts(self) -> list[Range]:
        """The ranges in which the table is read."""
        if self.values["scan.partition.column"] is None:
            return [WHOLE]
        low, high = self.values["scan.partition.lower-bound"], self.values["scan.partition.upper-bound"]
        return ranges(low, high, self.values["scan.partition.num"])

    def batch_relation(
        self, spark: SparkSession, table: CatalogTable, columns: Sequence[str] | None = None
    ) -> str:
        scan = self.scan(table, columns)
        fields = [RowField(f.name, f.data_type.nullable()) for f in table.physical_schema.fields]
        row_type = RowType(fields, nullable=False)

        def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            to_arrow = RowsToArrow(row_type)
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield from scan.batches(scan.parts[number], to_arrow)

        count = len(scan.parts)
        frame = spark.range(0, count, 1, count).mapInArrow(read, spark_schema(row_type))
        view = new_view_name()
        frame.createOrReplaceTempView(view)
        return view

    def lookup_source(self, table: CatalogTable, key_columns: Sequence[int]) -> LookupSource | None:
        self.validate(table, "source")
        retries = self.values["lookup.max-retries"]
        return JdbcLookup(self._table(table), table.physical_schema, key_columns, retries)

    # --- writing

    def write_batch(
        self,
        spark: SparkSession,
        table: CatalogTable,
        df: DataFrame,
        overwrite: bool = False,
        static_partition: Mapping[str, Any] | None = None,
    ) -> None:
        tasks = self.values["sink.parallelism"]
        if table.primary_key:
            from pyspark.sql.functions import monotonically_increasing_id

            numbered = df.withColumn(_ORDER, monotonically_increasing_id())
            self.write_changes(table, numbered, tasks or spark.sparkContext.defaultParallelism)
            return
        if not self.dialect.parallel_writes:
            df = df.coalesce(1)
        elif tasks is not None:
            df = df.repartition(tasks)
        self._write(table, df)

    def write_changes(self, table: CatalogTable, df: DataFrame, tasks: int) -> None:
        """Writes rows of a table with a primary key; the last column of `df` is the order in which they came.

        A key's changes go to one task. So two tasks never wait for each other's rows either.
        """
        order = df.columns[-1]
        if tasks == 1 or not self.dialect.parallel_writes:
            df = df.coalesce(1)
        else:
            df = df.repartition(tasks, *(quoted_name(name) for name in table.primary_key))
        self._write(table, df.sortWithinPartitions(order).drop(order))

    def _write(self, table: CatalogTable, df: DataFrame) -> None:
        sink = self.sink(table, kinds=df.columns[-1] == KIND_COLUMN)
        df.mapInArrow(sink.write, WRITTEN_SCHEMA).collect()

    def sink(self, table: CatalogTable, kinds: bool = False) -> JdbcSink:
        """How a task writes rows; with `kinds` the column behind them says what kind of change each is."""
        return JdbcSink(
            self._table(table),
            table.physical_schema,
            tuple(table.primary_key),
            self.values["sink.buffer-flush.max-rows"],
            self.values["sink.max-retries"],
            kinds,
        )
