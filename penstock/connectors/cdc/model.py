"""The nouns of change data capture; all of them are plain data that travels between driver and tasks.

A `Place` is a point in a database's log, as a tuple that compares like the log goes on: `(lsn,)` in PostgreSQL,
`(file number, offset, file name)` in MySQL. Everything before it is done, everything at or behind it is to come.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from penstock.common.datatypes import DataType
from penstock.connectors.source import SourceSplit

Place = tuple[Any, ...]
Values = tuple[Any, ...]

CREATE, UPDATE, DELETE, READ, TRUNCATE = "c", "u", "d", "r", "t"
"""What happened to a row, in Debezium's letters; READ is a row of the snapshot."""


class TableName(NamedTuple):
    """Where a table is; MySQL has no schemas between database and table."""

    database: str
    schema: str
    name: str

    def __str__(self) -> str:
        return ".".join(part for part in (self.schema or self.database, self.name) if part)


@dataclass(frozen=True)
class Column:
    """A column as the database has it.

    Attributes:
        kind: The database's name for the type, without lengths.
        data_type: What Flink CDC's documentation makes of it; None: there is nothing for it.
        details: Whatever else the system's own code needs.
    """

    name: str
    kind: str
    data_type: DataType | None = None
    details: tuple[Any, ...] = ()


@dataclass(frozen=True)
class CapturedTable:
    """A table whose changes are read.

    Attributes:
        columns: What is read of it, in the order in which rows have them: first those that somebody asked for.
        key: Places of the primary key among `columns`.
        chunk_key: Place of the column by which the table is cut into chunks; None: it is one chunk.
        ordered: Whether Python orders values of the chunk key as the database does. Texts follow a collation.
        layout: All columns at the first start, for logs that do not tell what they are.
    """

    name: TableName
    columns: tuple[Column, ...]
    key: tuple[int, ...] = ()
    chunk_key: int | None = None
    ordered: bool = True
    layout: tuple[Column, ...] = ()

    def chunk_column(self) -> Column:
        assert self.chunk_key is not None, "a table in one chunk has no chunk key"
        return self.columns[self.chunk_key]


Layout = tuple[int, tuple[Column, ...]]
"""The columns of the table with that number."""


class Mark(Protocol):
    """A moment at which chunks are read."""

    @property
    def until(self) -> Place:
        """No change at or behind this place is shown."""

    def shows(self, change: Change) -> bool:
        """Whether rows read at this moment already have the change in them."""

    def kept(self) -> Mark:
        """What has to be remembered when nobody reads at this moment any more."""


@dataclass(frozen=True)
class Chunk:
    """Rows whose chunk key is at least `start` and below `end`; None is no bound. NULL is in the first one."""

    id: int
    table: int
    start: Any = None
    end: Any = None


@dataclass(slots=True)
class Change:
    """A change of a row, or a row of the snapshot.

    Attributes:
        table: The number of the table among the captured ones.
        before, after: The row's columns; None where the log does not have that image.
        key_only: `before` has values in the columns of the key alone.
        place: Where in the log it is.
        transaction: The number of its transaction, if the database tells.
    """

    table: int
    op: str
    before: Values | None
    after: Values | None
    ts_ms: int = 0
    place: Place = ()
    transaction: int = 0
    key_only: bool = False


@dataclass(frozen=True)
class LogPosition:
    """How far the log was read: `skip` changes of the transaction that comes next are done, too.

    `quiet` counts the epochs since the last one with a row: a server may be busy with everything but our tables.
    `layouts` are those of tables that were altered since the first start, where the log does not tell.
    """

    place: Place
    skip: int = 0
    quiet: int = 0
    layouts: tuple[Layout, ...] = ()


@dataclass(frozen=True)
class SharePosition:
    """The chunks that a share read last, and their mark."""

    done: tuple[int, ...]
    mark: Mark


@dataclass(frozen=True)
class SharePlan:
    """What a share reads in an epoch: chunks one after the other, as many as there is time for."""

    chunks: tuple[Chunk, ...]
    mark: Mark | None


@dataclass(frozen=True)
class TableMarks:
    """The marks of a table's chunks: `marks[i]` counts for keys from `bounds[i - 1]` to below `bounds[i]`."""

    bounds: tuple[Any, ...]
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class LogPlan:
    """What the reader of the log has to know in an epoch.

    Attributes:
        marks: Those of each table's chunks while the log is at a place that some of them show; empty afterwards.
        confirmed: The database may forget what is before this place.
    """

    marks: dict[int, TableMarks] = field(default_factory=dict)
    confirmed: Place | None = None


@dataclass(frozen=True)
class ShareSplit(SourceSplit):
    """Chunks for one task: which ones is decided epoch by epoch. `source_id` tells this job's readers from others."""

    source_id: str = ""
    tables: tuple[CapturedTable, ...] = ()


@dataclass(frozen=True)
class LogSplit(SourceSplit):
    """The log, in order. `stop` is where it ends for a source that is bounded."""

    source_id: str = ""
    tables: tuple[CapturedTable, ...] = ()
    start: Place = ()
    stop: Place | None = None
