"""`MySqlSource.builder()`: MySQL's and MariaDB's tables and their changes as a stream."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from penstock.connectors.cdc.builder import CdcSourceBuilder
from penstock.connectors.cdc.database import Login, Selection
from penstock.connectors.cdc.enumerator import Capture
from penstock.connectors.mysql_cdc import options as o
from penstock.connectors.mysql_cdc.server import pymysql
from penstock.connectors.mysql_cdc.table import MySqlCdcConnector, mysql_capture

__all__ = ["MySqlSource", "MySqlSourceBuilder"]


class MySqlSourceBuilder(CdcSourceBuilder):
    """Settings of a source; `database_list`, `server_id` and `server_time_zone` are MySQL's."""

    connector = MySqlCdcConnector.name
    known = o.OPTIONS
    debezium = o.DEBEZIUM_OPTIONS
    ask_for_images = MySqlCdcConnector.ask_for_images

    def database_list(self, *database_list: str) -> MySqlSourceBuilder:
        """Regular expressions for databases; tables of others are left out, whatever `table_list` says."""
        return self._set("database-name", "|".join(f"(?:{database})" for database in database_list))

    def server_id(self, server_id: str) -> MySqlSourceBuilder:
        """Which number readers of the log show to the server, or a range of them ("5400-5410")."""
        return self._set("server-id", server_id)

    def server_time_zone(self, time_zone: str) -> MySqlSourceBuilder:
        """The zone in which TIMESTAMP columns are shown, such as "Europe/Berlin"; UTC if it is not said."""
        return self._set("server-time-zone", time_zone)

    def _capture(
        self, login: Login, selection: Selection, values: Mapping[str, Any], engine: Mapping[str, Any]
    ) -> Capture:
        pymysql()
        o.check(values, f"source {self.connector}")
        pattern = rf"(?=(?:{values['database-name'] or '.*'})\.)(?:{selection.pattern})"
        return mysql_capture(login, selection.with_pattern(pattern), values, engine)

    def _zone(self, values: Mapping[str, Any]) -> dt.tzinfo:
        return o.zone_of(values)


class MySqlSource:
    """Rows in parallel chunks, then the log."""

    @staticmethod
    def builder() -> MySqlSourceBuilder:
        """Begins a source.

        Example:
            ```python
            source = (
                MySqlSource.builder()
                .hostname("db").port(3306).username("reader").password(secret)
                .database_list("shop").table_list("shop.orders")
                .deserializer(JsonDebeziumDeserializationSchema())
                .build()
            )
            ```
        """
        return MySqlSourceBuilder()
