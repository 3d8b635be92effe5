"""A sink of one's own: rows into a SQLite table, exactly once.

Writers run in the workers and only collect rows. The committer runs in the driver, after the epoch's checkpoint
is durable; it may be asked to commit the same epoch again after a crash, and finds out by a table of its own.
Run it as it stands: it prints the table in the end.
"""

import contextlib
import os
import sqlite3
import tempfile

from penstock.common import Types
from penstock.connectors.sink import Committer, Sink, SinkWriter
from penstock.datastream import StreamExecutionEnvironment


class TableSink(Sink):
    """Describes the sink. It is pickled and sent to the workers, so it holds no connection."""

    def __init__(self, path):
        self.path = path

    def create_writer(self, context, restored=()):
        return TableWriter(context)

    def create_committer(self):
        return TableCommitter(self.path)


class TableWriter(SinkWriter):
    """Lives in a worker for one epoch. What it returns becomes part of the checkpoint: keep it small."""

    def __init__(self, context):
        self.epoch = f"{context.job_id}/{context.epoch}/{context.subtask_index}"
        self.rows = []

    def write(self, values, timestamps):
        self.rows.extend(values)

    def prepare_commit(self, end_of_input):
        return [(self.epoch, self.rows)] if self.rows else []


class TableCommitter(Committer):
    """Lives in the driver. Rows and the note that they were written share a transaction."""

    def __init__(self, path):
        self.path = path

    def commit(self, committables):
        with contextlib.closing(sqlite3.connect(self.path)) as db, db:
            db.execute("CREATE TABLE IF NOT EXISTS words (word TEXT, length INTEGER)")
            db.execute("CREATE TABLE IF NOT EXISTS committed (epoch TEXT PRIMARY KEY)")
            for epoch, rows in committables:
                if db.execute("INSERT OR IGNORE INTO committed VALUES (?)", (epoch,)).rowcount:
                    db.executemany("INSERT INTO words VALUES (?, ?)", rows)


def main():
    path = os.path.join(tempfile.mkdtemp(), "words.db")
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    words = env.from_collection(["sluice", "weir", "penstock", "turbine"], type_info=Types.STRING())
    words.map(lambda word: (word, len(word)), output_type=Types.TUPLE([Types.STRING(), Types.INT()])).sink_to(
        TableSink(path)
    )
    env.execute("write a table")

    with contextlib.closing(sqlite3.connect(path)) as db:
        for word, length in db.execute("SELECT * FROM words ORDER BY word"):
            print(word, length)


if __name__ == "__main__":
    main()
