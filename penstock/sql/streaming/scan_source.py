"""Tables of connectors as sources of the epoch loop: what there is to read, and how far an epoch reads.

A subtask reads its files one after the other, as Flink's source does, so a split is a list of files and its
position says which file comes next, how many of its rows were read, and where the block with the last of them begins.
Where it is certain, from the size of the files, that an epoch reads everything to the end, that epoch is the last one
and ends event time too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa

from penstock.common.config_values import parse_duration
from penstock.common.datatypes import RowType
from penstock.common.errors import InvariantError, NotSupportedError
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    ReadLimit,
    Source,
    SourceBatch,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
)
from penstock.sql.connectors.datagen import DataGenConnector
from penstock.sql.connectors.filesystem import columnar
from penstock.sql.connectors.filesystem.blocks import START, BlockReader, Place
from penstock.sql.connectors.filesystem.connector import FileSystemConnector
from penstock.sql.connectors.filesystem.parquet import can_read, count_rows
from penstock.sql.connectors.filesystem.reader import FileScan
from penstock.sql.connectors.jdbc import JdbcConnector
from penstock.sql.connectors.jdbc.source import JdbcScan
from penstock.sql.connectors.spark_types import RowsToArrow
from penstock.sql.streaming.physical import PhysicalNode, ScanNode, ValuesNode

Rows = Iterator[tuple[Any, ...]]


@dataclass(frozen=True)
class PartSplit(SourceSplit):
    """Parts that are read in order. `at_most` bounds the rows of each part, None if nobody knows.

    A part that is `whole` cannot be left in its middle: a database gives its rows in any order, so there is no
    coming back to a row. An epoch then ends with the part in which it has had enough.
    """

    parts: tuple[Any, ...] = ()
    at_most: tuple[int, ...] | None = None
    whole: bool = False

    def rows_left(self, position: Any) -> int | None:
        """At most so many rows come after a position."""
        part, row = position[:2] if position else (0, 0)
        return None if self.at_most is None else sum(self.at_most[part:]) - row


class TableSource(Source):
    """The source of a scan; `reader` turns a part into rows inside a task."""

    def __init__(self, node: PhysicalNode) -> None:
        self._node = node
        self._bounded = True
        if isinstance(node, ScanNode):
            assert node.connector is not None and node.scan is not None
            self._bounded = node.connector.is_bounded(node.scan.table)

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self._bounded else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> SplitEnumerator:
        node = self._node
        if isinstance(node, ValuesNode):
            return _Once(PartSplit("values", (0,), (0,)))
        assert isinstance(node, ScanNode) and node.scan is not None
        connector, table = node.connector, node.scan.table
        if reads_relation(node):
            return _Once(PartSplit("relation", (0,), (0,)))
        if isinstance(connector, FileSystemConnector):
            return _Files(connector, table, context.parallelism, restored)
        if isinstance(connector, JdbcConnector):
            return _Once(*_ranges(connector))
        if isinstance(connector, DataGenConnector):
            return _Generated(connector, table, context.parallelism)
        raise NotSupportedError(
            f"reading connector '{connector.name if connector else ''}' in streaming mode",
            "the streaming engine has no splits for it",
        )

    def create_reader(self) -> SourceReader:
        return _NoReader()


class _NoReader(SourceReader):
    """Rows are read by the tasks of the SQL engine itself."""

    def read(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[SourceBatch]:
        raise InvariantError("a table is read by the SQL engine")


class _Once(SplitEnumerator):
    """One split, reported once."""

    def __init__(self, *splits: PartSplit) -> None:
        self._splits: Sequence[PartSplit] = splits

    def discover(self) -> Sequence[SourceSplit]:
        found, self._splits = self._splits, ()
        return found


def _ranges(connector: JdbcConnector) -> list[PartSplit]:
    """A database's table: a split for each range, the same ones whatever the parallelism."""
    return [PartSplit(f"range-{i}", (part,), whole=True) for i, part in enumerate(connector.parts())]


class _Files(SplitEnumerator):
    """The files of a table: as they are at the start, and with a monitor interval the ones that come later."""

    def __init__(self, connector: FileSystemConnector, table: Any, parallelism: int, restored: Any) -> None:
        self._connector = connector
        self._table = table
        self._parallelism = parallelism
        count, known = restored or (0, ())
        self._known: set[str] = set(known)
        self._started = restored is not None
        interval = connector.values["source.monitor-interval"]
        self._interval_ms = None if interval is None else parse_duration(interval).to_millis()
        self._next_look_ms = 0
        self._count: int = count

    def discover(self) -> Sequence[SourceSplit]:
        now_ms = int(time.time() * 1000)
        if self._started and (self._interval_ms is None or now_ms < self._next_look_ms):
            return ()
        self._next_look_ms = now_ms + (self._interval_ms or 0)
        new = [s for s in self._connector.splits(self._table) if _file_id(s) not in self._known]
        self._known.update(_file_id(s) for s in new)
        first, self._started = not self._started, True
        if not first:
            return [self._split((s,)) for s in new]
        groups = [tuple(new[i :: self._parallelism]) for i in range(self._parallelism)]
        return [self._split(group) for group in groups]

    def _split(self, files: tuple[Any, ...]) -> PartSplit:
        self._count += 1
        return PartSplit(f"files-{self._count}", files, _row_bounds(self._connector, self._table, files))

    def next_wakeup_ms(self, now_ms: int) -> int | None:
        return None if self._interval_ms is None else self._next_look_ms

    @property
    def no_more_splits(self) -> bool:
        return self._interval_ms is None

    def snapshot(self) -> Any:
        return self._count, sorted(self._known)


