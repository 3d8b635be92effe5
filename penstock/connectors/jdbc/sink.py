"""Writing rows into a table, inside a task.

    no primary key    every row is an INSERT
    primary key       a row that comes is an upsert, one that goes a DELETE; of a key's changes the last one counts

Rows are sent in portions of 'sink.buffer-flush.max-rows' and committed together when the task has written all of its
rows, so a task that fails leaves nothing. What always holds:

- The changes of one key are in one task, in order: the table asks for that (`table.py`).
- A connection that is lost is made anew and gets again what was sent over it, up to `REPLAYED_ROWS` rows; after that
  many, the task fails and is repeated as a whole.
- After a failure rows may be written a second time (at least once, as in Flink). With a primary key that changes
  nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.common.datatypes import RowType
from penstock.common.errors import InvariantError
from penstock.connectors.jdbc.database_table import JdbcTable
from penstock.connectors.sink import ArrowWriter, Sink, WriterContext
from penstock.formats.arrow_rows import ArrowToRows
from penstock.formats.base import DELETE, UPDATE_BEFORE

REPLAYED_ROWS = 100_000
_UNBOUNDED_ROWS = 10_000
"""Rows of a portion where 'sink.buffer-flush.max-rows' is 0, that is, where their number decides nothing."""
_PAUSE_S = 1.0
_GOES = (DELETE, UPDATE_BEFORE)

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Portion:
    """Rows that are sent together: no key is in both lists, or in one of them twice."""

    gone: list[Row]
    come: list[Row]


@dataclass(frozen=True)
class JdbcSink(Sink):
    """How rows are written. With `changelog` writers look at what kind of change each row is."""

    table: JdbcTable
    row_type: RowType
    key: tuple[str, ...] = ()
    flush_rows: int = 100
    max_retries: int = 3
    changelog: bool = False

    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> JdbcWriter:
        return JdbcWriter(self)


class JdbcWriter(ArrowWriter):
    """Writes an epoch's rows in one transaction, which is committed when the epoch's rows have all come."""

    def __init__(self, sink: JdbcSink) -> None:
        self._changelog = sink.changelog
        self._limit = sink.flush_rows or _UNBOUNDED_ROWS
        self._width = len(sink.row_type.fields)
        self._to_rows = ArrowToRows(sink.row_type)
        names = sink.row_type.names
        places = [names.index(name) for name in sink.key]
        self._pending: _Insertions | _LastChanges = _LastChanges(places) if places else _Insertions()
        self._transaction = _Transaction(sink)
        self.sent = 0

    def write_arrow(self, table: pa.Table) -> None:
        pending = self._pending
        for batch in table.to_batches():
            rows = self._to_rows.rows(batch.select(range(self._width)))
            kinds = batch.column(self._width).to_pylist() if self._changelog else [0] * batch.num_rows
            for kind, row in zip(kinds, rows, strict=True):
                pending.add(kind, row)
                if len(pending) >= self._limit:
                    self._send()

    def _send(self) -> None:
        portion = self._pending.take()
        self._transaction.send(portion)
        self.sent += len(portion.gone) + len(portion.come)

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        """There is nothing left to commit for the driver: what was written is there, at least once."""
        try:
            if len(self._pending):
                self._send()
            self._transaction.commit()
        finally:
            self._transaction.close()
        return ()

    def abort(self) -> None:
        self._transaction.close()


class _Insertions:
    """Rows that wait to be sent, all of them new."""

    def __init__(self) -> None:
        self._rows: list[Row] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, kind: int, row: Row) -> None:
        self._rows.append(row)

    def take(self) -> Portion:
        rows, self._rows = self._rows, []
        return Portion([], rows)


class _LastChanges:
    """The last change of each key.

    A row that an update replaces goes, as in Flink's connector. Mostly its successor follows and puts the key back;
    it does not where the query has a condition that the new row fails.
    """

    def __init__(self, key_places: Sequence[int]) -> None:
        self._key_places = tuple(key_places)
        self._last: dict[Row, tuple[int, Row]] = {}

    def __len__(self) -> int:
        return len(self._last)

    def add(self, kind: int, row: Row) -> None:
        self._last[tuple(row[i] for i in self._key_places)] = kind, row

    def take(self) -> Portion:
        last, self._last = self._last, {}
        gone = [key for key, (kind, _) in last.items() if kind in _GOES]
        return Portion(gone, [row for kind, row in last.values() if kind not in _GOES])


class _Transaction:
    """Portions that are committed together, over as many connections as it takes."""

    def __init__(self, sink: JdbcSink) -> None:
        self._sink = sink
        self._table = sink.table
        self._connection: Any = None
        self._sent: list[Portion] | None = []
        self._sent_rows = 0
        self._statements = _Statements(sink)

    def send(self, portion: Portion) -> None:
        self._persist(lambda: self._statements.execute(self._connection, portion))
        if self._sent is None:
            return
        self._sent.append(portion)
        self._sent_rows += len(portion.gone) + len(portion.come)
        if self._sent_rows > REPLAYED_ROWS:
            self._sent = None

    def commit(self) -> None:
        if self._connection is not None:
            self._persist(lambda: self._connection.commit())

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except self._table.dialect.errors():
                pass

    def _persist(self, action: Callable[[], None]) -> None:
        """Does it, over a new connection if need be."""
        retries = self._sink.max_retries
        with self._table.explained("cannot write to the table"):
            for attempt in range(retries + 1):
                try:
                    if self._connection is None:
                        self._connect()
                    action()
                    return
                except self._table.dialect.passing_errors():
                    self.close()
                    if attempt == retries or self._sent is None:
                        raise
                time.sleep(_PAUSE_S * (attempt + 1))

    def _connect(self) -> None:
        dialect = self._table.dialect
        self._connection = dialect.connect(self._table.login, self._table.zoned)
        self._statements.prepare(self._connection)
        for portion in self._sent or ():
            self._statements.execute(self._connection, portion)


class _Statements:
    """The texts of a sink's statements and how its values become their parameters."""

    def __init__(self, sink: JdbcSink) -> None:
        self._sink = sink
        dialect = sink.table.dialect
        self._converts = [dialect.to_database(f.data_type) for f in sink.row_type.fields]
        self._key_converts = [self._converts[sink.row_type.names.index(name)] for name in sink.key]
        self._put: Callable[[int], str] = _not_prepared
        self._delete = ""

    def prepare(self, connection: Any) -> None:
        table, names = self._sink.table, self._sink.row_type.names
        columns = [column.name for column in table.columns(connection, names)]
        key = [columns[names.index(name)] for name in self._sink.key]
        dialect = table.dialect
        if key:
            self._put = lambda rows: dialect.upsert(table.name, columns, key, rows)
            self._delete = dialect.delete(table.name, key)
        else:
            self._put = lambda rows: dialect.insert(table.name, columns, rows)

    def execute(self, connection: Any, portion: Portion) -> None:
        cursor = connection.cursor()
        if portion.gone:
            cursor.executemany(self._delete, _converted(portion.gone, self._key_converts))
        if portion.come:
            self._sink.table.dialect.put(cursor, self._put, _converted(portion.come, self._converts))
        cursor.close()


def _not_prepared(rows: int) -> str:
    raise InvariantError("rows are written before a connection is there")


def _converted(rows: Sequence[Row], converts: Sequence[Any]) -> list[Row]:
    if not any(converts):
        return list(rows)
    return [
        tuple(v if c is None or v is None else c(v) for v, c in zip(row, converts, strict=True))
        for row in rows
    ]
