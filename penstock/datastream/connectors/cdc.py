"""Change data capture: sources of PostgreSQL's and MySQL's tables, under Flink CDC's names."""

from __future__ import annotations

from penstock.connectors.cdc.builder import StartupOptions
from penstock.connectors.cdc.debezium import (
    ChangeRecord,
    DebeziumDeserializationSchema,
    JsonDebeziumDeserializationSchema,
    RowDataDebeziumDeserializeSchema,
)
from penstock.connectors.mysql_cdc.source import MySqlSource, MySqlSourceBuilder
from penstock.connectors.postgres_cdc.source import PostgresIncrementalSource, PostgresSourceBuilder

__all__ = [
    "ChangeRecord",
    "DebeziumDeserializationSchema",
    "JsonDebeziumDeserializationSchema",
    "MySqlSource",
    "MySqlSourceBuilder",
    "PostgresIncrementalSource",
    "PostgresSourceBuilder",
    "RowDataDebeziumDeserializeSchema",
    "StartupOptions",
]
