"""Writing rows into a table, inside a task.

    no primary key    every row is an INSERT
    primary key       a row that comes is an upsert, one that goes a DELETE; of a key's changes the last one counts

Rows are sent in portions of 'sink.buffer-flush.max-rows' and committed together when the task has written all of its
rows, so a task that fails leaves nothing. What always holds:

- The changes of one key are in one task, in order: the table asks for that (`table.py`).
- After a failure rows may be written a second time (at least once, as in Flink). With a primary key that changes
  nothing. With EXACTLY_ONCE they are written after the checkpoint (`epochs.py`), and never twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.common.datatypes import RowType
from penstock.common.errors import InvariantError
from penstock.connectors.jdbc.database_table import JdbcDatabase, JdbcTable
from penstock.connectors.jdbc.epochs import JdbcWriting, JdbcWritingSink
from penstock.connectors.jdbc.transaction import Portion, Portions, Row, Statements
from penstock.connectors.sink import ArrowWriter, WriterContext
from penstock.formats.arrow_rows import ArrowToRows
from penstock.formats.base import DELETE, UPDATE_BEFORE

UNBOUNDED_ROWS = 10_000
"""Rows of a portion where their number is to decide nothing."""
_GOES = (DELETE, UPDATE_BEFORE)


@dataclass(frozen=True)
class JdbcSink(JdbcWritingSink):
    """How rows are written. With `changelog` writers look at what kind of change each row is."""

    table: JdbcTable
    row_type: RowType
    key: tuple[str, ...] = ()
    flush_rows: int = 100
    max_retries: int = 3
    changelog: bool = False
    exactly_once: bool = False
    unknown_outcome: str | None = None

    @property
    def writing(self) -> JdbcWriting:
        return JdbcWriting(
            TableStatements(self), self.max_retries, self.exactly_once, self.max_retries, self.unknown_outcome
        )

    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> JdbcWriter:
        return JdbcWriter(self, self.writing.target(context))


class JdbcWriter(ArrowWriter):
    """Writes an epoch's rows in one transaction, which is committed when the epoch's rows have all come."""

    def __init__(self, sink: JdbcSink, target: Portions) -> None:
        self._changelog = sink.changelog
        self._limit = sink.flush_rows or UNBOUNDED_ROWS
        self._width = len(sink.row_type.fields)
        self._to_rows = ArrowToRows(sink.row_type)
        names = sink.row_type.names
        places = [names.index(name) for name in sink.key]
        self._pending: _Insertions | _LastChanges = _LastChanges(places) if places else _Insertions()
        self._target = target
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
        self._target.send(portion)
        self.sent += len(portion)

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        try:
            if len(self._pending):
                self._send()
            return self._target.finish()
        finally:
            self._target.close()

    def abort(self) -> None:
        self._target.close()


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


class TableStatements(Statements):
    """The texts of a table's statements and how its values become their parameters."""

    def __init__(self, sink: JdbcSink) -> None:
        self._sink = sink
        dialect = sink.table.dialect
        self._converts = [dialect.to_database(f.data_type) for f in sink.row_type.fields]
        self._key_converts = [self._converts[sink.row_type.names.index(name)] for name in sink.key]
        self._put: Callable[[int], str] = _not_prepared
        self._delete = ""

    @property
    def database(self) -> JdbcDatabase:
        return self._sink.table

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
            cursor.executemany(self._delete, converted(portion.gone, self._key_converts))
        if portion.come:
            self._sink.table.dialect.put(cursor, self._put, converted(portion.come, self._converts))
        cursor.close()


def _not_prepared(rows: int) -> str:
    raise InvariantError("rows are written before a connection is there")


def converted(rows: Sequence[Row], converts: Sequence[Any]) -> list[Row]:
    """The rows as the driver wants them."""
    if not any(converts):
        return list(rows)
    return [
        tuple(v if c is None or v is None else c(v) for v, c in zip(row, converts, strict=True))
        for row in rows
    ]
