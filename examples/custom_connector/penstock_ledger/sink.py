"""Writing to a table of a SQLite file, exactly once.

Writers only collect rows; these become part of the checkpoint. When that is durable the committer writes them, and in
the same transaction notes whose they were. After a crash it is asked to commit the same rows again and
finds its note.
"""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import dataclass

from penstock.connectors.sink import Committer, Sink, SinkWriter

_GOES = (1, 3)  # -U and -D; 0 and 2 are +I and +U


@dataclass(frozen=True)
class LedgerSink(Sink):
    """Describes the sink; pickled. With `changelog` rows end with the kind of their change."""

    path: str
    table: str
    columns: list[str]
    key: list[str]
    changelog: bool

    def create_writer(self, context, restored=()):
        return LedgerWriter(context)

    def create_committer(self):
        return LedgerCommitter(self)


class LedgerWriter(SinkWriter):
    """Lives in a task for one epoch. What it returns becomes part of the checkpoint: keep it small."""

    def __init__(self, context):
        self.name = f"{context.attempt}/{context.subtask_index}"  # no other try of any epoch has it
        self.rows = []

    def write(self, values, timestamps):
        self.rows.extend(values)

    def prepare_commit(self, end_of_input):
        return [(self.name, self.rows)] if self.rows else []


class LedgerCommitter(Committer):
    """Lives in the driver. Rows and the note that they were written share a transaction."""

    def __init__(self, sink):
        self.sink = sink
        columns = ", ".join(f'"{name}"' for name in sink.columns)
        values = ", ".join("?" for _ in sink.columns)
        self.put = f'INSERT INTO "{sink.table}" ({columns}) VALUES ({values})'
        matches = " AND ".join(f'"{name}" = ?' for name in sink.key)
        self.drop = f'DELETE FROM "{sink.table}" WHERE {matches}'
        self.key_places = [sink.columns.index(name) for name in sink.key]

    def commit(self, committables):
        with contextlib.closing(sqlite3.connect(self.sink.path)) as db, db:
            db.execute("CREATE TABLE IF NOT EXISTS ledger_commits (writer TEXT PRIMARY KEY)")
            for writer, rows in committables:
                if db.execute("INSERT OR IGNORE INTO ledger_commits VALUES (?)", (writer,)).rowcount:
                    self.write(db, rows)

    def write(self, db, rows):
        for row in rows:
            *row, kind = row if self.sink.changelog else (*row, 0)
            if self.sink.key:
                db.execute(self.drop, [row[place] for place in self.key_places])
            if kind not in _GOES:
                db.execute(self.put, row)
