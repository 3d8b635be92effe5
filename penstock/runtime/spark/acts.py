"""Stages in acts: Python, then linear SQL in Catalyst, then Python again, within one Spark task.

    rows of the level ─▶ act 0 ─▶ Spark SQL ─▶ act 1 ─▶ … ─▶ rows for the next level
                          │                      ▲
                          └── parcels, marks, ───┘
                              report: a local file

The processes of two acts run on one host, as parts of one task. What does not go through Catalyst is left in a file
named after the task attempt; it is complete when the last row has come through, because Catalyst ends its output when
its input has ended.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.delta.columns import names
from penstock.formats.arrow_rows import arrow_type
from penstock.runtime.garbage import SURVIVORS
from penstock.runtime.layout import LevelTasks
from penstock.runtime.plan import JobDefinition
from penstock.runtime.spark.kept_shuffles import keyed_bytes
from penstock.runtime.spark.plan_delivery import receive_plan
from penstock.runtime.tables.base import renamed
from penstock.runtime.worker import WORKER, LevelTask, Passed

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession

    from penstock.graph.transformations import CatalystSegment

Definition = Callable[[], bytes]
_BATCH_ROWS = 1 << 16


@dataclass(frozen=True)
class TaskSource:
    """Finds, inside a task, what the task is to do.

    Attributes:
        tasks: Those of its level; Spark's partition i is task `order[i]`.
        following: Those of the next level; None on the last one.
    """

    submission: str
    definition: Definition
    level: int
    tasks: LevelTasks
    order: tuple[int, ...]
    following: LevelTasks | None

    def task(self) -> LevelTask:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        SURVIVORS.before_task()
        plan = receive_plan(self.level, lambda: self.job().storage)
        mine = self.tasks.members[self.order[context.partitionId()]]
        return LevelTask(self.submission, self.definition, plan, self.following, mine)

    def job(self) -> JobDefinition:
        return WORKER.job(self.submission, self.definition)

    def out(self, rows: Iterable[Any]) -> Iterator[bytes]:
        """Rows as they leave the level: towards a shuffle, or pickled for the driver."""
        if self.following is not None:
            return keyed_bytes(rows)
        return (pickle.dumps([row], protocol=5) for row in rows)


def staged(
    context: SparkContext,
    session: SparkSession,
    rows: Any,
    source: TaskSource,
    segments: list[CatalystSegment],
) -> Any:
    """The acts of a stage over the rows of its partitions (a JVM RDD of pickled rows); gives such an RDD."""
    from pyspark.sql import DataFrame

    jvm: Any = context._jvm
    binary = jvm.org.apache.spark.sql.Encoders.BINARY()
    frame = DataFrame(session._jsparkSession.createDataset(rows.rdd(), binary).toDF(), session)
    frame = frame.mapInArrow(_FirstAct(source, 0).__call__, segments[0].input_schema)
    for act, segment in enumerate(segments, start=1):
        computed = _computed(session, frame, segment)
        if act < len(segments):
            frame = computed.mapInArrow(_MiddleAct(source, act).__call__, segments[act].input_schema)
        else:
            frame = computed.mapInArrow(_LastAct(source, act).__call__, "value BINARY")
    return getattr(frame._jdf, "as")(binary).javaRDD()


def _computed(session: SparkSession, frame: DataFrame, segment: CatalystSegment) -> DataFrame:
    import uuid

    view = f"penstock_segment_{uuid.uuid4().hex}"
    frame.createOrReplaceTempView(view)
    if segment.prepare is not None:
        segment.prepare(session)
    computed = session.sql(segment.text.replace("{view}", view))
    session.catalog.dropTempView(view)
    return computed


@dataclass(frozen=True)
class _Act:
    source: TaskSource
    act: int

    def _schema(self) -> pa.Schema:
        """Columns of the segment behind this act."""
        job = self.source.job()
        stage, _ = job.stages.locate(self.source.level, self.source.task().partition)
        segment = job.graph.edges[stage.segments[self.act]].partitioner.segment
        assert segment is not None
        types = [arrow_type(f.data_type) for f in segment.input_type.fields]
        types += [pa.int8(), pa.int64(), pa.int64()]
        return pa.schema(list(zip(names(len(types) - 3), types, strict=True)))

    def _batches(self, tables: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
        schema = self._schema()
        for table in tables:
            yield from table.cast(schema).to_batches(_BATCH_ROWS)

    def _path(self, act: int) -> str:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        folder = os.path.join(self.source.job().local_dir, "acts")
        os.makedirs(folder, exist_ok=True)
        return os.path.join(folder, f"{context.taskAttemptId()}-{act}")

    def _leave(self, passed: Passed) -> None:
        with open(self._path(self.act), "wb") as file:
            pickle.dump(passed, file, protocol=5)

    def _taken_over(self) -> Passed:
        path = self._path(self.act - 1)
        with open(path, "rb") as file:
            passed: Passed = pickle.load(file)
        os.unlink(path)
        return passed


class _FirstAct(_Act):
    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        passed = Passed()
        rows = (row for b in batches for packed in b.column(0).to_pylist() for row in pickle.loads(packed))
        yield from self._batches(self.source.task().first_act(rows, passed))
        self._leave(passed)


class _MiddleAct(_Act):
    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        passed = Passed()
        tables = _tables(batches)
        yield from self._batches(self.source.task().later_act(self.act, self._taken_over(), tables, passed))
        self._leave(passed)


class _LastAct(_Act):
    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        passed, task = Passed(), self.source.task()
        tables = _tables(batches)
        for _ in task.later_act(self.act, self._taken_over(), tables, passed):
            raise AssertionError("a table behind the last act")
        for packed in self.source.out(task.last_rows(passed)):
            yield pa.RecordBatch.from_arrays([pa.array([packed], pa.binary())], names=["value"])


def _tables(batches: Iterator[pa.RecordBatch]) -> list[pa.Table]:
    return [renamed(pa.Table.from_batches([b])) for b in batches if b.num_rows]
