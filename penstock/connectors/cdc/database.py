"""What a database system must be able to do to be captured.

A `Database` only says where the server is and how to log in; it is pickled into tasks. The driver opens a `Control`,
every task a `Work`. Both raise errors that name the server and the table.
"""

from __future__ import annotations

import contextlib
import re
import time
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from penstock.common.errors import ExternalSystemError, PenstockError, ValidationError
from penstock.connectors.cdc.model import CapturedTable, Change, Chunk, LogPosition, Mark, Place, Values

T = TypeVar("T")


@dataclass(frozen=True)
class Login:
    """How to get to a server."""

    hostname: str
    port: int
    username: str
    password: str = field(repr=False)
    timeout_s: float = 30.0
    retries: int = 3


@dataclass(frozen=True)
class Selection:
    """Which tables, and what of them.

    Attributes:
        pattern: A regular expression for the whole of `schema.table`, or `database.table`.
        columns: The columns that are needed, in order; None: all.
        chunk_key: The column by which tables are cut, if it is not the first of the primary key.
        chunk_size: Rows in a chunk.
        fetch_size: Rows that are fetched at once.
        parallel: Whether several tasks read a table. None: where it can be cut into chunks.
    """

    pattern: str
    columns: tuple[str, ...] | None = None
    chunk_key: str | None = None
    chunk_size: int = 8096
    fetch_size: int = 1024
    parallel: bool | None = None

    def matches(self, name: str) -> bool:
        return re.fullmatch(self.pattern, name) is not None

    def with_pattern(self, pattern: str) -> Selection:
        return replace(self, pattern=pattern)

    def check(self) -> None:
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise ValidationError(
                f"the tables' names {self.pattern!r} are no regular expression: {error}"
            ) from None


_RETRY_S = 0.2
_SHOWN = 400
_CHECK = "check 'hostname', 'port', 'username' and 'password', and that the server takes connections"


class Database(ABC):
    """A server; picklable."""

    login: Login
    selection: Selection

    @property
    @abstractmethod
    def where(self) -> str:
        """The server, for people."""

    @property
    @abstractmethod
    def log_name(self) -> str:
        """What is read of its log, for people."""

    @abstractmethod
    def errors(self) -> tuple[type[Exception], ...]:
        """What the driver raises."""

    # --- connections and errors

    def tried(self, connect: Callable[[], Any]) -> Any:
        """A new connection, after some more attempts if need be."""
        for attempt in range(self.login.retries + 1):
            try:
                return connect()
            except self.errors() as error:
                if attempt == self.login.retries:
                    raise self.failed("cannot connect to the server", error, _CHECK) from None
                time.sleep(_RETRY_S)
        raise AssertionError("the last attempt returns or raises")

    @contextlib.contextmanager
    def explained(self, what: str, table: object = None) -> Iterator[None]:
        """Errors of the driver as ours, naming the server and the table."""
        try:
            yield
        except PenstockError:
            raise
        except self.errors() as error:
            raise self.failed(what, error, table=table) from error

    def failed(
        self, what: str, error: object, do: str | None = None, table: object = None
    ) -> ExternalSystemError:
        reason = " ".join(str(error).split())[:_SHOWN]
        where = self.where if table is None else f"table {table} of {self.where}"
        return ExternalSystemError(f"{what}: {reason}", where=where, do=do)

    def lost(self, what: str, do: str) -> ExternalSystemError:
        """Something that no further attempt brings back."""
        error = ExternalSystemError(what, where=f"{self.log_name} of {self.where}", do=do)
        error.retryable = False
        return error

    # --- what runs

    @abstractmethod
    def control(self, source_id: str) -> Control:
        """The driver's connection. `source_id` tells the readers of one job from those of others."""

    @abstractmethod
    def work(self, source_id: str, subtask: int) -> Work:
        """A task's connections."""


class Control(ABC):
    """What the driver asks. A connection that was lost is made anew by the next question."""

    def __init__(self, database: Database, source_id: str) -> None:
        self.source_id = source_id
        self._server = database
        self._connection: Any = None

    @abstractmethod
    def connected(self) -> Any:
        """A new connection for questions."""

    def ask(self, what: str, question: Callable[[Any], T], table: object = None) -> T:
        """Asks on the connection; one that was kept and is broken is made anew, once."""
        kept = self._connection is not None
        try:
            return self._answer(what, question, table)
        except ExternalSystemError as error:
            if not kept or not error.retryable:
                raise
            return self._answer(what, question, table)

    def _answer(self, what: str, question: Callable[[Any], T], table: object) -> T:
        if self._connection is None:
            self._connection = self.connected()
        try:
            with self._server.explained(what, table):
                return question(self._connection)
        except ExternalSystemError:
            self.leave()
            raise

    def leave(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @abstractmethod
    def tables(self) -> tuple[CapturedTable, ...]:
        """The tables that are selected; never none."""

    @abstractmethod
    def begin(self, tables: Sequence[CapturedTable], mode: str) -> Place:
        """Sees to it that the log can be read, and says where reading begins in a startup mode."""

    @abstractmethod
    def resume(self, place: Place | None) -> None:
        """Refuses to go on from a place that the database has forgotten; None: nothing of the log was read yet."""

    @abstractmethod
    def log_end(self) -> Place:
        """Where the log ends now."""

    @abstractmethod
    def mark(self) -> Mark:
        """The moment at which chunks that are planned now are read; valid until `release`."""

    def release(self) -> None:
        """Nobody reads at the mark any more."""
        return None

    @abstractmethod
    def next_bound(self, table: CapturedTable, start: Any) -> Any:
        """The key at which a chunk that begins at `start` ends; None: it is the last one."""

    def ended(self) -> None:
        """A bounded source has read everything."""
        return None

    def close(self) -> None:
        self.leave()


class Work(ABC):
    """What tasks do."""

    @abstractmethod
    def chunks(
        self, tables: Sequence[CapturedTable], chunks: Sequence[Chunk], mark: Mark
    ) -> Iterator[tuple[Chunk, list[Values], bool]]:
        """The rows of chunks as they were at the mark: a chunk, some of its rows, whether that is all of it."""

    @abstractmethod
    def changes(
        self,
        tables: Sequence[CapturedTable],
        position: LogPosition,
        end: Place,
        confirmed: Place | None,
    ) -> Iterator[tuple[list[Change], LogPosition]]:
        """The changes from a position up to a place, each time with the position after them; the last is `end`."""

    def locate(self, table: CapturedTable, keys: Sequence[Any], bounds: Sequence[Any]) -> list[int]:
        """For each key, how many of the ascending bounds are not above it. NULL comes before all."""
        if not table.ordered and bounds:
            known = [key for key in keys if key is not None]
            found = iter(self.ask_where(table, known, bounds) if known else ())
            return [0 if key is None else next(found) for key in keys]
        return [0 if key is None else bisect_right(bounds, key) for key in keys]

    @abstractmethod
    def ask_where(self, table: CapturedTable, keys: Sequence[Any], bounds: Sequence[Any]) -> list[int]:
        """`locate` for keys that only the database can compare."""

    @abstractmethod
    def close(self) -> None: ...
