"""The driver's side of PostgreSQL: publication and slot, the end of the log, snapshots for chunks."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.common.errors import ExternalSystemError
from penstock.connectors.cdc.database import Control
from penstock.connectors.cdc.model import CapturedTable, Change, Place
from penstock.connectors.postgres_cdc import slot
from penstock.connectors.postgres_cdc.server import PostgresDatabase, psycopg, quote, quoted_table, text_types
from penstock.connectors.postgres_cdc.slot import lsn

LOG = logging.getLogger(__name__)
_XIDS = 1 << 32

_END = "CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END"
_NEWEST = "CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END"
_EXPORT = (
    "SELECT pg_export_snapshot(), pg_snapshot_xmin(s)::text::bigint, pg_snapshot_xmax(s)::text::bigint, "
    "(SELECT array_agg(x::text::bigint) FROM pg_snapshot_xip(s) x) FROM pg_current_snapshot() s"
)


@dataclass(frozen=True)
class SnapshotMark:
    """What a transaction's snapshot shows: transactions below `xmin`, and those below `xmax` that were not running.

    `name` is what tasks ask for; `until` a place in the log behind everything that is shown.
    """

    xmin: int
    xmax: int
    running: frozenset[int]
    until: Place
    name: str = ""

    def shows(self, change: Change) -> bool:
        if change.place >= self.until:
            return False
        xid = self._whole(change.transaction)
        return xid < self.xmin or (xid < self.xmax and xid not in self.running)

    def _whole(self, xid: int) -> int:
        """The log has the lower half of a transaction's number: the whole one is the nearest to ours."""
        near = (self.xmax & ~(_XIDS - 1)) | xid
        if near - self.xmax > _XIDS // 2:
            return near - _XIDS
        return near + _XIDS if self.xmax - near > _XIDS // 2 else near

    def kept(self) -> SnapshotMark:
        return replace(self, name="")


class PostgresControl(Control):
    """Owns one connection for questions and, while chunks are read, one whose transaction has the snapshot."""

    def __init__(self, database: PostgresDatabase, source_id: str) -> None:
        super().__init__(database, source_id)
        self._database = database
        self._snapshot: Any = None

    def connected(self) -> Any:
        connection = self._database.connect(f"{self.source_id} driver")
        text_types(connection.adapters)
        return connection

    # --- at the start

    def tables(self) -> tuple[CapturedTable, ...]:
        return self.ask("cannot look at the tables", self._database.tables)

    def begin(self, tables: Sequence[CapturedTable], mode: str) -> Place:
        database = self._database
        place = self.ask("cannot prepare logical decoding", lambda c: slot.prepare(database, c, tables, mode))
        return self.log_end() if mode == "latest-offset" else (place,)

    def resume(self, place: Place | None) -> None:
        self.ask(
            "cannot look at the replication slot", lambda c: slot.check_reachable(self._database, c, place)
        )

    # --- epochs

    def log_end(self) -> Place:
        row = self.ask(
            "cannot ask where the log ends", lambda c: c.execute(f"SELECT ({_END})::text").fetchone()
        )
        return (lsn(row[0]),)

    def mark(self) -> SnapshotMark:
        kept = self._snapshot is not None
        try:
            return self._exported()
        except ExternalSystemError:
            if not kept:
                raise
            return self._exported()

    def _exported(self) -> SnapshotMark:
        if self._snapshot is None:
            self._snapshot = self._database.connect(f"{self.source_id} snapshot")
        connection = self._snapshot
        try:
            with self._database.explained("cannot export a snapshot"):
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                name, xmin, xmax, running = connection.execute(_EXPORT).fetchone()
                [until] = connection.execute(f"SELECT ({_NEWEST})::text").fetchone()
        except ExternalSystemError:
            self._leave_snapshot()
            raise
        return SnapshotMark(xmin, xmax, frozenset(running or ()), (lsn(until),), name)

    def release(self) -> None:
        """The transaction ends, so that the server may clean up rows that nobody else sees."""
        if self._snapshot is None:
            return
        try:
            self._snapshot.execute("ROLLBACK")
        except (psycopg().Error, OSError):
            self._leave_snapshot()

    def _leave_snapshot(self) -> None:
        if self._snapshot is not None:
            self._snapshot.close()
            self._snapshot = None

    def next_bound(self, table: CapturedTable, start: Any) -> Any:
        key, name = (
            text.replace("%", "%%") for text in (quote(table.chunk_column().name), quoted_table(table))
        )
        size = self._database.selection.chunk_size
        first = "" if start is None else f" WHERE {key} >= %s"
        found = (
            f"SELECT {key} FROM {name}{first} ORDER BY {key} OFFSET {size} LIMIT 1",
            () if start is None else (start,),
        )

        def ask(connection: Any) -> Any:
            row = connection.execute(*_typed(found, table)).fetchone()
            if row is None or row[0] is None:
                return None
            if start is None:
                return row[0]
            again = (
                f"SELECT {key} FROM {name} WHERE {key} >= %s AND {key} > %s ORDER BY {key} LIMIT 1",
                (row[0], start),
            )
            row = connection.execute(*_typed(again, table)).fetchone()
            return None if row is None else row[0]

        return self.ask("cannot cut the table into chunks", ask, table.name)

    # --- at the end

    def ended(self) -> None:
        """The slot of a job that has an end would keep the log for ever."""
        self._drop_slot()

    def close(self) -> None:
        self.release()
        self._leave_snapshot()
        if self._database.drop_slot:
            self._drop_slot()
        super().close()

    def _drop_slot(self) -> None:
        try:
            self.ask("cannot drop the replication slot", lambda c: slot.drop(self._database, c))
        except ExternalSystemError as error:
            LOG.warning("the replication slot '%s' stays: %s", self._database.slot, error)


def _typed(query: tuple[str, tuple[Any, ...]], table: CapturedTable) -> tuple[str, tuple[Any, ...]]:
    """Parameters are texts that the server reads as values of the chunk key's type."""
    text, values = query
    kind = table.chunk_column().details[0]
    return text.replace("%s", f"%s::text::{kind}"), tuple(key_text(value) for value in values)


def key_text(value: Any) -> Any:
    """A key as PostgreSQL writes it."""
    if isinstance(value, (bytes, memoryview)):
        return "\\x" + bytes(value).hex()
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)
