"""What runs inside a Spark task: find the stage that the partition stands for and take it through the epoch.

Rows between levels are pairs (partition of the next level, item), an item being a parcel with its
destination, a finished report on its way to the driver, or the news that a task failed. A failure is data,
not an exception: Spark would run a task that raises again, which cannot help against an error in a user's
function and would ignore the job's restart strategy.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.common.errors import InvariantError, PenstockError
from penstock.runtime.plan import JobDefinition, LevelPlan, SubtaskReport
from penstock.runtime.stage import Outgoing, StageInstance, repeat_end

# Chained operators call each other: three frames per operator in a stage.
sys.setrecursionlimit(max(sys.getrecursionlimit(), 20_000))

KEPT_DEFINITIONS = 16

Row = tuple[int, Any]


class WorkerState:
    """The stages alive in this Python process, over all jobs it has served."""

    def __init__(self) -> None:
        self._instances: dict[tuple[str, str, int, int], StageInstance] = {}
        self._jobs: dict[str, JobDefinition] = {}

    def job(self, submission: str, definition: Callable[[], bytes]) -> JobDefinition:
        """The definition of one submission: a job that is started again may have changed."""
        if submission not in self._jobs:
            sys_path, pickled = pickle.loads(definition())
            sys.path.extend(p for p in sys_path if p not in sys.path)
            while len(self._jobs) >= KEPT_DEFINITIONS:
                del self._jobs[next(iter(self._jobs))]
            self._jobs[submission] = pickle.loads(pickled)
        return self._jobs[submission]

    def instance(self, job: JobDefinition, plan: LevelPlan, partition: int) -> StageInstance:
        stage, subtask = job.stages.locate(plan.level, partition)
        key = (job.job_id, plan.run_id, stage.id, subtask)
        if key not in self._instances:
            self._forget_former_runs(job.job_id, plan.run_id)
            self._instances[key] = StageInstance(job, stage, subtask, plan.attempt_number)
        return self._instances[key]

    def drop(self, instance: StageInstance, plan: LevelPlan) -> None:
        key = (instance.job.job_id, plan.run_id, instance.stage.id, instance.subtask)
        self._instances.pop(key, None)

    def _forget_former_runs(self, job_id: str, run_id: str) -> None:
        for key in [k for k in self._instances if k[0] == job_id and k[1] != run_id]:
            self._instances.pop(key).close()

    def close_job(self, job_id: str) -> int:
        """Closes everything of a job in this process; answers how many stages there were."""
        keys = [k for k in self._instances if k[0] == job_id]
        for key in keys:
            self._instances.pop(key).close()
        return len(keys)


WORKER = WorkerState()


def run_level(
    submission: str,
    definition: Callable[[], bytes],
    plan: LevelPlan,
    next_partitions: int | None,
    partition: int,
    rows: Iterable[Row],
) -> Iterator[Row]:
    """The body of one Spark task. `next_partitions` is None on the last level, whose rows go to the driver."""
    parcels, failed = [], False
    width = next_partitions or 1
    for _, item in rows:
        if isinstance(item, SubtaskReport):
            failed = failed or item.error is not None
            yield partition % width, item
        elif isinstance(item, Outgoing):
            if item.level == plan.level:
                parcels.append(item.parcel)
            else:
                yield _towards(item, plan.level, width), item
    if failed:
        return
    for item in _run(submission, definition, plan, partition, parcels):
        if isinstance(item, Outgoing):
            yield _towards(item, plan.level, width), item
        elif item.error is None:
            yield partition % width, item
        else:
            for target in range(width):  # everybody downstream must know: their input is incomplete
                yield target, item


def _towards(item: Outgoing, level: int, width: int) -> int:
    return item.partition if item.level == level + 1 else item.partition % width


def _run(
    submission: str, definition: Callable[[], bytes], plan: LevelPlan, partition: int, parcels: list[Any]
) -> Iterator[Outgoing | SubtaskReport]:
    instance = None
    try:
        job = WORKER.job(submission, definition)
        mine = plan.subtasks[partition]
        if mine.ended:
            yield from repeat_end(job, *job.stages.locate(plan.level, partition), plan, mine)
            return
        instance = WORKER.instance(job, plan, partition)
        yield from instance.run_epoch(plan, mine, parcels)
        if instance.ended:
            WORKER.drop(instance, plan)
            instance.close()
    except PenstockError as error:
        yield _failure(instance, plan, partition, error)
    except Exception as error:
        wrapped = InvariantError(f"{type(error).__name__}: {error}")
        wrapped.__cause__ = error
        wrapped.where = _last_frames(error)
        yield _failure(instance, plan, partition, wrapped)


def _failure(
    instance: StageInstance | None, plan: LevelPlan, partition: int, error: PenstockError
) -> SubtaskReport:
    if instance is not None:
        instance.abort()
        # A function that raised may have left its object half-changed: start from a fresh one.
        WORKER.drop(instance, plan)
    try:
        pickle.dumps(error)
    except Exception:
        error = PenstockError(str(error))
    return SubtaskReport(-1, partition, "", error=error)


def _last_frames(error: BaseException) -> str:
    import traceback

    return "".join(traceback.format_exception(error)[-6:])
