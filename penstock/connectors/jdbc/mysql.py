"""MySQL and MariaDB, through pymysql."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any, ClassVar

from penstock.common.datatypes import DataType, LocalZonedTimestampType
from penstock.common.errors import MissingDependencyError
from penstock.connectors.jdbc.dialect import Convert, Dialect, Login
from penstock.connectors.jdbc.types import BASIC_TYPES

_PORT = 3306


class MySqlDialect(Dialect):
    """Rows are fetched as the server sends them; TIMESTAMP_LTZ is written and read in UTC."""

    name = "MySQL"
    schemes = ("mysql", "mariadb")
    package = "pymysql"
    quotes = "`"
    types: ClassVar[tuple[type[DataType], ...]] = (*BASIC_TYPES, LocalZonedTimestampType)

    def import_driver(self) -> Any:
        import pymysql

        return pymysql

    def connect(self, login: Login, zoned: bool = False) -> Any:
        """Hosts are tried in order, as Java's driver does for failover."""
        hosts = login.url.hosts or (("localhost", _PORT),)
        for host in hosts[:-1]:
            try:
                return self._connect(login, host, zoned)
            except self.passing_errors():
                continue
        return self._connect(login, hosts[-1], zoned)

    def _connect(self, login: Login, host: tuple[str, int | None], zoned: bool) -> Any:
        try:
            return self._connection(login, host, zoned)
        except RuntimeError as error:
            if "cryptography" not in str(error):
                raise
            raise MissingDependencyError(
                "the server's way of checking passwords needs the package cryptography",
                where=login.url.shown,
                do="pip install cryptography",
            ) from error

    def _connection(self, login: Login, host: tuple[str, int | None], zoned: bool) -> Any:
        url = login.url
        wants_ssl = (url.parameter("useSSL", "requireSSL") or "").lower() == "true"
        return self.driver().connect(
            host=host[0] or "localhost",
            port=host[1] or _PORT,
            database=url.database or None,
            user=login.username or url.parameter("user"),
            password=login.password or url.parameter("password") or "",
            connect_timeout=login.timeout_s,
            charset="utf8mb4",
            autocommit=False,
            ssl={"check_hostname": False} if wants_ssl else None,
            init_command="SET time_zone = '+00:00'" if zoned else None,
        )

    def streaming_cursor(self, connection: Any, fetch_size: int) -> Any:
        return connection.cursor(self.driver().cursors.SSCursor)

    def upsert(self, table: str, columns: Sequence[str], key: Sequence[str], rows: int = 1) -> str:
        changed = [name for name in columns if name not in key] or list(key)
        sets = ", ".join(f"{self.quote(n)} = VALUES({self.quote(n)})" for n in changed)
        return f"{self.insert(table, columns, rows)} ON DUPLICATE KEY UPDATE {sets}"

    def to_database(self, data_type: DataType) -> Convert | None:
        if isinstance(data_type, LocalZonedTimestampType):
            return _utc
        return None


def _utc(value: dt.datetime) -> dt.datetime:
    return value.astimezone(dt.timezone.utc).replace(tzinfo=None) if value.tzinfo else value
