"""Tables of connectors as DataFrames: how batch queries read and write them.

A connector is written once, as a `Source` and a `Sink`. Here every split of the source becomes a partition of a
DataFrame, and every partition of a DataFrame a writer of the sink, whose committables the driver commits when all
tasks have ended. Where Spark itself reads or writes a system faster, the connector names a `SparkBatch` that does it.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.common.datatypes import RowType
from penstock.common.errors import NotSupportedError
from penstock.common.ids import MAX_WATERMARK, EpochId
from penstock.common.pickling import dumps, loads, ship, unship
from penstock.connectors.rows import column_writer, read_columns
from penstock.connectors.sink import Moment, Sink, WriterContext
from penstock.connectors.source import EnumeratorContext, ReaderContext, ReadLimit, Source, SourceSplit
from penstock.connectors.table import (
    KIND_COLUMN,
    POSITION_COLUMN,
    SinkRequest,
    SinkRequirements,
    TableConnector,
)
from penstock.sql.functions.text import quoted_name
from penstock.sql.spark.schemas import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.catalog.objects import CatalogTable

Batches = Iterator[pa.RecordBatch]

_TASK_BITS = 44
"""`__pos` is task << 44 | running number."""
_COMMITTABLES = "committable BINARY"


@dataclass(frozen=True)
class ReadSteps:
    """What the task that reads a table does with the rows before Spark gets them.

    Attributes:
        row_type: The columns that come out.
        run: From the batches of `connector.row_type(table)` to those of `row_type`; it is pickled into the tasks.
    """

    row_type: RowType
    run: Callable[[Batches], Batches]


class SparkBatch:
    """What Spark does itself for the tables of a connector; either method may leave it to the source or sink."""

    def reads_itself(self, connector: TableConnector) -> bool:
        """Whether a reader of Spark's own reads the rows, not a Python task that could do more with them."""
        return False

    def relation(
        self,
        spark: SparkSession,
        connector: TableConnector,
        table: CatalogTable,
        columns: Sequence[str] | None,
        steps: ReadSteps | None = None,
    ) -> str | None:
        """The table's rows as a relation of Spark SQL: the name of a view, or a query in parentheses."""
        return None

    def write(
        self, connector: TableConnector, table: CatalogTable, df: DataFrame, request: SinkRequest
    ) -> bool:
        """Writes the rows, all or none (but see `all_or_nothing`); False if it has not."""
        return False


@cache
def _load(path: str) -> SparkBatch:
    module, _, name = path.partition(":")
    made: SparkBatch = getattr(import_module(module), name)()
    return made


def _spark_batch(connector: TableConnector) -> SparkBatch:
    return _load(connector.spark_batch) if connector.spark_batch else SparkBatch()


# --- reading


def in_python(connector: TableConnector) -> bool:
    """Whether the rows of its tables are read by Python tasks, so that `relation` can give them steps."""
    return not _spark_batch(connector).reads_itself(connector)


def relation(
    spark: SparkSession,
    connector: TableConnector,
    table: CatalogTable,
    columns: Sequence[str] | None = None,
    steps: ReadSteps | None = None,
) -> str:
    """A relation for Spark SQL with the columns of `connector.row_type(table)`, or of the steps, by name.

    Args:
        columns: The physical columns that the query needs; others may be NULL in the relation, and what stands in
            them cannot make the query fail.
        steps: What is to be done with the rows where they are read; only if that is `in_python`.
    """
    if not connector.is_bounded(table):
        raise connector.refused(
            "the table never ends: an endless table cannot be read in batch mode",
            do=connector.endless_advice,
        )
    found = _spark_batch(connector).relation(spark, connector, table, columns, steps)
    if found is not None:
        return found
    frame = source_frame(spark, connector.source(table, columns), connector.row_type(table), steps)
    return view_of(frame)


def view_of(frame: DataFrame) -> str:
    """A temporary view of the frame, under a name that no other view of any session has."""
    name = f"penstock_source_{uuid.uuid4().hex}"
    frame.createOrReplaceTempView(name)
    return name


def source_frame(
    spark: SparkSession, source: Source, row_type: RowType, steps: ReadSteps | None = None
) -> DataFrame:
    """All rows of a bounded source; each of its splits is a task."""
    now_ms = int(time.time() * 1000)
    tasks = _planned(source, spark.sparkContext.defaultParallelism, now_ms)
    shipped = ship((source, row_type, tasks))

    def read(number: int) -> Batches:
        source, row_type, tasks = unship(shipped)
        return _read(source, row_type, tasks[number], ReaderContext(number, len(tasks), {}, now_ms))

    return tasks_frame(spark, len(tasks), read, row_type, steps)


def tasks_frame(
    spark: SparkSession,
    count: int,
    read: Callable[[int], Batches],
    row_type: RowType,
    steps: ReadSteps | None = None,
) -> DataFrame:
    """A DataFrame whose partition n is what `read(n)` gives in a task, taken through the steps."""
    run = iter if steps is None else steps.run

    def body(batches: Batches) -> Batches:
        numbers = (n for batch in batches for n in batch.column(0).to_pylist())
        return run(found for n in numbers for found in read(n))

    numbers = spark.range(0, count, 1, max(1, count))
    return numbers.mapInArrow(body, spark_schema(row_type if steps is None else steps.row_type))


Task = tuple[SourceSplit, ReadLimit]


