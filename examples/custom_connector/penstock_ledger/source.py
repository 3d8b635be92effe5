"""Reading a table of a SQLite file as a stream.

The position is the rowid of the last row read. Reading on from it gives the same rows again, which is all that
exactly-once asks of a source.
"""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import dataclass

from penstock.connectors.source import (
    Boundedness,
    ReadLimit,
    Source,
    SourceBatch,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
)


@dataclass(frozen=True)
class LedgerSource(Source):
    """Describes what is read. It is pickled and sent to the tasks, so it holds no connection."""

    path: str
    table: str
    columns: list[str]
    bounded: bool

    @property
    def boundedness(self):
        return Boundedness.BOUNDED if self.bounded else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self, context, restored=None):
        return LedgerEnumerator(self, restored)

    def create_reader(self):
        return LedgerReader(self)

    def newest(self):
        with contextlib.closing(sqlite3.connect(self.path)) as db:
            return db.execute(f'SELECT coalesce(max(rowid), 0) FROM "{self.table}"').fetchone()[0]


class LedgerEnumerator(SplitEnumerator):
    """Lives in the driver: finds the splits, here the one table, and says how far an epoch may read."""

    def __init__(self, source, restored):
        self.source, self.end = source, restored

    def discover(self):
        if self.end is not None:
            return []
        self.end = self.source.newest()
        return [SourceSplit(self.source.table)]

    def plan_read(self, split, position, now_ms):
        if self.source.bounded:
            return ReadLimit(end_position=self.end, split_ends=True)
        # Rows that are inserted while the epoch runs are left to the next one: a repeated epoch reads the same.
        newest = self.source.newest()
        return ReadLimit(end_position=newest, split_ends=False) if newest > (position or 0) else None

    @property
    def no_more_splits(self):
        return self.source.bounded

    def snapshot(self):
        return self.end


class LedgerReader(SourceReader):
    """Lives in a task: reads on from a position, in batches of tuples."""

    def __init__(self, source):
        self.source = source

    def read(self, split, position, limit):
        query = (
            f'SELECT rowid, {", ".join(self.source.columns)} FROM "{self.source.table}" '
            "WHERE rowid > ? AND rowid <= ? ORDER BY rowid"
        )
        with contextlib.closing(sqlite3.connect(self.source.path)) as db:
            cursor = db.execute(query, (position or 0, limit.end_position))
            while rows := cursor.fetchmany(1000):
                yield SourceBatch([row[1:] for row in rows], None, position=rows[-1][0])
