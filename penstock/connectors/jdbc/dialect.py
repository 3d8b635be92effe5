"""What databases differ in: how they are connected to, how names are quoted, how a row is put in or replaced.

A dialect keeps nothing: it is a handful of texts and conversions. `find_dialect` picks it by the URL's scheme.
Statements are made here once for all dialects, with the placeholders of the dialect's driver; values always travel
as parameters, never inside a text.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, ClassVar

from penstock.common.datatypes import DataType, LocalZonedTimestampType, TimestampType
from penstock.common.errors import MissingDependencyError, ValidationError
from penstock.connectors.jdbc.url import JdbcUrl

Convert = Callable[[Any], Any]
Rows = list[tuple[Any, ...]]

FETCHED_ROWS = 8192
"""Rows that become one Arrow batch, and that are fetched at once where the table does not say otherwise."""


@dataclass(frozen=True)
class Login:
    """How to get into a database. `timeout_s` bounds how long a connection may take to come about."""

    url: JdbcUrl
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    timeout_s: int = 60


class Dialect(ABC):
    """One database system. Connections are those of Python's DB-API, not committing by themselves."""

    name: ClassVar[str]
    schemes: ClassVar[tuple[str, ...]]
    package: ClassVar[str]
    placeholder: ClassVar[str] = "%s"
    quotes: ClassVar[str] = '"'
    types: ClassVar[tuple[type[DataType], ...]]
    """Flink's types that columns may be declared with."""
    parallel_writes: ClassVar[bool] = True

    # --- the driver

    @abstractmethod
    def import_driver(self) -> Any:
        """The driver's module."""

    def driver(self) -> Any:
        """The driver's module, or an error that says what to install."""
        try:
            return self.import_driver()
        except ImportError:
            raise MissingDependencyError(
                f"reading and writing {self.name} needs the package {self.package}",
                do="pip install 'penstock[jdbc]'",
            ) from None

    @abstractmethod
    def connect(self, login: Login, zoned: bool = False) -> Any:
        """A new connection; `zoned` asks that moments without a zone be given in UTC."""

    def errors(self) -> tuple[type[Exception], ...]:
        """What the driver raises."""
        return (self.driver().Error, OSError)

    def passing_errors(self) -> tuple[type[Exception], ...]:
        """What may be over after a while: a lost connection, a deadlock."""
        driver = self.driver()
        return (driver.OperationalError, driver.InterfaceError, OSError)

    def fetched(
        self, connection: Any, sql: str, values: Sequence[Any], fetch_size: int
    ) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of a query in lists, without all of them being in memory at any time."""
        cursor = self.streaming_cursor(connection, fetch_size or FETCHED_ROWS)
        cursor.execute(sql, values)
        rows = iter(cursor)
        while chunk := list(islice(rows, FETCHED_ROWS)):
            yield chunk

    def streaming_cursor(self, connection: Any, fetch_size: int) -> Any:
        """A cursor that fetches rows as they are asked for."""
        return connection.cursor()

    def check_url(self, url: JdbcUrl) -> None:
        """Refuses forms of an address that would be understood as another one."""
        if not url.hosts and ("//" in url.database or ":" in url.database):
            raise ValidationError(
                f"the URL {url.shown!r} has a form that is not known here",
                do=f"write jdbc:{url.scheme}://host:port/database",
            )

    # --- names

    def quote(self, name: str) -> str:
        """A column's name inside a statement that is executed with parameters."""
        mark = self.quotes
        quoted = mark + name.replace(mark, mark * 2) + mark
        return quoted.replace("%", "%%") if self.placeholder == "%s" else quoted

    def table(self, name: str) -> str:
        """The option 'table-name' inside a statement."""
        return self.quote(name)

    # --- statements

    def select(self, table: str, columns: Sequence[str], condition: str = "") -> str:
        shown = ", ".join(map(self.quote, columns)) or "1"
        return f"SELECT {shown} FROM {self.table(table)}" + (f" WHERE {condition}" if condition else "")

    def equal(self, columns: Sequence[str]) -> str:
        return " AND ".join(f"{self.quote(name)} = {self.placeholder}" for name in columns)

    def insert(self, table: str, columns: Sequence[str], rows: int = 1) -> str:
        names, marks = ", ".join(map(self.quote, columns)), ", ".join([self.placeholder] * len(columns))
        return f"INSERT INTO {self.table(table)} ({names}) VALUES {', '.join([f'({marks})'] * rows)}"

    def upsert(self, table: str, columns: Sequence[str], key: Sequence[str], rows: int = 1) -> str:
        """An INSERT that becomes an UPDATE where a row with the key is there already."""
        others = [name for name in columns if name not in key]
        sets = ", ".join(f"{self.quote(n)} = EXCLUDED.{self.quote(n)}" for n in others)
        action = f"DO UPDATE SET {sets}" if others else "DO NOTHING"
        target = ", ".join(map(self.quote, key))
        return f"{self.insert(table, columns, rows)} ON CONFLICT ({target}) {action}"

    def put(self, cursor: Any, statement: Callable[[int], str], rows: Rows) -> None:
        """Inserts or upserts rows, no two of them with the same key; `statement` gives the text for so many rows."""
        cursor.executemany(statement(1), rows)

    def delete(self, table: str, key: Sequence[str]) -> str:
        return f"DELETE FROM {self.table(table)} WHERE {self.equal(key)}"

    # --- values

    def to_database(self, data_type: DataType) -> Convert | None:
        """How a value is prepared for the driver; None where it can stay as it is."""
        return None

    def can_compare(self, type_code: Any, value: Any) -> bool:
        """Whether a column of that type can be compared with the value, without an error and with Flink's answer."""
        return True

    def check_type(self, column: str, data_type: DataType) -> None:
        """Refuses types that the database has no columns for."""
        if not isinstance(data_type, self.types):
            raise ValidationError(
                f"{self.name} tables cannot have a column of type {data_type.as_summary()}: '{column}'"
            )
        precise = isinstance(data_type, (TimestampType, LocalZonedTimestampType))
        if precise and data_type.precision > 6:  # type: ignore[attr-defined]
            raise ValidationError(
                f"the precision of {data_type.as_summary()} of column '{column}' is out of the range 0 to 6 "
                f"that {self.name} has"
            )


PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def find_dialect(url: JdbcUrl) -> Dialect:
    """The dialect of a URL.

    Raises:
        ValidationError: There is none for that database.
    """
    from penstock.connectors.jdbc.mysql import MySqlDialect
    from penstock.connectors.jdbc.postgresql import PostgresDialect
    from penstock.connectors.jdbc.sqlite import SqliteDialect

    dialects: list[Dialect] = [PostgresDialect(), MySqlDialect(), SqliteDialect()]
    for dialect in dialects:
        if url.scheme in dialect.schemes:
            dialect.check_url(url)
            return dialect
    known = ", ".join(f"jdbc:{scheme}:" for dialect in dialects for scheme in dialect.schemes)
    raise ValidationError(f"there is no dialect for the URL {url.shown!r}", do=f"known are {known}")
