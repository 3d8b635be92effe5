"""The binary log between two places.

Reading begins at the start of a transaction, because only its first events say which table the others mean; a
position inside one says how many of its changes to pass over. The server is asked not to wait at the end of the
log, so every read is a connection of its own, and nothing stays open between epochs.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from penstock.common.errors import ExternalSystemError
from penstock.connectors.cdc.model import (
    CREATE,
    DELETE,
    TRUNCATE,
    UPDATE,
    CapturedTable,
    Change,
    Column,
    LogPosition,
    Place,
    TableName,
    Values,
)
from penstock.connectors.mysql_cdc.columns import Convert, from_log, members
from penstock.connectors.mysql_cdc.layouts import Layouts
from penstock.connectors.mysql_cdc.server import MySqlDatabase, place_of, pymysql

LOG = logging.getLogger(__name__)
BATCH_CHANGES = 2000
_FATAL = 1236
_GONE = re.compile("first log file|purged|impossible position|file size")
_INSIDE = ("BEGIN", "SAVEPOINT", "ROLLBACK TO")
"""Statements of the log that do not end a transaction."""
_COMPRESSED = frozenset((40, 165, 166, 167, 168, 169, 170, 171))
"""Events whose contents the library does not open: transactions of MySQL, queries and rows of MariaDB."""
_DDL = re.compile(
    r"\s*(?:/\*.*?\*/\s*)*(?P<verb>TRUNCATE|ALTER|DROP|RENAME)\s+(?:ONLINE\s+|IGNORE\s+)?(?:TABLE\s+)?"
    r"(?:IF\s+EXISTS\s+)?(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_NAME = re.compile(r"(?:(?:`((?:[^`]|``)*)`|(\w+))\s*\.\s*)?(?:`((?:[^`]|``)*)`|(\w+))")


class Binlog:
    """Reads the log for one task."""

    def __init__(self, database: MySqlDatabase, server_id: int) -> None:
        self._database = database
        self._server_id = server_id

    def read(
        self, tables: Sequence[CapturedTable], position: LogPosition, end: Place, since_ms: int = 0
    ) -> Iterator[tuple[list[Change], LogPosition]]:
        """Changes and the position after them; the last position is `end`. Those before `since_ms` are left out."""
        if position.place >= end:
            yield [], position
            return
        layouts = Layouts(self._database, tables, position.layouts)
        stream = self._open(position.place)
        try:
            yield from self._transactions(
                stream, _Images(self._database, tables, layouts), position, end, since_ms
            )
        except pymysql().Error as error:
            raise self._broken(error, position.place) from error
        except OSError as error:
            raise self._database.failed("the binary log cannot be read", error) from error
        finally:
            stream.close()

    def _transactions(
        self, stream: Any, images: _Images, position: LogPosition, end: Place, since_ms: int
    ) -> Iterator[tuple[list[Change], LogPosition]]:
        batch: list[Change] = []
        start, skip, seen = position.place, position.skip, 0
        for event in stream:
            here = place_of(stream.log_file, stream.log_pos)
            ends, changes = images.of(event, stream, here)
            for change in changes:
                seen += 1
                if seen > skip and change.ts_ms >= since_ms:
                    batch.append(change)
            if ends and here != start:  # the server begins every answer with the place that it was asked for
                start, skip, seen = here, 0, 0
            if ends and here >= end:
                break
            if len(batch) >= BATCH_CHANGES:
                yield batch, LogPosition(start, max(seen, skip), layouts=images.layouts.learned)
                batch = []
        else:
            if start < end and (start[0] != end[0] or stream.log_pos < end[1]):
                raise self._database.failed("the binary log ended early", f"at {start}, before {end}")
        yield batch, LogPosition(end, layouts=images.layouts.learned)

    def _open(self, place: Place) -> Any:
        from pymysqlreplication import BinLogStreamReader
        from pymysqlreplication.event import NotImplementedEvent, QueryEvent, RotateEvent, XidEvent
        from pymysqlreplication.row_event import (
            DeleteRowsEvent,
            TableMapEvent,
            UpdateRowsEvent,
            WriteRowsEvent,
        )

        logging.getLogger("pymysqlreplication").setLevel(logging.ERROR)
        return BinLogStreamReader(
            self._database.settings(),
            self._server_id,
            resume_stream=True,
            blocking=False,
            log_file=place[2],
            log_pos=place[1],
            only_events=[
                QueryEvent, RotateEvent, XidEvent, TableMapEvent, WriteRowsEvent, UpdateRowsEvent, DeleteRowsEvent,
                NotImplementedEvent,
            ],
            filter_non_implemented_events=False,
            enable_logging=False,
        )  # fmt: skip

    def _broken(self, error: Exception, place: Place) -> ExternalSystemError:
        if error.args and error.args[0] == _FATAL and _GONE.search(str(error.args[1])):
            return self._database.lost(
                f"the server has no log from file '{place[2]}', offset {place[1]} on any more: {error.args[1]}",
                "start without the checkpoint, which takes a new snapshot; keep the log longer by "
                "expire_logs_days or binlog_expire_logs_seconds",
            )
        return self._database.failed("the binary log cannot be read", error)


class _Images:
    """From events of the library to changes of captured tables."""

    def __init__(self, database: MySqlDatabase, tables: Sequence[CapturedTable], layouts: Layouts) -> None:
        self._numbers = {table.name: i for i, table in enumerate(tables)}
        self._database = database
        self._tables = tables
        self.layouts = layouts
        self._readers: dict[int, Callable[[dict[str, Any], dict[str, Any]], Values]] = {}

    def of(self, event: Any, stream: Any, here: Place) -> tuple[bool, list[Change]]:
        """Whether a transaction ends with the event, and what it changes."""
        kind = type(event).__name__
        if kind == "TableMapEvent":
            self._mapped(event, stream)
        elif kind.endswith("RowsEvent"):
            return False, self._rows(event, kind, here)
        elif kind == "QueryEvent":
            return self._query(event, here)
        elif kind == "NotImplementedEvent":
            self._unknown(event)
        return kind in ("XidEvent", "RotateEvent"), []

    def _mapped(self, event: Any, stream: Any) -> None:
        """Tells the library what the log leaves out, before it reads rows."""
        number = self._numbers.get(TableName(event.schema, "", event.table))
        if number is None:
            return
        logged = stream.table_map[event.table_id].columns
        if logged and logged[0].name:  # binlog_row_metadata = FULL
            there = {c.name for c in logged}
            now = {c.name: c for c in self._tables[number].columns}
            columns = [now.get(c.name) for c in logged]
            self._check(number, there)
        else:
            columns = list(self.layouts.of(number, event))
            self._check(number, {c.name for c in columns if c})
        for found, column in zip(logged, columns, strict=True):
            if column is not None:
                _complete(found, column)
        self._readers[event.table_id] = _reader(self._tables[number], columns)

    def _check(self, number: int, there: set[str]) -> None:
        table = self._tables[number]
        for column in table.columns:
            if column.name not in there:
                error = ExternalSystemError(
                    f"the table has no column '{column.name}' any more: it was dropped or renamed",
                    where=f"table {table.name} of {self._database.where}",
                    do="change the table's declaration, and start without the checkpoint, which takes a new snapshot",
                )
                error.retryable = False
                raise error

    def _rows(self, event: Any, kind: str, here: Place) -> list[Change]:
        number = self._numbers.get(TableName(event.schema, "", event.table))
        if number is None:
            return []
        read, ts_ms = self._readers[event.table_id], event.timestamp * 1000
        if kind == "UpdateRowsEvent":
            return [
                Change(
                    number, UPDATE, read(row["before_values"], row["before_none_sources"]),
                    read(row["after_values"], row["after_none_sources"]), ts_ms, here,
                )
                for row in event.rows
            ]  # fmt: skip
        images = [read(row["values"], row["none_sources"]) for row in event.rows]
        if kind == "WriteRowsEvent":
            return [Change(number, CREATE, None, image, ts_ms, here) for image in images]
        return [Change(number, DELETE, image, None, ts_ms, here) for image in images]

    def _query(self, event: Any, here: Place) -> tuple[bool, list[Change]]:
        text = event.query if isinstance(event.query, str) else event.query.decode("utf-8", "replace")
        if text.lstrip().upper().startswith(_INSIDE):
            return False, []
        found = _DDL.match(text)
        changes: list[Change] = []
        schema = event.schema.decode() if isinstance(event.schema, bytes) else event.schema
        for name in _names(found["rest"], schema) if found else ():
            number = self._numbers.get(name)
            if number is None:
                continue
            if found and found["verb"].upper() == "TRUNCATE":
                changes.append(Change(number, TRUNCATE, None, None, event.timestamp * 1000, here))
            else:
                self.layouts.altered(number)
                LOG.warning("table %s was changed by: %s", name, " ".join(text.split())[:200])
        return True, changes

    def _unknown(self, event: Any) -> None:
        if event.packet.event_type in _COMPRESSED:
            raise self._database.lost(
                "the log has compressed events, which cannot be read",
                "SET GLOBAL log_bin_compress = OFF (MariaDB) or binlog_transaction_compression = OFF (MySQL), and "
                "start without the checkpoint",
            )


def _names(text: str, schema: str) -> list[TableName]:
    """The names a statement begins with: one, or, after a comma, several.

    >>> _names("`a`.`b`, c ADD COLUMN x INT", "d")
    [TableName(database='a', schema='', name='b'), TableName(database='d', schema='', name='c')]
    """
    found = []
    at = 0
    while match := _NAME.match(text, at):
        database = match[1] or match[2] or schema
        found.append(TableName(database.replace("``", "`"), "", (match[3] or match[4]).replace("``", "`")))
        rest = text[match.end() :].lstrip()
        if not rest.startswith(","):
            break
        at = len(text) - len(rest) + 1
        at += len(text[at:]) - len(text[at:].lstrip())
    return found


def _complete(logged: Any, column: Column) -> None:
    full, charset = column.details[0], column.details[1]
    logged.name = column.name
    logged.unsigned = "unsigned" in full.lower()
    logged.character_set_name = charset or "binary"
    if column.kind == "enum":
        logged.enum_values = ["", *members(full)]
    if column.kind == "set":
        logged.set_values = members(full)


def _reader(
    table: CapturedTable, columns: Sequence[Column | None]
) -> Callable[[dict[str, Any], dict[str, Any]], Values]:
    """From the library's rows to the columns that are read of a table."""
    now = {column.name: column for column in columns if column is not None}
    wanted: list[tuple[str, Convert | None, Any]] = []
    for column in table.columns:
        found = now[column.name]
        wanted.append((column.name, from_log(found), "" if found.kind == "set" else None))

    def read(values: dict[str, Any], missing: dict[str, Any]) -> Values:
        image = []
        for name, convert, empty in wanted:
            value = values[name]
            if value is None:
                image.append(empty if empty is not None and missing.get(name) == "empty set" else None)
            else:
                image.append(value if convert is None else convert(value))
        return tuple(image)

    return read
