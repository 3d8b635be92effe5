"""A table of a database, as tasks need it: how to get there, what its columns are called, errors that say where.

A script may write a column's name in other letters than the database does: PostgreSQL folds `userId` to `userid`, and
Flink, which quotes nothing there, finds it. So the first thing a task does with a table is to ask for its columns;
names are then matched exactly or, failing that, without regard to case, and quoted as they really are. A table or a
column that is not there is found out here, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from penstock.common.errors import ExternalSystemError, PenstockError
from penstock.connectors.jdbc.dialect import Dialect, Login

_SHOWN = 400


class RealColumn(NamedTuple):
    """A column as the database has it; `type_code` is what the driver knows its type by."""

    name: str
    type_code: Any


class JdbcDatabase(ABC):
    """Connections, and errors that say what was tried to reach."""

    dialect: Dialect
    login: Login
    zoned: bool
    """Whether a column is TIMESTAMP_LTZ."""
    cannot_write: ClassVar[str] = "cannot write to the table"

    @property
    @abstractmethod
    def where(self) -> str:
        """What is read or written, for people."""

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """A connection for a while. Nothing is committed by leaving."""
        connection = self.connect()
        try:
            yield connection
        finally:
            connection.close()

    def connect(self) -> Any:
        with self.explained("cannot connect to the database", "check 'url', 'username' and 'password'"):
            return self.dialect.connect(self.login, self.zoned)

    @contextmanager
    def explained(self, what: str, do: str | None = None) -> Iterator[None]:
        """Errors of the driver as ours, naming the table and the database."""
        try:
            yield
        except PenstockError:
            raise
        except self.dialect.errors() as error:
            raise self.failed(what, error, do) from error

    def failed(self, what: str, error: BaseException, do: str | None = None) -> ExternalSystemError:
        reason = " ".join(str(error).split())[:_SHOWN]
        return ExternalSystemError(f"{what}: {reason}", where=self.where, do=do)


@dataclass(frozen=True)
class JdbcTable(JdbcDatabase):
    """Pickled into tasks. `path` is what the table is called in Flink, `name` in the database."""

    dialect: Dialect
    login: Login
    name: str
    path: str
    zoned: bool = False

    @property
    def where(self) -> str:
        return f"table {self.path}, that is '{self.name}' of {self.login.url.shown}"

    def columns(self, connection: Any, wanted: Sequence[str]) -> list[RealColumn]:
        """What the database calls these columns, and their types."""
        cursor = connection.cursor()
        cursor.execute(f"SELECT * FROM {self.dialect.table(self.name)} WHERE 1 = 0", ())
        there = [RealColumn(column[0], column[1]) for column in cursor.description]
        cursor.close()
        exact = {column.name: column for column in reversed(there)}
        folded = {column.name.lower(): column for column in reversed(there)}
        found = []
        for name in wanted:
            real = exact.get(name) or folded.get(name.lower())
            if real is None:
                raise ExternalSystemError(
                    f"the database's table has no column '{name}'",
                    where=self.where,
                    do=f"its columns are {', '.join(column.name for column in there)}",
                )
            found.append(real)
        return found
