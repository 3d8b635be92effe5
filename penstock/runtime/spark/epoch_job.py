"""One epoch as one Spark job: a linear chain of levels with a shuffle between each two.

The chain is made of RDDs, not DataFrames. Between stages of Python functions Catalyst has nothing to
optimise, and it would plan anew for every epoch: with one exchange, on the 2-core test machine, an epoch
that does nothing took 290 ms as `mapInArrow` over `repartitionById` and 200 ms as RDDs (125 ms with Unix
sockets), and payloads pass through the JVM as plain byte arrays instead of being copied into Arrow and back.
"""

from __future__ import annotations

import functools
import logging
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from penstock.common.errors import InvariantError, PenstockError
from penstock.common.pickling import ship
from penstock.runtime.attempts import are_mixed
from penstock.runtime.layout import LevelTasks, lay_out
from penstock.runtime.plan import JobDefinition, LevelPlan, SubtaskReport
from penstock.runtime.spark.acts import TaskSource, staged
from penstock.runtime.spark.failures import reason_of
from penstock.runtime.spark.kept_shuffles import ShuffleCleaner, shuffled
from penstock.runtime.spark.plan_delivery import PlanDelivery
from penstock.runtime.spark.results import Results
from penstock.runtime.spark.slots import Slot, Slots, in_lane, lanes_of, located, pruned
from penstock.runtime.spark.workers import in_workers, want_imports
from penstock.runtime.worker import WORKER

if TYPE_CHECKING:
    from pyspark import RDD, Broadcast, SparkContext
    from pyspark.sql import SparkSession

    from penstock.graph.stages import Stage
    from penstock.graph.transformations import CatalystSegment


