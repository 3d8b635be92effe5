"""One epoch as one Spark job: a linear chain of levels with a shuffle between each two.

The chain is made of RDDs, not DataFrames. Between stages of Python functions Catalyst has nothing to
optimise, and it would plan anew for every epoch: with one exchange, on the 2-core test machine, an epoch
that does nothing took 290 ms as `mapInArrow` over `repartitionById` and 200 ms as RDDs (125 ms with Unix
sockets), and payloads pass through the JVM as plain byte arrays instead of being copied into Arrow and back.
"""

from __future__ import annotations

import functools
import itertools
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from penstock.common.errors import InvariantError, PenstockError
from penstock.common.pickling import ship
from penstock.runtime.plan import JobDefinition, LevelPlan, SubtaskReport
from penstock.runtime.spark.acts import TaskSource, staged
from penstock.runtime.spark.kept_shuffles import ShuffleCleaner, shuffled
from penstock.runtime.spark.plan_delivery import PlanDelivery
from penstock.runtime.spark.results import Results
from penstock.runtime.spark.workers import in_workers
from penstock.runtime.worker import WORKER

if TYPE_CHECKING:
    from pyspark import RDD, Broadcast, SparkContext
    from pyspark.sql import SparkSession

    from penstock.graph.transformations import CatalystSegment


class SparkJobError(PenstockError):
    """Spark gave a job up: an executor or a Python worker was lost too often, or Spark itself failed."""

    code = "SPARK_JOB"
    retryable = True


class _Definition:
    """The broadcast job definition; a task calls it when its process sees the job for the first time."""

    def __init__(self, broadcast: Broadcast[bytes]) -> None:
        self._broadcast = broadcast

    def __call__(self) -> bytes:
        return self._broadcast.value


