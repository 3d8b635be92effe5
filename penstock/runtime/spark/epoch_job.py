"""One epoch as one Spark job: a linear chain of levels with a shuffle between each two.

The chain is made of RDDs, not DataFrames. Between stages of Python functions Catalyst has nothing to
optimise, and it would plan anew for every epoch: with one exchange, on the 2-core test machine, an epoch
that does nothing took 290 ms as `mapInArrow` over `repartitionById` and 200 ms as RDDs (125 ms with Unix
sockets), and payloads pass through the JVM as plain byte arrays instead of being copied into Arrow and back.
"""

from __future__ import annotations

import functools
import pickle
import sys
import uuid
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import cloudpickle

from penstock.common.errors import InvariantError, PenstockError
from penstock.runtime.plan import JobDefinition, LevelPlan, SubtaskReport
from penstock.runtime.spark.workers import in_workers
from penstock.runtime.worker import WORKER, run_level

if TYPE_CHECKING:
    from pyspark import Broadcast, SparkContext


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
    """Runs the epochs of one job on a SparkContext."""

    def __init__(self, spark_context: SparkContext, job: JobDefinition) -> None:
        self._sc = spark_context
        self._job = job
        self._submission = uuid.uuid4().hex
        packed = pickle.dumps((_local_paths(), cloudpickle.dumps(job)))
        self._broadcast = spark_context.broadcast(packed)

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

        widths = [self._job.stages.partitions(level) for level in range(len(plans))]
        try:
            self._sc.setJobGroup(self._job.job_id, f"{self._job.job_name}: epoch {plans[0].epoch}", True)
            rdd: Any = self._sc.parallelize(range(widths[0]), widths[0]).mapPartitionsWithIndex(_no_rows)
            for plan in plans:
                following = widths[plan.level + 1] if plan.level + 1 < len(widths) else None
                body = functools.partial(
                    run_level, self._submission, _Definition(self._broadcast), plan, following
                )
                rdd = rdd.mapPartitionsWithIndex(body, preservesPartitioning=False)
                if following is not None:
                    rdd = rdd.partitionBy(following, _identity)
            return rdd.collect()
        except Py4JError as error:
            raise SparkJobError(
                f"Spark gave up epoch {plans[0].epoch}: {_first_lines(error)}",
                do="look at Spark's log (set spark.log.level=WARN) for the task that was lost",
            ) from error

    def cancel(self) -> None:
        self._sc.cancelJobGroup(self._job.job_id)

    def close(self) -> None:
        """Closes what is left of the job in the Python workers, best effort, and frees the broadcast."""
        try:
            in_workers(self._sc, functools.partial(_close_job, self._job.job_id))
            self._broadcast.destroy()
        except Exception as error:
            raise SparkJobError(f"could not close job {self._job.job_id} in the workers: {error}") from error


def _no_rows(index: int, rows: Iterator[Any]) -> Iterator[Any]:
    for _ in rows:  # a worker whose input was left unread is not used again by Spark
        pass
    return iter(())


def _identity(partition: int) -> int:
    return partition


def _close_job(job_id: str) -> None:
    WORKER.close_job(job_id)


def _local_paths() -> list[str]:
    """Where the driver finds the user's modules; on one machine the workers can look there too."""
    return [path for path in sys.path if path]


def _first_lines(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    cause = next((line for line in lines if "SparkException" in line or "Exception:" in line), None)
    return (cause or lines[0] if lines else type(error).__name__)[:500]
