"""How captured tables look at a place of the log.

Unless `binlog_row_metadata` is FULL, the log has the types of a table's columns but not their names, signs and
character sets. How a table looked when the job first started is known; from a statement on that alters it, it
looks as the server says that it looks now. What was learned so is a part of the position: rows that were logged
before the statement, and are read after it, are understood as they were meant.

Two statements shortly after one another can make rows in between that fit neither. Then reading stops with an error
instead of guessing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.errors import ExternalSystemError
from penstock.connectors.cdc.columns import some
from penstock.connectors.cdc.model import CapturedTable, Column, Layout, TableName
from penstock.connectors.mysql_cdc.server import MySqlDatabase

_TYPE_CODES: dict[str, tuple[int, ...]] = {
    "tinyint": (1,), "smallint": (2,), "mediumint": (9,), "int": (3,), "bigint": (8,), "float": (4,), "double": (5,),
    "decimal": (246,), "date": (10, 14), "datetime": (12, 18), "timestamp": (7, 17), "time": (11, 19), "year": (13,),
    "char": (254,), "binary": (254,), "varchar": (15, 253), "varbinary": (15, 253), "bit": (16,), "enum": (247, 254),
    "set": (248, 254), "json": (245,),
}  # fmt: skip
_LARGE = (252, 245, 254, 255)
"""Texts and bytes without a small limit, shapes, and what MariaDB adds."""


class Layouts:
    """The columns of captured tables while a part of the log is read."""

    def __init__(
        self, database: MySqlDatabase, tables: Sequence[CapturedTable], learned: Sequence[Layout]
    ) -> None:
        self._database = database
        self._tables = tables
        self._current = {number: table.layout for number, table in enumerate(tables)}
        self._current.update(learned)
        self._before: dict[int, tuple[Column, ...]] = {}

    @property
    def learned(self) -> tuple[Layout, ...]:
        """What differs from how the tables looked at first."""
        return tuple((n, layout) for n, layout in self._current.items() if layout != self._tables[n].layout)

    def altered(self, number: int) -> None:
        """A statement has changed the table."""
        now = self._now(self._tables[number].name)
        if now:  # else it was dropped
            self._before[number] = self._current[number]
            self._current[number] = now

    def of(self, number: int, event: Any) -> tuple[Column, ...]:
        """The columns of a table whose rows follow in the log."""
        for layout in (self._current[number], self._before.get(number, ())):
            if fits(layout, event):
                return layout
        now = self._now(self._tables[number].name)
        if not fits(now, event):
            raise self._unknown(self._tables[number].name, event, now)
        self._current[number] = now
        return now

    def _now(self, name: TableName) -> tuple[Column, ...]:
        with self._database.explained("cannot ask how the table looks", name):
            connection = self._database.connect()
            try:
                return tuple(self._database.columns(connection, name))
            finally:
                connection.close()

    def _unknown(self, name: TableName, event: Any, now: Sequence[Column]) -> ExternalSystemError:
        error = ExternalSystemError(
            f"the log has {len(event.columns)} columns that do not fit those that the table has now: "
            f"{some([f'{c.name} {c.kind}' for c in now])}",
            where=f"table {name} of {self._database.where}",
            do="the table was altered: start without the checkpoint, which takes a new snapshot; with "
            "binlog_row_metadata = FULL the log itself would tell how the table looked",
        )
        error.retryable = False
        return error


def fits(columns: Sequence[Column], event: Any) -> bool:
    """Whether the types in the log are those of the columns."""
    if len(columns) != len(event.columns):
        return False
    return all(
        logged.type in _TYPE_CODES.get(column.kind, _LARGE)
        for column, logged in zip(columns, event.columns, strict=True)
    )
