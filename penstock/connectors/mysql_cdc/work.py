"""The tasks' side of MySQL: chunks taken back to their mark, and the log."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

from penstock.connectors.cdc.database import Work
from penstock.connectors.cdc.model import CapturedTable, Change, Chunk, LogPosition, Mark, Place, Values
from penstock.connectors.mysql_cdc.binlog import Binlog
from penstock.connectors.mysql_cdc.columns import from_query, selected
from penstock.connectors.mysql_cdc.control import LogMark
from penstock.connectors.mysql_cdc.rewind import Touched, rewound
from penstock.connectors.mysql_cdc.server import MySqlDatabase, place_of, pymysql, quote, quoted_table, rows

_KEYS_AT_ONCE = 500


class MySqlWork(Work):
    """Connects for every share and every read of the log: between epochs nothing is open."""

    def __init__(self, database: MySqlDatabase, server_id: int) -> None:
        self._database = database
        self._binlog = Binlog(database, server_id)

    # --- chunks

    def chunks(
        self, tables: Sequence[CapturedTable], chunks: Sequence[Chunk], mark: Mark
    ) -> Iterator[tuple[Chunk, list[Values], bool]]:
        """All chunks in one transaction, so that the log has to be looked at once."""
        assert isinstance(mark, LogMark)
        connection = self._database.connect()
        try:
            with self._database.explained("cannot begin to read"):
                settled, shown = self._begin(connection, mark)
            touched = self._touched(tables, mark, settled, shown)
            for chunk in chunks:
                table, here = tables[chunk.table], touched[chunk.table]
                with self._database.explained("cannot read the table", table.name):
                    found = self._select(connection, table, chunk)
                yield chunk, rewound(found, here, self._inside(table, chunk, here)), True
        finally:
            connection.close()

    def _begin(self, connection: Any, mark: LogMark) -> tuple[Place, Place]:
        """Begins the transaction; from where to where the log may differ from what it shows.

        MariaDB says at which place of the log a transaction's view is. MySQL does not: there it is somewhere between
        a place that was the log's end a while ago, and where it ends now.
        """
        rows(connection, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        rows(connection, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
        status = {n.lower(): value for n, value in rows(connection, "SHOW STATUS LIKE 'binlog_snapshot_%'")}
        if status.get("binlog_snapshot_file"):
            view = place_of(status["binlog_snapshot_file"], int(status["binlog_snapshot_position"]))
            return min(view, mark.place), max(view, mark.place)
        return mark.settled, max(self._database.log_end(connection), mark.place)

    def _select(self, connection: Any, table: CapturedTable, chunk: Chunk) -> list[Values]:
        text, values = chunk_query(table, chunk)
        converts = [(i, convert) for i, c in enumerate(table.columns) if (convert := from_query(c))]
        size = self._database.selection.fetch_size
        found: list[Values] = []
        with connection.cursor(pymysql().cursors.SSCursor) as cursor:
            cursor.execute(text, values or None)
            while some := cursor.fetchmany(size):
                found += some
        if not converts:
            return found
        changed = []
        for row in found:
            new = list(row)
            for at, convert in converts:
                if new[at] is not None:
                    new[at] = convert(new[at])
            changed.append(tuple(new))
        return changed

    def _touched(
        self, tables: Sequence[CapturedTable], mark: LogMark, settled: Place, shown: Place
    ) -> dict[int, Touched]:
        found = {i: Touched(table, mark.place) for i, table in enumerate(tables)}
        if settled < shown:
            for changes, _ in self._binlog.read(tables, LogPosition(settled), shown):
                for change in changes:
                    found[change.table].add(change)
        return found

    def _inside(self, table: CapturedTable, chunk: Chunk, touched: Touched) -> list[Values]:
        """The rows that were touched and belong to a chunk."""
        there = [row for row in touched.rows().values() if row is not None]
        if not there or table.chunk_key is None:
            return there
        bounds = [bound for bound in (chunk.start, chunk.end) if bound is not None]
        places = self.locate(table, [row[table.chunk_key] for row in there], bounds)
        mine = 0 if chunk.start is None else 1
        return [row for row, place in zip(there, places, strict=True) if place == mine]

    # --- the log

    def changes(
        self, tables: Sequence[CapturedTable], position: LogPosition, end: Place, confirmed: Place | None
    ) -> Iterator[tuple[list[Change], LogPosition]]:
        return self._binlog.read(tables, position, end, self._database.startup.timestamp_ms or 0)

    def ask_where(self, table: CapturedTable, keys: Sequence[Any], bounds: Sequence[Any]) -> list[int]:
        """Texts are compared by their weights in the column's collation, which the server knows."""
        weights = self._weights(table, [*bounds, *keys])
        limits = weights[: len(bounds)]
        return [bisect_right(limits, weight) for weight in weights[len(bounds) :]]

    def _weights(self, table: CapturedTable, texts: Sequence[Any]) -> list[bytes]:
        _, charset, collation, length = table.chunk_column().details
        one = (
            f"WEIGHT_STRING(CONVERT(%s USING {charset}) COLLATE {collation} AS CHAR({max(1, length or 1)}))"
            if charset
            else "%s"
        )
        found: list[bytes] = []
        with self._database.explained("cannot compare keys", table.name):
            connection = self._database.connect()
            try:
                for start in range(0, len(texts), _KEYS_AT_ONCE):
                    some = list(texts[start : start + _KEYS_AT_ONCE])
                    found += rows(connection, f"SELECT {', '.join([one] * len(some))}", some)[0]
            finally:
                connection.close()
        return found

    def close(self) -> None:
        return None


def chunk_query(table: CapturedTable, chunk: Chunk) -> tuple[str, list[Any]]:
    """The rows of a chunk."""
    names = ", ".join(selected(column, quote(column.name)) for column in table.columns)
    text = f"SELECT {names} FROM {quoted_table(table.name)}".replace("%", "%%")
    key = quote(table.chunk_column().name).replace("%", "%%")
    conditions, values = [], []
    if chunk.start is not None:
        conditions.append(f"{key} >= %s")
        values.append(chunk.start)
    if chunk.end is not None:
        below = f"{key} < %s"
        conditions.append(below if chunk.start is not None else f"({below} OR {key} IS NULL)")
        values.append(chunk.end)
    if not conditions:
        return text.replace("%%", "%"), []
    return f"{text} WHERE {' AND '.join(conditions)}", values
