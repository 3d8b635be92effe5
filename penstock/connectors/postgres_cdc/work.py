"""The tasks' side of PostgreSQL: chunks in the driver's snapshot, and the slot's stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from penstock.connectors.cdc.database import Work
from penstock.connectors.cdc.model import CapturedTable, Change, Chunk, LogPosition, Mark, Place, Values
from penstock.connectors.postgres_cdc.control import SnapshotMark, key_text
from penstock.connectors.postgres_cdc.pgoutput import Load, LoaderOf
from penstock.connectors.postgres_cdc.server import PostgresDatabase, psycopg, quote, quoted_table, text_types
from penstock.connectors.postgres_cdc.wal import WalStream

_KEYS_AT_ONCE = 5000


class PostgresWork(Work):
    """A connection for chunks and questions, a stream for the log."""

    def __init__(self, database: PostgresDatabase, source_id: str) -> None:
        self._database = database
        self._source_id = source_id
        self._stream = WalStream(database, source_id, _loaders)
        self._connection: Any = None

    def _connected(self) -> Any:
        if self._connection is None or self._connection.closed:
            self._connection = self._database.connect(f"{self._source_id} chunks")
            text_types(self._connection.adapters)
        return self._connection

    # --- chunks

    def chunks(
        self, tables: Sequence[CapturedTable], chunks: Sequence[Chunk], mark: Mark
    ) -> Iterator[tuple[Chunk, list[Values], bool]]:
        assert isinstance(mark, SnapshotMark)
        try:
            with self._database.explained("cannot read in the driver's snapshot"):
                connection = self._connected()
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                connection.execute(f"SET TRANSACTION SNAPSHOT '{mark.name}'")
            for chunk in chunks:
                with self._database.explained("cannot read the table", tables[chunk.table].name):
                    yield from self._chunk(connection, tables[chunk.table], chunk)
        finally:
            self._leave()

    def _chunk(
        self, connection: Any, table: CapturedTable, chunk: Chunk
    ) -> Iterator[tuple[Chunk, list[Values], bool]]:
        text, values = chunk_query(table, chunk)
        size = self._database.selection.fetch_size
        with connection.cursor(name="penstock") as cursor:
            cursor.itersize = size
            cursor.execute(text, values)
            rows = cursor.fetchmany(size)
            while True:
                more = cursor.fetchmany(size) if len(rows) == size else []
                yield chunk, rows, not more
                if not more:
                    return
                rows = more

    def _leave(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # --- the log

    def changes(
        self, tables: Sequence[CapturedTable], position: LogPosition, end: Place, confirmed: Place | None
    ) -> Iterator[tuple[list[Change], LogPosition]]:
        return self._stream.read(tables, position, end, confirmed)

    def ask_where(self, table: CapturedTable, keys: Sequence[Any], bounds: Sequence[Any]) -> list[int]:
        kind, _, collation = table.chunk_column().details
        order = f" COLLATE {collation}" if collation else ""
        limits = [key_text(bound) for bound in bounds]
        found: list[int] = []
        with self._database.explained("cannot compare keys", table.name):
            for start in range(0, len(keys), _KEYS_AT_ONCE):
                some = [key_text(key) for key in keys[start : start + _KEYS_AT_ONCE]]
                rows = self._connected().execute(
                    f"SELECT width_bucket(k::{kind}{order}, %s::text[]::{kind}[]) "
                    "FROM unnest(%s::text[]) WITH ORDINALITY AS u(k, place) ORDER BY place",
                    (limits, some),
                ).fetchall()  # fmt: skip
                found += [row[0] for row in rows]
        return found

    def close(self) -> None:
        self._stream.close()
        self._leave()


def chunk_query(table: CapturedTable, chunk: Chunk) -> tuple[str, list[Any]]:
    """The rows of a chunk."""
    names = ", ".join(quote(column.name) for column in table.columns).replace("%", "%%")
    text = f"SELECT {names} FROM {quoted_table(table).replace('%', '%%')}"
    if table.chunk_key is None:
        return text, []
    column = table.chunk_column()
    key, kind = quote(column.name).replace("%", "%%"), column.details[0]
    conditions, values = [], []
    if chunk.start is not None:
        conditions.append(f"{key} >= %s::text::{kind}")
        values.append(key_text(chunk.start))
    if chunk.end is not None:
        below = f"{key} < %s::text::{kind}"
        conditions.append(below if chunk.start is not None else f"({below} OR {key} IS NULL)")
        values.append(key_text(chunk.end))
    return text + (f" WHERE {' AND '.join(conditions)}" if conditions else ""), values


def _loaders() -> LoaderOf:
    """The functions by which psycopg reads texts of the server: the same for the log as for chunks."""
    from psycopg.adapt import AdaptersMap, Transformer

    driver = psycopg()

    class _Context:
        connection = None
        adapters = AdaptersMap(driver.adapters)

    text_types(_Context.adapters)
    transformer = Transformer(_Context())  # type: ignore[arg-type]

    def loader_of(oid: int) -> Load:
        load: Load = transformer.get_loader(oid, driver.pq.Format.TEXT).load
        return load

    return loader_of