LOG = logging.getLogger(__name__)
_RUNS = 3
POOL = "penstock"
"""Where the epochs of all jobs wait for cores, in turn. Spark makes such a pool when it first hears its name. In the
one that it has by itself in fair mode, tasks that wait are ordered by the names of their stages, as texts: with more
jobs than cores those of stage 9999 would wait until stage 100000."""
_POOL_PROPERTY = "spark.scheduler.pool"


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
    to epoch reaches the tasks beside them (`plan_delivery.py`). They are made anew when executors come or go.

    Args:
        make_session: Gives the Spark session for linear SQL; asked only if the job has some.
    """

    def __init__(
        self,
        spark_context: SparkContext,
        job: JobDefinition,
        make_session: Callable[[], SparkSession] | None = None,
    ) -> None:
        want_imports(spark_context)
        self._sc = spark_context
        self._job = job
        self._submission = uuid.uuid4().hex
        self._make_session = make_session
        packed = ship(job)
        self._broadcast = spark_context.broadcast(packed)
        self._plans = PlanDelivery(spark_context, job.storage, self._submission)
        self._cleaner = ShuffleCleaner(spark_context)
        self._chain: Results | None = None
        self._places = Slots(spark_context)
        self._slots: tuple[Slot, ...] = ()
        self._shuffles: list[int] = []
        self._session: SparkSession | None = None
        self._in_pool = False

    def run(self, plans: Sequence[LevelPlan]) -> list[SubtaskReport]:
        """Runs all levels and returns the report of every subtask of every stage.

        If Spark has run a task again after some had taken its output, all of the epoch is run again.

        Raises:
            SparkJobError: Spark could not finish the job.
            PenstockError: A task reported it; the first one, if several did.
        """
        for _ in range(_RUNS):
            reports = self._run_once(plans)
            if not are_mixed(self._job, reports):
                return reports
            LOG.warning("epoch %d is run again: Spark had to repeat tasks after a loss", plans[0].epoch)
        raise SparkJobError(
            f"epoch {plans[0].epoch} was run {_RUNS} times, and each time Spark repeated tasks already in use",
            do="look at Spark's log for executors that are lost",
        )

    def _run_once(self, plans: Sequence[LevelPlan]) -> list[SubtaskReport]:
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
            self._enter_pool()
            self._sc.setJobGroup(self._job.job_id, f"{self._job.job_name}: epoch {plans[0].epoch}", True)
            self._plans.send(plans)
            rows = chain.collect()
            self._cleaner.begin(self._shuffles)
            return rows
        except (Py4JError, PySparkException) as error:
            reason, do = reason_of(str(error) or type(error).__name__)
            raise SparkJobError(
                f"Spark gave up epoch {plans[0].epoch}: {reason}", where=f"job '{self._job.job_name}'", do=do
            ) from error

    def _enter_pool(self) -> None:
        """Once: what a thread has set stays. A program that has put the thread into a pool of its own is obeyed."""
        if not self._in_pool and self._sc.getLocalProperty(_POOL_PROPERTY) is None:
            self._sc.setLocalProperty(_POOL_PROPERTY, POOL)
        self._in_pool = True

    def _prepared(self) -> Results:
        """The job's RDDs, ready to run: what their shuffles have produced before is forgotten."""
        slots = self._places.current()
        if self._cleaner.available:
            self._cleaner.forget(self._shuffles)
            if self._chain is not None and slots == self._slots:
                return self._chain
        self._slots, self._shuffles = slots, []
        self._chain = Results(self._sc, self._build())
        return self._chain

    def _build(self) -> RDD[Any]:
        levels = lay_out(self._job.stages, None if self._job.batch_mode else len(self._slots))
        first = len(levels[0])
        rdd: Any = self._sc.parallelize([], first)
        for level, tasks in enumerate(levels):
            following = levels[level + 1] if level + 1 < len(levels) else None
            rdd = self._level(located(self._sc, rdd, self._slots[: tasks.in_slots]), level, tasks, following)
            if following is not None:
                rdd, shuffle = shuffled(self._sc, rdd, len(following))
                self._shuffles.append(shuffle)
        return rdd

    def _level(self, rows: RDD[Any], level: int, tasks: LevelTasks, following: LevelTasks | None) -> RDD[Any]:
        """All tasks of a level: those of a lane together, those of a stage with several acts together."""
        from pyspark import RDD
        from pyspark.serializers import BatchedSerializer, CPickleSerializer, NoOpSerializer

        lanes = lanes_of([self._slots[task % len(self._slots)] for task in range(tasks.in_slots)])
        with_acts = self._tasks_with_acts(level, tasks)
        groups = [*lanes.values(), *(members for _, members in with_acts)]
        order = tuple(task for group in groups for task in group)
        source = TaskSource(self._submission, _Definition(self._broadcast), level, tasks, order, following)
        alone = len(groups) == 1
        parts: list[RDD[Any]] = []
        for lane, members in lanes.items():
            mine = rows if alone else pruned(self._sc, rows, members)
            parts.append(_bytes_of(self._sc, mine, source, lane))
        for stage, members in with_acts:
            mine = rows if alone else pruned(self._sc, rows, members)
            segments = [self._segment(edge) for edge in stage.segments]
            java = staged(self._sc, self._sql_session(), _pickled(mine), source, segments)
            parts.append(RDD(java, self._sc, NoOpSerializer()))
        last = BatchedSerializer(CPickleSerializer()) if following is None else NoOpSerializer()
        together = parts[0] if alone else self._sc.union(parts)
        return RDD(together._jrdd, self._sc, last)

    def _tasks_with_acts(self, level: int, tasks: LevelTasks) -> list[tuple[Stage, list[int]]]:
        stages = [self._job.stages.stages[s] for s in self._job.stages.levels[level]]
        return [
            (s, [tasks.task_of[p] for p in range(s.offset, s.offset + s.parallelism)])
            for s in stages
            if s.segments
        ]

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
            in_workers(self._sc, functools.partial(_close_job, self._job.job_id), self._slots)
            if self._cleaner.available:
                self._cleaner.forget(self._shuffles)
            self._broadcast.destroy()
        except Exception as error:
            raise SparkJobError(f"could not close job {self._job.job_id} in the workers: {error}") from error


def _bytes_of(context: SparkContext, rows: RDD[Any], source: TaskSource, lane: int) -> RDD[Any]:
    """Tasks of stages that have one act, as an RDD of byte strings."""
    made: Any = rows.mapPartitions(functools.partial(_run_level, source))
    made._bypass_serializer = True
    with in_lane(context, lane):
        made._jrdd  # noqa: B018 (decides the serializer, and the processes)
    return made  # type: ignore[no-any-return]


def _run_level(source: TaskSource, rows: Iterator[Any]) -> Iterator[bytes]:
    return source.out(source.task().rows(rows))


def _pickled(rows: RDD[Any]) -> Any:
    """The JVM's RDD of pickled lists of rows."""
    return rows._jrdd


def _close_job(job_id: str) -> None:
    WORKER.close_job(job_id)
