"""Where the changes of a query go: to the program that asked, or through a connector."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.common.datatypes import DataType
from penstock.common.errors import JobExecutionError, PenstockError, ValidationError
from penstock.common.types import Row, RowKind
from penstock.connectors.sink import Committer
from penstock.sql.connectors import SqlConnector, find_connector
from penstock.sql.connectors.filesystem.connector import FileSystemConnector
from penstock.sql.connectors.jdbc import JdbcConnector
from penstock.sql.connectors.print import PrintConnector
from penstock.sql.plan.algebra import Sink
from penstock.sql.spark.values import row_reader
from penstock.sql.streaming.file_sink import FileEpochSink, PrintEpochSink, named
from penstock.sql.streaming.keyed_sinks import JdbcEpochSink, materialized
from penstock.sql.streaming.physical import Stream
from penstock.sql.streaming.planner import Planner

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.runtime.running_job import RunningJob

_KINDS = (RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE)
_POLL_SECONDS = 0.05


class CollectRows:
    """Brings an epoch's changes to the driver; the program sees them when the epoch is committed."""

    def __init__(self, types: Sequence[DataType], names: Sequence[str]) -> None:
        self._read = row_reader(types, names)
        self._width = len(types)
        self._committed: deque[Any] = deque()
        self._changed = threading.Condition()

    def take(self, spark: SparkSession, frame: DataFrame) -> tuple[Any, ...]:
        table = frame.toArrow()
        return (table,) if table.num_rows else ()

    def committer(self) -> Committer:
        return _Publish(self)

    def publish(self, tables: Sequence[Any]) -> None:
        with self._changed:
            self._committed.extend(tables)
            self._changed.notify_all()

    def iterate(self, job: RunningJob) -> Iterator[Row]:
        """Rows until the job ends; leaving early cancels it."""
        ended = False
        try:
            while True:
                with self._changed:
                    if not self._committed and not ended:
                        self._changed.wait(_POLL_SECONDS)
                    table = self._committed.popleft() if self._committed else None
                if table is not None:
                    yield from self._rows(table)
                elif ended:
                    break
                else:
                    ended = not _is_running(job)
            raise_failure(job)
        finally:
            if _is_running(job):
                job.cancel()

    def _rows(self, table: Any) -> Iterator[Row]:
        kinds = table.column(self._width).to_pylist()
        for row, kind in zip(self._read(table.select(range(self._width))), kinds, strict=True):
            row.set_row_kind(_KINDS[kind])
            yield row


class _Publish(Committer):
    def __init__(self, sink: CollectRows) -> None:
        self._sink = sink

    def commit(self, committables: Sequence[Any]) -> None:
        self._sink.publish(committables)


def _is_running(job: RunningJob) -> bool:
    return not job._done.is_set()


def raise_failure(job: RunningJob, timeout_ms: int | None = None) -> None:
    """Waits for the end of the job; its own error is what the user should see."""
    try:
        job.wait(None if timeout_ms is None else timeout_ms / 1000)
    except JobExecutionError as error:
        if isinstance(error.__cause__, PenstockError):
            raise error.__cause__ from None
        raise


class ConnectorSink:
    """Hands every epoch's changes to a connector that knows only whole writes."""

    def __init__(self, connector: SqlConnector, sink: Sink, changelog: bool) -> None:
        self._connector = connector
        self._sink = sink
        self._changelog = changelog

    def take(self, spark: SparkSession, frame: DataFrame) -> tuple[Any, ...]:
        sink = self._sink
        rows = named(frame, sink, self._changelog)
        self._connector.write_batch(spark, sink.table, rows, False, dict(sink.static_partition))
        return ()


def epoch_sink(connector: SqlConnector, sink: Sink, changelog: bool, stream: Stream, parallelism: int) -> Any:
    """How an epoch's output is written and, if it has `commit`, published."""
    if isinstance(connector, FileSystemConnector):
        return FileEpochSink(connector, sink, changelog, stream)
    if isinstance(connector, PrintConnector):
        return PrintEpochSink(connector, sink)
    if isinstance(connector, JdbcConnector) and changelog:
        return JdbcEpochSink(connector, sink, parallelism)
    return ConnectorSink(connector, sink, changelog)


def plan_sinks(config: Mapping[str, str], sinks: Sequence[Sink]) -> tuple[Planner, list[tuple[Stream, Any]]]:
    """The queries of INSERTs as one plan, each with its sink; refuses updates that a sink cannot take."""
    connectors = [find_connector(s.table.options, s.identifier.as_summary_string()) for s in sinks]
    for connector, sink in zip(connectors, sinks, strict=True):
        connector.validate(sink.table, "sink")
    planner = Planner(config)
    streams = planner.queries([sink.input for sink in sinks])
    ends: list[tuple[Stream, Any]] = []
    for stream, connector, sink in zip(streams, connectors, sinks, strict=True):
        taker = _taker(stream, connector, sink, planner.parallelism)
        ends.append((materialized(planner, stream, connector, sink), taker))
    return planner, ends


def _taker(stream: Stream, connector: SqlConnector, sink: Sink, parallelism: int) -> Any:
    path = sink.identifier.as_summary_string()
    changelog = connector.sink_changelog_mode(sink.table) == "changelog"
    if stream.retracts and not changelog:
        raise ValidationError(
            f"table sink '{path}' doesn't support consuming update and delete changes which is produced by "
            f"node {stream.updated_by}",
            do=connector.update_advice,
        )
    return epoch_sink(connector, sink, changelog, stream, parallelism)