def _planned(source: Source, parallelism: int, now_ms: int) -> list[Task]:
    enumerator = source.create_enumerator(EnumeratorContext(parallelism, {}))
    try:
        splits = list(enumerator.discover())
        while not enumerator.no_more_splits and (more := enumerator.discover()):
            splits += more
        planned = [(split, enumerator.plan_read(split, None, now_ms)) for split in splits]
    finally:
        enumerator.close()
    tasks = [(split, replace(limit, max_records=None)) for split, limit in planned if limit is not None]
    if any(limit.split_ends is False for _, limit in tasks):
        raise NotSupportedError(
            f"reading {type(source).__name__} in batch mode", "it gives its rows over time, not all at once"
        )
    return tasks


def _read(source: Source, row_type: RowType, task: Task, context: ReaderContext) -> Batches:
    split, limit = task
    reader = source.create_reader()
    reader.open(context)
    try:
        for found in read_columns(reader, row_type, split, None, limit):
            yield found.batch
    finally:
        reader.close()


# --- writing


def write(
    connector: TableConnector, table: CatalogTable, df: DataFrame, request: SinkRequest | None = None
) -> None:
    """Writes rows, all or none (but see `all_or_nothing`).

    `df` has the sink's columns by position and, where rows are changes, `__kind` behind them.
    """
    changelog = df.columns[-1] == KIND_COLUMN
    default = df.sparkSession.sparkContext.defaultParallelism
    request = replace(request or SinkRequest(), bounded=True, changelog=changelog, parallelism=default)
    names = [*table.sink_schema.names, *((KIND_COLUMN,) if changelog else ())]
    df = df.toDF(*names)
    if _spark_batch(connector).write(connector, table, df, request):
        return
    sink = connector.sink(table, request)
    rows = spread(df, connector.sink_requirements(table, request))
    write_all(sink, rows, table.sink_schema, request)


def write_all(sink: Sink, df: DataFrame, row_type: RowType, request: SinkRequest) -> None:
    """Writes and commits the rows of a batch statement."""
    committer, coordinator = sink.create_committer(), sink.create_coordinator()
    now_ms = int(time.time() * 1000)
    try:
        context = WriterContext(0, request.parallelism, EpochId(1), "", now_ms, job_id=uuid.uuid4().hex)
        committables = tuple(write_frame(sink, df, row_type, context, request.changelog))
        if coordinator is not None:
            moment = Moment(now_ms, MAX_WATERMARK, final=True)
            committables = coordinator.at_epoch_end(committables, moment, None).committables
        if committer is not None:
            committer.commit(committables)
    finally:
        if committer is not None:
            committer.close()


def spread(df: DataFrame, requirements: SinkRequirements) -> DataFrame:
    """The rows as the writers want them."""
    tasks, by = requirements.parallelism, requirements.partition_by
    if tasks == 1:
        return df.coalesce(1)  # keeps the order of ORDER BY
    if by is None and tasks is None:
        return df
    columns = [quoted_name(df.columns[i]) for i in by or ()]
    return df.repartition(*columns) if tasks is None else df.repartition(tasks, *columns)


def write_frame(
    sink: Sink,
    df: DataFrame,
    row_type: RowType,
    context: WriterContext,
    changelog: bool,
    end_of_input: bool = True,
) -> list[Any]:
    """Lets a writer of the sink write each partition; what they return, in the order of the partitions.

    Columns of `df` behind those of the sink are taken by name: `__kind` and `__pos`.
    """
    shipped = ship((sink, row_type, context, list(df.columns)))

    def body(batches: Batches) -> Batches:
        from pyspark import TaskContext

        sink, row_type, context, names = unship(shipped)
        running = TaskContext.get()
        assert running is not None
        attempt = f"{running.taskAttemptId()}-{uuid.uuid4().hex}"
        context = replace(context, subtask_index=running.partitionId(), attempt=attempt)
        writer = sink.create_writer(context)
        complete = _completed(names, len(row_type.fields), running.partitionId() << _TASK_BITS)
        write_columns = column_writer(writer, row_type, changelog)
        try:
            for batch in batches:
                write_columns(complete(batch))
            if end_of_input:
                writer.on_watermark(MAX_WATERMARK)
            found = [dumps(item) for item in writer.prepare_commit(end_of_input)]
        except BaseException:
            writer.abort()
            raise
        yield pa.RecordBatch.from_pydict({"committable": pa.array(found, pa.binary())})

    return [loads(row.committable) for row in df.mapInArrow(body, _COMMITTABLES).collect()]


def _completed(names: list[str], width: int, position: int) -> Callable[[pa.RecordBatch], pa.Table]:
    """A function that adds the kinds and positions that a batch lacks."""
    behind = {name: i for i, name in enumerate(names) if i >= width}

    def complete(batch: pa.RecordBatch) -> pa.Table:
        nonlocal position
        rows = batch.num_rows
        kinds, places = behind.get(KIND_COLUMN), behind.get(POSITION_COLUMN)
        columns = batch.columns[:width]
        columns.append(pa.repeat(pa.scalar(0, pa.int8()), rows) if kinds is None else batch.column(kinds))
        columns.append(
            pa.array(range(position, position + rows), pa.int64()) if places is None else batch.column(places)
        )
        position += rows
        return pa.table(columns, names=[*(f"c{i}" for i in range(width)), KIND_COLUMN, POSITION_COLUMN])

    return complete
