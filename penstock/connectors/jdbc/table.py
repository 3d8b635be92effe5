"""`'connector' = 'jdbc'`: tables of PostgreSQL, MySQL, MariaDB and SQLite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from penstock.common.datatypes import LocalZonedTimestampType
from penstock.common.errors import ValidationError
from penstock.connectors.jdbc.database_table import JdbcTable
from penstock.connectors.jdbc.dialect import Login, find_dialect
from penstock.connectors.jdbc.lookup import JdbcLookup
from penstock.connectors.jdbc.options import OPTIONS, check, with_old_cache_options
from penstock.connectors.jdbc.sink import JdbcSink
from penstock.connectors.jdbc.source import WHOLE, JdbcScan, JdbcSource, Range, ranges
from penstock.connectors.jdbc.url import JdbcUrl
from penstock.connectors.table import (
    ChangelogMode,
    Direction,
    SinkRequest,
    SinkRequirements,
    TableConnector,
)

if TYPE_CHECKING:
    from penstock.catalog.objects import CatalogTable
    from penstock.connectors.lookup import LookupSource


class JdbcConnector(TableConnector):
    """A table is read once, as it is then; with a primary key it takes updates and deletions."""

    name = "jdbc"
    options = OPTIONS
    spark_batch = "penstock.sql.spark.jdbc:JdbcBatch"
    upserts = True
    changes_rows = True
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

    def source(self, table: CatalogTable, columns: Sequence[str] | None = None) -> JdbcSource:
        return JdbcSource(self.scan(table, columns))

    def scan(self, table: CatalogTable, columns: Sequence[str] | None = None) -> JdbcScan:
        """How the table is read."""
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

    def lookup_source(self, table: CatalogTable, key_columns: Sequence[int]) -> LookupSource | None:
        self.validate(table, "source")
        retries = self.values["lookup.max-retries"]
        return JdbcLookup(self._table(table), table.physical_schema, key_columns, retries)

    # --- writing

    def sink(self, table: CatalogTable, request: SinkRequest) -> JdbcSink:
        return JdbcSink(
            self._table(table),
            table.physical_schema,
            tuple(table.primary_key),
            self.values["sink.buffer-flush.max-rows"],
            self.values["sink.max-retries"],
            request.changelog,
            self.values["sink.delivery-guarantee"] == "exactly-once",
            self.values["sink.unknown-outcome"],
        )

    def sink_requirements(self, table: CatalogTable, request: SinkRequest) -> SinkRequirements:
        """A key's changes go to one task, in order. So two tasks never wait for each other's rows either."""
        tasks = self.values["sink.parallelism"]
        if not self.dialect.parallel_writes:
            tasks = 1
        if not table.primary_key:
            return SinkRequirements(None if tasks is None else (), tasks)
        names = table.physical_schema.names
        by_key = tuple(names.index(name) for name in table.primary_key)
        return SinkRequirements(by_key, tasks or request.parallelism)
