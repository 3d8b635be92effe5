"""INSERT into files and onto the console: an epoch's output becomes visible when the epoch is committed.

Tasks write files into a hidden folder of the table; the files are the epoch's committables, and committing moves
them to their places. A file that is not in the hidden folder any more was moved by an earlier try, so committing
twice is harmless.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.connectors.sink import Committer
from penstock.sql.connectors import KIND_COLUMN
from penstock.sql.connectors.filesystem.connector import FileSystemConnector
from penstock.sql.connectors.filesystem.partition_commit import decide
from penstock.sql.connectors.filesystem.spreading import Spread, epoch_spread
from penstock.sql.connectors.filesystem.writer import StagedFile, commit
from penstock.sql.connectors.moments import Moment
from penstock.sql.connectors.print import PrintConnector
from penstock.sql.plan.algebra import Sink
from penstock.sql.streaming.physical import Stream
from penstock.sql.streaming.query import Taken

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_POSITION = -1
"""The last column of an epoch's rows, `__pos`, is different in all of them."""


def named(frame: DataFrame, sink: Sink, changelog: bool, order: str | None = None) -> DataFrame:
    """The sink's columns by name, then the kind for a sink that takes changes, and the order in which they came."""
    width = len(sink.input.fields)
    shown = [f"c{i} AS `{f.name}`" for i, f in enumerate(sink.input.fields)]
    if changelog:
        shown.append(f"c{width} AS {KIND_COLUMN}")
    if order is not None:
        shown.append(f"c{width + 2} AS {order}")
    return frame.selectExpr(*shown)


@dataclass(frozen=True)
class CompletePartition:
    """Committable: a partition that gets its success file, after all files of the epoch are in their places."""

    folder: str


class FileEpochSink(Committer):
    """Stages files, and moves them on commit; says by time which partitions are complete."""

    def __init__(self, connector: FileSystemConnector, sink: Sink, changelog: bool, stream: Stream) -> None:
        self._connector = connector
        self._sink = sink
        self._changelog = changelog
        self._trigger = connector.commit_trigger(sink.table)
        self._spread = _spread(connector, sink, stream)
        self._staging = f"{connector.store.root}/.staging_{uuid.uuid4().hex}"
        self._limit = connector.size_limit(compacted=connector.values["auto-compaction"])
        self._waiting = False

    def take(self, spark: SparkSession, frame: DataFrame) -> tuple[Any, ...]:
        staged = self._stage(frame)
        self._waiting = bool(staged)
        return staged

    def _stage(self, frame: DataFrame) -> tuple[Any, ...]:
        spread = frame if self._spread is None else self._spread.apply(frame)
        rows = named(spread, self._sink, self._changelog)
        folder = f"{self._staging}/{uuid.uuid4().hex}"
        return tuple(self._connector.stage(self._sink.table, rows, folder, self._limit))

    def at_end(self, committables: tuple[Any, ...], moment: Moment, state: Any) -> Taken:
        """Adds the partitions that are complete now; those that are not, are the state."""
        if self._trigger is None:
            return Taken(committables)
        written = {file.folder for file in committables}
        decision = decide(self._trigger, state or {}, written, moment)
        complete = tuple(CompletePartition(folder) for folder in decision.commit)
        return Taken((*committables, *complete), dict(decision.pending) or None, decision.wake_ms)

    def commit(self, committables: Sequence[Any]) -> None:
        from pyarrow import fs

        store = self._connector.store
        files = [item for item in committables if isinstance(item, StagedFile)]
        waiting = [file for file in files if store.system.get_file_info(file.staged).type == fs.FileType.File]
        commit(store, waiting, overwrite=False, partitioned=bool(self._sink.table.partition_keys))
        complete = [item.folder for item in committables if isinstance(item, CompletePartition)]
        self._connector.mark_complete(complete)
        self._waiting = False

    def close(self) -> None:
        """Files that a checkpoint may name and that were not moved yet are left for whoever restores it."""
        if not self._waiting:
            self._connector.store.delete_folder(self._staging)


def _spread(connector: FileSystemConnector, sink: Sink, stream: Stream) -> Spread | None:
    """Who writes what; changes of one row must not overtake each other on the way to another number of tasks."""
    table, input_tasks = sink.table, sum(node.parallelism for node in stream.nodes)
    keys = connector.partition_positions(table)
    if not stream.retracts:
        return epoch_spread(connector.values, keys, input_tasks, even=(_POSITION,))
    even = [table.physical_schema.names.index(column) for column in table.primary_key]
    spread = epoch_spread(connector.values, keys, input_tasks, even)
    if spread is not None and not spread.by and spread.tasks != 1:
        raise connector.refused(
            f"'sink.parallelism' is {spread.tasks} and {input_tasks} tasks produce updates, but there is no primary "
            "key by which the changes of a row could stay together",
            do="declare a primary key, or leave 'sink.parallelism' out",
        )
    return spread


class PrintEpochSink(Committer):
    """Prints an epoch's changes when it is committed."""

    def __init__(self, connector: PrintConnector, sink: Sink) -> None:
        self._connector = connector
        self._sink = sink

    def take(self, spark: SparkSession, frame: DataFrame) -> tuple[Any, ...]:
        line = self._connector.printer(self._sink.table.physical_schema)
        rows = named(frame, self._sink, True).collect()
        return tuple(line(row[-1], row[:-1]) for row in rows)

    def commit(self, committables: Sequence[Any]) -> None:
        out = self._connector.stream()
        for line in committables:
            out.write(line + "\n")
        out.flush()