def _file_id(split: Any) -> str:
    return f"{split.file.path}@{split.start}"


def _row_bounds(connector: FileSystemConnector, table: Any, files: Sequence[Any]) -> tuple[int, ...] | None:
    """Parquet files say it; a text row takes at least a byte, and its line end."""
    if connector.format.name == "parquet":
        return count_rows(connector.scan(table), list(files))
    if connector.format.framing not in ("csv", "line") or any(s.file.is_compressed for s in files):
        return None
    return tuple(s.length + 1 for s in files)


class _Generated(SplitEnumerator):
    """datagen: the numbers of the rows, in ranges; endless tables follow the clock."""

    _CHUNK = 100_000

    def __init__(self, connector: DataGenConnector, table: Any, parallelism: int) -> None:
        generator = connector.generator(table)
        count = connector.values["number-of-rows"]
        longest = generator.sequence_length()
        bounds = [n for n in (count, longest) if n is not None]
        self._total = min(bounds) if bounds else None
        self._per_second = connector.values["rows-per-second"]
        self._started_ms: int | None = None
        self._splits = [self._split(generator)]

    def _split(self, generator: Any) -> PartSplit:
        return PartSplit("rows", ((generator, self._total),), None if self._total is None else (self._total,))

    def discover(self) -> Sequence[SourceSplit]:
        found, self._splits = self._splits, []
        return found

    def plan_read(self, split: SourceSplit, position: Any, now_ms: int) -> ReadLimit | None:
        if self._total is not None:
            return ReadLimit()
        done = 0 if position is None else position[1]
        if self._started_ms is None:  # after a restore: as if all rows so far had come on time
            self._started_ms = now_ms - done * 1000 // self._per_second
        due = (now_ms - self._started_ms) * self._per_second // 1000 - done
        return ReadLimit(max_records=due, split_ends=False) if due > 0 else None

    @property
    def no_more_splits(self) -> bool:
        return True


Read = Callable[[Any, Place, int, int | None], Iterator[tuple[Place, pa.RecordBatch]]]
"""From a part, the place of a block, the rows to skip from there and the rows wanted: batches and their places."""


@dataclass(frozen=True)
class PartReader:
    """How a part becomes batches of `row_type`, whose last column is the kind; pickled into the tasks."""

    scan: FileScan | JdbcScan | None
    row_type: RowType

    def opened(self) -> Read:
        if self.scan is None:
            return self._generated
        if isinstance(self.scan, JdbcScan):
            return self._selected
        reader = BlockReader(self.scan, self.row_type, kinds=True)
        return lambda part, place, skip, limit: reader.read(part, place, skip)

    def _selected(
        self, part: Any, place: Place, skip: int, limit: int | None
    ) -> Iterator[tuple[Place, pa.RecordBatch]]:
        """Ranges are read from their beginning to their end."""
        assert isinstance(self.scan, JdbcScan)
        batches = self.scan.batches(part, RowsToArrow(self.row_type), kinds=True)
        return ((START, batch) for batch in batches)

    def _generated(
        self, part: Any, place: Place, skip: int, limit: int | None
    ) -> Iterator[tuple[Place, pa.RecordBatch]]:
        generator, total = part
        end = total if total is not None else skip + _Generated._CHUNK * 1000
        rows = ((*row, 0) for row in islice(_numbered(generator, skip, end), limit))
        return ((START, batch) for batch in RowsToArrow(self.row_type).batches(rows))


def _numbered(generator: Any, start: int, end: int) -> Rows:
    """Rows of the generator; the dice of a range depend on its start, so ranges are always the same."""
    chunk = 1000
    at = start // chunk * chunk
    while at < end:
        rows = generator.rows(at, min(at + chunk, end))
        yield from islice(rows, max(0, start - at), None)
        at += chunk


def reads_relation(node: PhysicalNode) -> bool:
    """Whether Spark itself reads the table, all at once: columnar files that do not grow and Arrow cannot cut."""
    if not isinstance(node, ScanNode) or not isinstance(node.connector, FileSystemConnector):
        return False
    assert node.scan is not None
    if not columnar.reads(node.connector.format.name) or reads_arrow(node):
        return False
    if not node.connector.is_bounded(node.scan.table):
        raise NotSupportedError(
            f"a growing table of {node.connector.format.name} files with these types",
            "its files can only be read as a whole",
        )
    return True


def reads_arrow(node: ScanNode) -> bool:
    """Whether the table's files are read as Arrow batches; asked once, when the query is planned."""
    if node.arrow is None:
        connector = node.connector
        assert node.scan is not None
        node.arrow = (
            isinstance(connector, FileSystemConnector)
            and connector.format.name == "parquet"
            and can_read(
                connector.scan(node.scan.table, list(node.columns)), connector.splits(node.scan.table)
            )
        )
    return node.arrow


def part_reader(node: ScanNode) -> PartReader:
    """The reader of a scan, picklable."""
    assert node.scan is not None
    row_type = RowType(node.row_type.fields[: len(node.fields) + 1], nullable=False)
    if isinstance(node.connector, (FileSystemConnector, JdbcConnector)):
        return PartReader(node.connector.scan(node.scan.table, list(node.columns)), row_type)
    return PartReader(None, row_type)
