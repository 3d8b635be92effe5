"""A source of one's own: the rows of a SQLite table, in the order in which they were inserted.

The position is the id of the last row read. Reading from the same position again gives the same rows, which
is all that exactly-once asks of a source. Run it as it stands: it makes a small table first.
"""

import contextlib
import os
import sqlite3
import tempfile

from penstock.common import Types, WatermarkStrategy
from penstock.connectors.source import (
    Boundedness,
    ReadLimit,
    Source,
    SourceBatch,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
)
from penstock.datastream import StreamExecutionEnvironment


class TableSource(Source):
    """Describes the source. It is pickled and sent to the workers, so it holds no connection."""

    def __init__(self, path, table):
        self.path, self.table = path, table

    @property
    def boundedness(self):
        return Boundedness.BOUNDED

    def create_enumerator(self, context, restored=None):
        return TableEnumerator(self, restored)

    def create_reader(self):
        return TableReader(self)


class TableEnumerator(SplitEnumerator):
    """Lives in the driver: one table is one split."""

    def __init__(self, source, restored):
        self.source, self.discovered = source, restored is not None

    def discover(self):
        if self.discovered:
            return []
        self.discovered = True
        return [SourceSplit(self.source.table)]

    def plan_read(self, split, position, now_ms):
        # Rows that are inserted while the epoch runs are left to the next one: a repeated epoch reads the same.
        with contextlib.closing(sqlite3.connect(self.source.path)) as db:
            (newest,) = db.execute(f"SELECT coalesce(max(rowid), 0) FROM {self.source.table}").fetchone()
        return ReadLimit(end_position=newest)

    def snapshot(self):
        return "discovered" if self.discovered else None


class TableReader(SourceReader):
    """Lives in a worker: reads on from a position, in batches."""

    def __init__(self, source):
        self.source = source

    def read(self, split, position, limit):
        query = f"SELECT rowid, name, amount FROM {self.source.table} WHERE rowid > ? AND rowid <= ? ORDER BY rowid"
        with contextlib.closing(sqlite3.connect(self.source.path)) as db:
            cursor = db.execute(query, (position or 0, limit.end_position))
            while rows := cursor.fetchmany(1000):
                yield SourceBatch([row[1:] for row in rows], None, position=rows[-1][0])


def main():
    path = os.path.join(tempfile.mkdtemp(), "shop.db")
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE orders (name TEXT, amount INTEGER)")
        db.executemany("INSERT INTO orders VALUES (?, ?)", [("pen", 3), ("ink", 1), ("pen", 4)])
        db.commit()

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    orders = env.from_source(
        TableSource(path, "orders"),
        WatermarkStrategy.no_watermarks(),
        "orders",
        type_info=Types.TUPLE([Types.STRING(), Types.LONG()]),
    )
    orders.key_by(lambda order: order[0]).reduce(lambda a, b: (a[0], a[1] + b[1])).print()
    env.execute("read a table")


if __name__ == "__main__":
    main()
