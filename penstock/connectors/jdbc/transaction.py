"""Rows that are committed together, over as many connections as it takes.

A connection that is lost is made anew and gets again what was sent over it, up to `REPLAYED_ROWS` rows; after that
many, whoever writes fails and is repeated as a whole.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.connectors.jdbc.database_table import JdbcDatabase

REPLAYED_ROWS = 100_000
_PAUSE_S = 1.0

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Portion:
    """Rows that are sent together. Of a table with a key, no key is in both lists, or in one of them twice."""

    gone: list[Row]
    come: list[Row]

    def __len__(self) -> int:
        return len(self.gone) + len(self.come)


class Statements(ABC):
    """How portions become statements; picklable until it is prepared."""

    @property
    @abstractmethod
    def database(self) -> JdbcDatabase:
        """Where they are executed."""

    def prepare(self, connection: Any) -> None:
        """Called with every new connection, before the first portion."""

    @abstractmethod
    def execute(self, connection: Any, portion: Portion) -> None:
        """Sends a portion, in the transaction that the connection is in."""


class Portions(ABC):
    """Where a writer's portions go."""

    @abstractmethod
    def send(self, portion: Portion) -> None: ...

    @abstractmethod
    def finish(self) -> Sequence[Any]:
        """All portions are there; gives what is left to commit."""

    def close(self) -> None:
        """Nothing more comes, whatever has become of it."""


class Transaction(Portions):
    """Portions that are committed together, and when they have all come: at least once."""

    def __init__(self, statements: Statements, max_retries: int) -> None:
        self._statements = statements
        self._database = statements.database
        self._max_retries = max_retries
        self._connection: Any = None
        self._sent: list[Portion] | None = []
        self._sent_rows = 0

    def send(self, portion: Portion) -> None:
        self._persist(lambda: self._statements.execute(self._connection, portion))
        if self._sent is None:
            return
        self._sent.append(portion)
        self._sent_rows += len(portion)
        if self._sent_rows > REPLAYED_ROWS:
            self._sent = None

    def finish(self) -> Sequence[Any]:
        """There is nothing left to commit for the driver: what was written is there, at least once."""
        try:
            if self._connection is not None:
                self._persist(lambda: self._connection.commit())
        finally:
            self.close()
        return ()

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            close_quietly(self._database, connection)

    def _persist(self, action: Callable[[], None]) -> None:
        """Does it, over a new connection if need be."""
        with self._database.explained(self._database.cannot_write):
            for attempt in range(self._max_retries + 1):
                try:
                    if self._connection is None:
                        self._connect()
                    action()
                    return
                except self._database.dialect.passing_errors():
                    self.close()
                    if attempt == self._max_retries or self._sent is None:
                        raise
                time.sleep(_PAUSE_S * (attempt + 1))

    def _connect(self) -> None:
        self._connection = self._database.dialect.connect(self._database.login, self._database.zoned)
        self._statements.prepare(self._connection)
        for portion in self._sent or ():
            self._statements.execute(self._connection, portion)


def close_quietly(database: JdbcDatabase, connection: Any) -> None:
    """Closes a connection that may be broken."""
    try:
        connection.close()
    except database.dialect.errors():
        pass
