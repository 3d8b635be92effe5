"""`'connector' = 'postgres-cdc'`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.common.datatypes import DataTypes
from penstock.connectors.cdc.database import Login, Selection
from penstock.connectors.cdc.enumerator import Capture
from penstock.connectors.cdc.table import METADATA, CdcConnector
from penstock.connectors.postgres_cdc import options as o
from penstock.connectors.postgres_cdc.server import PostgresDatabase, psycopg


class PostgresCdcConnector(CdcConnector):
    """Tables of one PostgreSQL database."""

    name = "postgres-cdc"
    options = o.OPTIONS
    debezium = o.DEBEZIUM_OPTIONS
    metadata_columns = {**METADATA, "schema_name": DataTypes.STRING(False)}
    ask_for_images = (
        "ALTER TABLE ... REPLICA IDENTITY FULL and start without the checkpoint, or, for a table with a primary key, "
        "set 'changelog-mode' = 'upsert'"
    )

    def __init__(self, options: Mapping[str, str], table_path: str) -> None:
        super().__init__(options, table_path)
        self.emits_upserts = self.values["changelog-mode"] == "upsert" and not self.append_only

    def check(self) -> None:
        psycopg()
        o.check(self.values, f"table {self.table_path}")

    def pattern(self) -> str:
        return rf"(?:{self.values['schema-name']})\.(?:{self.values['table-name']})"

    def capture(self, selection: Selection) -> Capture:
        return postgres_capture(self.login(self.values["port"]), selection, self.values, self.engine)


def postgres_capture(
    login: Login, selection: Selection, values: Mapping[str, Any], engine: Mapping[str, Any]
) -> Capture:
    """What options and settings of Debezium describe."""
    ssl = {
        key.removeprefix("database."): str(value)
        for key, value in engine.items()
        if key.startswith("database.ssl") and value is not None
    }
    database = PostgresDatabase(
        login,
        values["database-name"],
        selection,
        values["slot.name"],
        engine["publication.name"],
        engine["publication.autocreate.mode"],
        engine["slot.drop.on.stop"],
        values["scan.include-partitioned-tables.enabled"],
        ssl,
    )
    delay = values["scan.lsn-commit.checkpoints-num-delay"]
    return Capture(database, values["scan.startup.mode"], delay, engine["skipped.operations"])
