"""SQLite, through the sqlite3 module of Python: a database in a file that every task can open."""

from __future__ import annotations

import datetime as dt
import sqlite3
from typing import Any, ClassVar

from penstock.common.datatypes import (
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
)
from penstock.common.errors import ValidationError
from penstock.connectors.jdbc.dialect import Convert, Dialect, Login
from penstock.connectors.jdbc.types import BASIC_TYPES
from penstock.connectors.jdbc.url import JdbcUrl


class SqliteDialect(Dialect):
    """It has few types of its own: times are written as texts, decimals as texts, truth as 0 and 1.

    A file has one writer at a time, so tables are written by one task.
    """

    name = "SQLite"
    schemes = ("sqlite",)
    package = "sqlite3"
    placeholder = "?"
    types: ClassVar[tuple[type[DataType], ...]] = (*BASIC_TYPES, LocalZonedTimestampType)
    parallel_writes = False

    def import_driver(self) -> Any:
        return sqlite3

    def check_url(self, url: JdbcUrl) -> None:
        if url.database in ("", ":memory:"):
            raise ValidationError(
                "a SQLite database in memory cannot be shared by tasks",
                do="name a file: jdbc:sqlite:/path/to/file",
            )

    def connect(self, login: Login, zoned: bool = False) -> Any:
        path = login.url.database
        if path.startswith("file:"):
            path = path[len("file:") :]
        # Without mode=rw a missing file would become an empty database, and its tables would be missing.
        address = f"file:{_escaped(path)}?mode=rw"
        return sqlite3.connect(address, uri=True, timeout=login.timeout_s, check_same_thread=False)

    def to_database(self, data_type: DataType) -> Convert | None:
        if isinstance(data_type, DecimalType):
            return lambda value: format(value, "f")
        if isinstance(data_type, BooleanType):
            return int
        if isinstance(data_type, (DateType, TimeType)):
            return lambda value: value.isoformat()
        if isinstance(data_type, (TimestampType, LocalZonedTimestampType)):
            return _moment
        return None

    def can_compare(self, type_code: Any, value: Any) -> bool:
        """A column holds values of any type, and those of different types are never equal."""
        return False


def _moment(value: dt.datetime) -> str:
    if value.tzinfo is not None:
        value = value.astimezone(dt.timezone.utc).replace(tzinfo=None)
    return value.isoformat(" ")


def _escaped(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
