"""`'connector' = 'mysql-cdc'`: tables of MySQL and MariaDB."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping
from typing import Any

from penstock.connectors.cdc.database import Login, Selection
from penstock.connectors.cdc.enumerator import Capture
from penstock.connectors.cdc.table import METADATA, CdcConnector
from penstock.connectors.mysql_cdc import options as o
from penstock.connectors.mysql_cdc.server import MySqlDatabase, Startup, pymysql

_FIRST_ID, _LAST_ID = 5400, 6400
_IDS = 64


class MySqlCdcConnector(CdcConnector):
    """Tables of one server."""

    name = "mysql-cdc"
    options = o.OPTIONS
    debezium = o.DEBEZIUM_OPTIONS
    metadata_columns = METADATA
    ask_for_images = "SET GLOBAL binlog_row_image = 'FULL', and start without the checkpoint"

    def knows(self, key: str) -> bool:
        return super().knows(key) or key.startswith(o.JDBC_PROPERTIES)

    def check(self) -> None:
        pymysql()
        o.check(self.values, f"table {self.table_path}")

    def pattern(self) -> str:
        return rf"(?:{self.values['database-name']})\.(?:{self.values['table-name']})"

    @property
    def zone(self) -> dt.tzinfo:
        return o.zone_of(self.values)

    def capture(self, selection: Selection) -> Capture:
        return mysql_capture(self.login(self.values["port"]), selection, self.values, self.engine)


def mysql_capture(
    login: Login, selection: Selection, values: Mapping[str, Any], engine: Mapping[str, Any]
) -> Capture:
    """What options and settings of Debezium describe; without `server-id` some numbers are drawn."""
    ids = values["server-id"]
    if ids is None:
        first = random.randint(_FIRST_ID, _LAST_ID - _IDS)
        ids = first, first + _IDS - 1
    startup = Startup(
        values["scan.startup.specific-offset.file"],
        values["scan.startup.specific-offset.pos"],
        values["scan.startup.timestamp-millis"] if values["scan.startup.mode"] == "timestamp" else None,
    )
    database = MySqlDatabase(login, selection, ids, startup)
    return Capture(database, values["scan.startup.mode"], 0, engine["skipped.operations"])