class EpochJobs:
    """Runs the epochs of one job on a SparkContext.

    The RDDs of an epoch are made when the job starts and run again for each of its epochs; what differs from epoch
    to epoch reaches the tasks beside them (`plan_delivery.py`).

    Args:
        make_session: Gives the Spark session for linear SQL; asked only if the job has some.
    """

    def __init__(
        self,
        spark_context: SparkContext,
        job: JobDefinition,
        make_session: Callable[[], SparkSession] | None = None,
    ) -> None:
        self._sc = spark_context
        self._job = job
        self._submission = uuid.uuid4().hex
        self._make_session = make_session
        packed = ship(job)
        self._broadcast = spark_context.broadcast(packed)
        self._plans = PlanDelivery(spark_context, job.storage, self._submission)
        self._cleaner = ShuffleCleaner(spark_context)
        self._chain: Results | None = None
        self._shuffles: list[int] = []
        self._session: SparkSession | None = None

    def run(self, plans: Sequence[LevelPlan]) -> list[SubtaskReport]:
        """Runs all levels and returns the report of every subtask of every stage.

        Raises:
            SparkJobError: Spark could not finish the job.
            PenstockError: A task reported it; the first one, if several did.
        """
        rows = self._submit(plans)
        reports = [item for _, item in rows if isinstance(item, SubtaskReport)]
        for report in reports:
            if report.error is not None:
                raise report.error
        expected = sum(self._job.stages.partitions(level) for level in range(len(plans)))
        if len(reports) != expected:
            raise InvariantError(f"{len(reports)} of {expected} subtasks reported")
        return reports

    def _submit(self, plans: Sequence[LevelPlan]) -> list[Any]:
        from py4j.protocol import Py4JError

        try:
            chain = self._prepared()
            self._sc.setJobGroup(self._job.job_id, f"{self._job.job_name}: epoch {plans[0].epoch}", True)
            self._plans.send(plans)
            return chain.collect()
        except (Py4JError, PySparkException) as error:
            raise SparkJobError(
                f"Spark gave up epoch {plans[0].epoch}: {_first_lines(error)}",
                do="look at Spark's log (set spark.log.level=WARN) for the task that was lost",
            ) from error

    def _prepared(self) -> Results:
        """The job's RDDs, ready to run: what their shuffles have produced before is forgotten."""
        if self._chain is not None and self._cleaner.available:
            self._cleaner.forget(self._shuffles)
            return self._chain
        self._shuffles = []
        self._chain = Results(self._sc, self._build())
        return self._chain

    def _build(self) -> RDD[Any]:
        widths = [self._job.stages.partitions(level) for level in range(len(self._job.stages.levels))]
        rdd: Any = self._sc.parallelize(range(widths[0]), widths[0]).mapPartitionsWithIndex(_no_rows)
        for level, _ in enumerate(widths):
            following = widths[level + 1] if level + 1 < len(widths) else None
            source = TaskSource(self._submission, _Definition(self._broadcast), level, following)
            rdd = self._level(rdd, source)
            if following is not None:
                rdd, shuffle = shuffled(self._sc, rdd, following)
                self._shuffles.append(shuffle)
        return rdd

    def _level(self, rows: RDD[Any], source: TaskSource) -> RDD[Any]:
        """All stages of a level: together where they have one act, each alone where it has several."""
        from pyspark import RDD
        from pyspark.serializers import BatchedSerializer, CPickleSerializer, NoOpSerializer

        parts: list[RDD[Any]] = []
        last = BatchedSerializer(CPickleSerializer()) if source.next_partitions is None else NoOpSerializer()
        stages = [self._job.stages.stages[s] for s in self._job.stages.levels[source.level]]
        for staged_alone, group in itertools.groupby(stages, key=lambda s: s.id if s.segments else None):
            members = list(group)
            mine = rows
            if len(members) < len(stages):
                mine = _pruned(
                    self._sc, rows, members[0].offset, members[-1].offset + members[-1].parallelism
                )
            if staged_alone is None:
                parts.append(_bytes_of(mine, source))
                continue
            segments = [self._segment(edge) for edge in members[0].segments]
            java = staged(self._sc, self._sql_session(), _pickled(mine), source, segments)
            parts.append(RDD(java, self._sc, NoOpSerializer()))
        together = parts[0] if len(parts) == 1 else self._sc.union(parts)
        return RDD(together._jrdd, self._sc, last)

    def _segment(self, edge: int) -> CatalystSegment:
        segment = self._job.graph.edges[edge].partitioner.segment
        assert segment is not None
        return segment

    def _sql_session(self) -> SparkSession:
        if self._session is None:
            if self._make_session is None:
                raise InvariantError("the job has linear SQL and no session for it")
            self._session = self._make_session()
        return self._session

    def cancel(self) -> None:
        self._sc.cancelJobGroup(self._job.job_id)

    def close(self) -> None:
        """Closes what is left of the job in the Python workers, best effort, and frees what Spark holds of it."""
        try:
            self._plans.discard()
            in_workers(self._sc, functools.partial(_close_job, self._job.job_id))
            if self._cleaner.available:
                self._cleaner.forget(self._shuffles)
            self._broadcast.destroy()
        except Exception as error:
            raise SparkJobError(f"could not close job {self._job.job_id} in the workers: {error}") from error


def _bytes_of(rows: RDD[Any], source: TaskSource) -> RDD[Any]:
    """The stages of a level that have one act, as an RDD of byte strings."""
    made: Any = rows.mapPartitions(functools.partial(_run_level, source))
    made._bypass_serializer = True
    made._jrdd  # noqa: B018 (decides the serializer)
    return made  # type: ignore[no-any-return]


def _run_level(source: TaskSource, rows: Iterator[Any]) -> Iterator[bytes]:
    return source.out(source.task().rows(rows))


def _pickled(rows: RDD[Any]) -> Any:
    """The JVM's RDD of pickled lists of rows."""
    return rows._jrdd


def _pruned(context: SparkContext, rows: RDD[Any], first: int, end: int) -> RDD[Any]:
    """Some partitions of an RDD, which keep their order."""
    from pyspark import RDD

    jvm: Any = context._jvm
    wanted = jvm.PythonUtils.toSeq(list(range(first, end))).toSet()
    some = jvm.org.apache.spark.rdd.PartitionPruningRDD.create(rows._jrdd.rdd(), wanted)
    return RDD(some.toJavaRDD(), context, rows._jrdd_deserializer)


def _no_rows(index: int, rows: Iterator[Any]) -> Iterator[Any]:
    for _ in rows:  # a worker whose input was left unread is not used again by Spark
        pass
    return iter(())


def _close_job(job_id: str) -> None:
    WORKER.close_job(job_id)


def _first_lines(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    cause = next((line for line in lines if "SparkException" in line or "Exception:" in line), None)
    return (cause or lines[0] if lines else type(error).__name__)[:500]
