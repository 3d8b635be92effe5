"""`PostgresIncrementalSource.builder()`: PostgreSQL's tables and their changes as a stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.common.errors import ValidationError
from penstock.connectors.cdc.builder import CdcSourceBuilder
from penstock.connectors.cdc.database import Login, Selection
from penstock.connectors.cdc.enumerator import Capture
from penstock.connectors.postgres_cdc import options as o
from penstock.connectors.postgres_cdc.server import psycopg
from penstock.connectors.postgres_cdc.table import PostgresCdcConnector, postgres_capture

__all__ = ["PostgresIncrementalSource", "PostgresSourceBuilder"]


class PostgresSourceBuilder(CdcSourceBuilder):
    """Settings of a source; `database`, `table_list` and `slot_name` are PostgreSQL's."""

    connector = PostgresCdcConnector.name
    known = o.OPTIONS
    debezium = o.DEBEZIUM_OPTIONS
    ask_for_images = "ALTER TABLE ... REPLICA IDENTITY FULL and start without the checkpoint"

    def __init__(self) -> None:
        super().__init__()
        self._options["schema-name"] = ".*"

    def database(self, database: str) -> PostgresSourceBuilder:
        """The database whose tables are read."""
        return self._set("database-name", database)

    def schema_list(self, *schema_list: str) -> PostgresSourceBuilder:
        """Regular expressions for schemas; tables of others are left out, whatever `table_list` says."""
        return self._set("schema-name", "|".join(f"(?:{schema})" for schema in schema_list))

    def slot_name(self, slot_name: str) -> PostgresSourceBuilder:
        """The replication slot: small letters, digits and underscores; one for each job."""
        return self._set("slot.name", slot_name)

    def decoding_plugin_name(self, decoding_plugin_name: str) -> PostgresSourceBuilder:
        """The plug-in that tells changes: "pgoutput", others are refused."""
        return self._set("decoding.plugin.name", decoding_plugin_name)

    def lsn_commit_checkpoints_delay(self, lsn_commit_delay: int) -> PostgresSourceBuilder:
        """After how many more epochs the server may forget the log of an epoch."""
        return self._set("scan.lsn-commit.checkpoints-num-delay", lsn_commit_delay)

    def include_partitioned_tables(self, include_partitioned_tables: bool) -> PostgresSourceBuilder:
        """Reads partitioned tables by their own name, not by those of their partitions."""
        return self._set("scan.include-partitioned-tables.enabled", include_partitioned_tables)

    def _capture(
        self, login: Login, selection: Selection, values: Mapping[str, Any], engine: Mapping[str, Any]
    ) -> Capture:
        psycopg()
        o.check(values, f"source {self.connector}")
        if not values["database-name"]:
            raise ValidationError("it is not said in which database the tables are", do="call database(...)")
        pattern = rf"(?=(?:{values['schema-name']})\.)(?:{selection.pattern})"
        return postgres_capture(login, selection.with_pattern(pattern), values, engine)


class PostgresIncrementalSource:
    """Rows in parallel chunks, then the log."""

    @staticmethod
    def builder() -> PostgresSourceBuilder:
        """Begins a source.

        Example:
            ```python
            source = (
                PostgresIncrementalSource.builder()
                .hostname("db").port(5432).username("reader").password(secret)
                .database("shop").table_list("public.orders").slot_name("orders_job")
                .deserializer(JsonDebeziumDeserializationSchema())
                .build()
            )
            ```
        """
        return PostgresSourceBuilder()
