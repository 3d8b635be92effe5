"""Asking a table for the rows of keys.

All keys of a batch are asked for in few statements, and the database decides what is equal, as it does for Flink's
statement per key (collations and padded CHARs differ from what Python would say):

    SELECT 0, a, b FROM t WHERE k = ?  UNION ALL  SELECT 1, a, b FROM t WHERE k = ?  …
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Sequence
from typing import Any

from penstock.common.datatypes import LocalZonedTimestampType, RowType
from penstock.common.errors import InvariantError
from penstock.connectors.jdbc.database_table import JdbcTable
from penstock.connectors.jdbc.source import ColumnReaders
from penstock.connectors.lookup import Key, LookupSource, Rows, naive_moments

_KEYS_AT_ONCE = 64
_PAUSE_S = 1.0


class JdbcLookup(LookupSource):
    """One connection per process, kept between epochs and made anew when it fails."""

    def __init__(
        self, table: JdbcTable, row_type: RowType, key_columns: Sequence[int], max_retries: int
    ) -> None:
        self._table = table
        self._row_type = row_type
        self._key_columns = tuple(key_columns)
        self._max_retries = max_retries
        self._connection: Any = None
        self._names: list[str] = []

    def lookup(self, keys: Sequence[Key]) -> Sequence[Rows]:
        found: list[Rows] = []
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            found += self._asked(keys[start : start + _KEYS_AT_ONCE])
        return found

    def close(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            try:
                connection.close()
            except self._table.dialect.errors():
                pass

    def _asked(self, keys: Sequence[Key]) -> list[list[tuple[Any, ...]]]:
        """The answers; a failed statement is tried again over a new connection."""
        for attempt in range(self._max_retries + 1):
            try:
                with self._table.explained("cannot look up keys"):
                    return self._answers(keys, self._fetched(keys))
            except Exception as error:
                self.close()
                passing = isinstance(error.__cause__, self._table.dialect.passing_errors())
                if attempt == self._max_retries or not passing:
                    raise
            time.sleep(_PAUSE_S * (attempt + 1))
        raise InvariantError("a lookup ended without an answer or an error")

    def _fetched(self, keys: Sequence[Key]) -> list[tuple[Any, ...]]:
        if self._connection is None:
            self._connection = self._table.connect()
            real = self._table.columns(self._connection, self._row_type.names)
            self._names = [column.name for column in real]
        cursor = self._connection.cursor()
        cursor.execute(
            self._statement(len(keys)), [self._parameter(i, v) for key in keys for i, v in enumerate(key)]
        )
        rows: list[tuple[Any, ...]] = list(cursor.fetchall())
        cursor.close()
        self._connection.rollback()  # the next question must see what others have committed meanwhile
        return rows

    def _statement(self, count: int) -> str:
        dialect = self._table.dialect
        shown = ", ".join(map(dialect.quote, self._names))
        condition = dialect.equal([self._names[i] for i in self._key_columns])
        source = f"FROM {dialect.table(self._table.name)} WHERE {condition}"
        return " UNION ALL ".join(f"SELECT {n}, {shown} {source}" for n in range(count))

    def _parameter(self, place: int, value: Any) -> Any:
        data_type = self._row_type.fields[self._key_columns[place]].data_type
        if isinstance(data_type, LocalZonedTimestampType) and value.tzinfo is None:
            value = value.replace(tzinfo=dt.timezone.utc)
        convert = self._table.dialect.to_database(data_type)
        return convert(value) if convert else value

    def _answers(self, keys: Sequence[Key], rows: list[tuple[Any, ...]]) -> list[list[tuple[Any, ...]]]:
        answers: list[list[tuple[Any, ...]]] = [[] for _ in keys]
        readers = ColumnReaders(self._table, self._row_type, self._row_type.names)
        naive = naive_moments(self._row_type)
        for number, row in zip(
            [row[0] for row in rows], readers.rows([row[1:] for row in rows]), strict=True
        ):
            answers[number].append(naive(row))
        return answers
