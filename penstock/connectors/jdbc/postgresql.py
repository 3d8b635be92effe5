"""PostgreSQL, through psycopg 3."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable
from typing import Any, ClassVar

from penstock.common.datatypes import ArrayType, DataType, LocalZonedTimestampType
from penstock.connectors.jdbc.dialect import Dialect, Login, Rows
from penstock.connectors.jdbc.types import BASIC_TYPES

_ROWS_AT_ONCE = 1000
_MAX_PARAMETERS = 65_535

_TEXT_TYPES = ("json", "jsonb", "uuid", "interval", "inet", "cidr", "timetz")
"""Types whose values are given as the texts the database shows, as Flink declares them STRING."""

_PARAMETERS = {
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "sslpassword": "sslpassword",
    "targetservertype": "target_session_attrs",
    "applicationname": "application_name",
    "options": "options",
    "connecttimeout": "connect_timeout",
}
"""Parameters of Java's driver and what libpq calls them."""

_SERVER_TYPES = {"any": "any", "primary": "primary", "master": "primary", "secondary": "standby",
                 "slave": "standby", "preferSecondary": "prefer-standby"}  # fmt: skip

_RESERVED = frozenset((
    "all", "analyze", "and", "any", "array", "as", "asc", "both", "case", "cast", "check", "column", "create",
    "default", "desc", "do", "end", "fetch", "for", "from", "grant", "group", "having", "in", "into",
    "leading", "limit", "not", "null", "offset", "on", "only", "or", "order", "primary", "references",
    "select", "some", "table", "then", "to", "trailing", "union", "unique", "user", "using", "when", "where",
    "window", "with",
))  # fmt: skip
"""Words that name no table unless they are quoted."""


_NUMBERS = (20, 21, 23, 700, 701, 1700)
_COMPARABLE: dict[type, tuple[int, ...]] = {
    int: _NUMBERS,
    float: _NUMBERS,
    decimal.Decimal: _NUMBERS,
    bool: (16,),
    str: (25, 1042, 1043),
    dt.date: (1082, 1114),
    dt.datetime: (1114,),
}
"""The ids of the types that values can be compared with."""


class PostgresDialect(Dialect):
    """Named cursors fetch in portions; JSON, UUID and the like are read as texts."""

    name = "PostgreSQL"
    schemes = ("postgresql",)
    package = "psycopg"
    types: ClassVar[tuple[type[DataType], ...]] = (*BASIC_TYPES, LocalZonedTimestampType, ArrayType)

    def import_driver(self) -> Any:
        import psycopg

        return psycopg

    def connect(self, login: Login, zoned: bool = False) -> Any:
        from psycopg.types.string import TextLoader

        connection = self.driver().connect(**_arguments(login))
        if login.url.parameter("prepareThreshold") == "0":  # connection pools that mix sessions want that
            connection.prepare_threshold = None
        for kind in _TEXT_TYPES:
            connection.adapters.register_loader(kind, TextLoader)
        return connection

    def streaming_cursor(self, connection: Any, fetch_size: int) -> Any:
        cursor = connection.cursor(name="penstock")
        cursor.itersize = fetch_size
        return cursor

    def put(self, cursor: Any, statement: Callable[[int], str], rows: Rows) -> None:
        """Many rows in one INSERT take half the time of as many pipelined ones: 38,000 rows/s instead of 19,000."""
        at_once = min(_ROWS_AT_ONCE, _MAX_PARAMETERS // len(rows[0]))
        for start in range(0, len(rows), at_once):
            some = rows[start : start + at_once]
            cursor.execute(statement(len(some)), [value for row in some for value in row])

    def table(self, name: str) -> str:
        """The name as it is, as in Flink: `schema.table` is a path, and letters lose their case unless quoted."""
        return self.quote(name) if name in _RESERVED else name.replace("%", "%%")

    def can_compare(self, type_code: Any, value: Any) -> bool:
        """There is no `=` of JSON, nor of a text and a number."""
        return type_code in _COMPARABLE[type(value)]

    def check_type(self, column: str, data_type: DataType) -> None:
        super().check_type(column, data_type)
        if isinstance(data_type, ArrayType):
            self.check_type(column, data_type.element_type)


def _arguments(login: Login) -> dict[str, Any]:
    """What libpq is told; several hosts are tried one after the other."""
    url = login.url
    arguments: dict[str, Any] = {"connect_timeout": login.timeout_s}
    if url.hosts:
        arguments["host"] = ",".join(name for name, _ in url.hosts)
        arguments["port"] = ",".join(str(port or 5432) for _, port in url.hosts)
    else:
        arguments["host"] = "localhost"
    for name, value in url.parameters:
        if name.lower() in _PARAMETERS:
            arguments[_PARAMETERS[name.lower()]] = value
    if "target_session_attrs" in arguments:
        asked = arguments["target_session_attrs"]
        arguments["target_session_attrs"] = _SERVER_TYPES.get(asked, "any")
    if (url.parameter("ssl") or "").lower() == "true":
        arguments.setdefault("sslmode", "require")
    schema = url.parameter("currentSchema")
    if schema:
        arguments["options"] = f"{arguments.get('options', '')} -c search_path={schema}".strip()
    user = login.username or url.parameter("user")
    arguments["dbname"] = url.database.strip("/") or user
    arguments["user"] = user
    arguments["password"] = login.password or url.parameter("password")
    return {name: value for name, value in arguments.items() if value is not None}
