"""The driver's side of MySQL: where the log begins and ends, and where chunks end."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.connectors.cdc.database import Control
from penstock.connectors.cdc.model import CapturedTable, Change, Place
from penstock.connectors.mysql_cdc.server import MySqlDatabase, place_of, quote, quoted_table, rows

_SETTLED_S = 1.0
"""A transaction is in the log before others see it. So long may that take on servers that do not say exactly."""


@dataclass(frozen=True)
class LogMark:
    """A place in the log; what is before it is shown. Everything before `settled` is seen by every query."""

    place: Place
    settled: Place

    @property
    def until(self) -> Place:
        return self.place

    def shows(self, change: Change) -> bool:
        return change.place <= self.place

    def kept(self) -> LogMark:
        return LogMark(self.place, self.place)


class MySqlControl(Control):
    """Owns one connection."""

    def __init__(self, database: MySqlDatabase, source_id: str) -> None:
        super().__init__(database, source_id)
        self._database = database
        self._seen: deque[tuple[float, Place]] = deque(maxlen=100)

    def connected(self) -> Any:
        return self._database.connect()

    # --- at the start

    def tables(self) -> tuple[CapturedTable, ...]:
        def ask(connection: Any) -> tuple[CapturedTable, ...]:
            self._database.check(connection)
            return self._database.tables(connection)

        return self.ask("cannot look at the tables", ask)

    def begin(self, tables: Sequence[CapturedTable], mode: str) -> Place:
        startup = self._database.startup
        if mode == "specific-offset":
            assert startup.file is not None and startup.offset is not None, "checked with the options"
            place = place_of(startup.file, startup.offset)
            self.resume(place)
            return place
        if mode == "earliest-offset":
            return place_of(self._files()[0], 4)
        if mode == "timestamp":
            assert startup.timestamp_ms is not None, "checked with the options"
            return self._file_before(startup.timestamp_ms)
        return self.log_end()

    def _files(self) -> list[str]:
        return [
            row[0] for row in self.ask("cannot list the binary log", lambda c: rows(c, "SHOW BINARY LOGS"))
        ]

    def _file_before(self, timestamp_ms: int) -> Place:
        """The newest file that was begun before a time; the first one, if none was."""
        from pymysqlreplication import BinLogStreamReader
        from pymysqlreplication.event import FormatDescriptionEvent

        files = self._files()
        for file in reversed(files):
            stream = BinLogStreamReader(
                self._database.settings(), self._database.server_ids[0], resume_stream=True, log_file=file, log_pos=4,
                only_events=[FormatDescriptionEvent], enable_logging=False,
            )  # fmt: skip
            try:
                with self._database.explained("cannot read the binary log"):
                    event = stream.fetchone()
            finally:
                stream.close()
            if event is not None and event.timestamp * 1000 <= timestamp_ms:
                return place_of(file, 4)
        return place_of(files[0], 4)

    def resume(self, place: Place | None) -> None:
        if place is None:
            return
        files = self._files()
        if place[2] not in files:
            raise self._database.lost(
                f"the server has no file '{place[2]}' any more: its files are {files[0]} to {files[-1]}",
                "start without the checkpoint, which takes a new snapshot; keep the log longer by expire_logs_days "
                "or binlog_expire_logs_seconds",
            )

    # --- epochs

    def log_end(self) -> Place:
        place = self.ask("cannot ask where the log ends", self._database.log_end)
        if self._seen and place < self._seen[-1][1]:
            raise self._database.lost(
                f"the log ends at {place[2]}, offset {place[1]}, before a place that was there already: it was reset",
                "start without the checkpoint, which takes a new snapshot",
            )
        self._seen.append((time.monotonic(), place))
        return place

    def mark(self) -> LogMark:
        place = self.log_end()
        settled = self._settled()
        while settled is None:  # only at the very start of a job
            time.sleep(_SETTLED_S / 10)
            settled = self._settled()
        return LogMark(place, settled)

    def _settled(self) -> Place | None:
        """The newest place that was seen long enough ago."""
        before = time.monotonic() - _SETTLED_S
        return next((place for moment, place in reversed(self._seen) if moment <= before), None)

    def next_bound(self, table: CapturedTable, start: Any) -> Any:
        key, name = quote(table.chunk_column().name), quoted_table(table.name)
        size = self._database.selection.chunk_size

        def ask(connection: Any) -> Any:
            if start is None:
                first = f"SELECT {key} FROM {name} WHERE {key} IS NOT NULL ORDER BY {key} LIMIT {size}, 1"
                found = rows(connection, first)
                return found[0][0] if found else None
            behind = f"SELECT {key} FROM {name} WHERE {key} >= ? ORDER BY {key} LIMIT {size}, 1"
            found = rows(connection, _marked(behind), (start,))
            if not found:
                return None
            next_one = f"SELECT {key} FROM {name} WHERE {key} >= ? AND {key} > ? ORDER BY {key} LIMIT 1"
            found = rows(connection, _marked(next_one), (found[0][0], start))
            return found[0][0] if found else None

        return self.ask("cannot cut the table into chunks", ask, table.name)


def _marked(query: str) -> str:
    """The query with the driver's marks for parameters, whatever signs names have."""
    return query.replace("%", "%%").replace("?", "%s")
