"""What runs inside a Spark task: find the stages that its partitions stand for and take them through the epoch.

Rows between levels are pairs (task of the next level, item), an item being a parcel with its
destination, a finished report on its way to the driver, or the news that a task failed. A failure is data,
not an exception: Spark would run a task that raises again, which cannot help against an error in a user's
function and would ignore the job's restart strategy.
"""

from __future__ import annotations

import pickle
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import pyarrow as pa

from penstock.common.errors import PenstockError
from penstock.common.surroundings import Surroundings
from penstock.runtime.attempts import ENDED
from penstock.runtime.exchange import Parcel
from penstock.runtime.garbage import SURVIVORS
from penstock.runtime.layout import LevelTasks
from penstock.runtime.memory_guard import (
    GUARD,
    OverMemoryLimit,
    anonymous_bytes,
    default_limit_bytes,
    memory_error,
)
from penstock.runtime.plan import JobDefinition, LevelPlan, SubtaskReport
from penstock.runtime.profiling import profiled
from penstock.runtime.stage import Carried, Item, Outgoing, StageInstance, repeat_end, towards_act
from penstock.runtime.unforeseen import placed, told

# Chained operators call each other: three frames per operator in a stage.
sys.setrecursionlimit(max(sys.getrecursionlimit(), 20_000))

KEPT_DEFINITIONS = 16
_MUCH_BYTES = 64 << 20

Row = tuple[int, Any]


class WorkerState:
    """The stages alive in this Python process, over all jobs it has served."""

    def __init__(self) -> None:
        self._instances: dict[InstanceKey, StageInstance] = {}
        self._jobs: dict[str, tuple[Surroundings, JobDefinition]] = {}

    def job(self, submission: str, definition: Callable[[], bytes]) -> JobDefinition:
        """The definition of one submission: a job that is started again may have changed."""
        if submission not in self._jobs:
            surroundings, pickled = pickle.loads(definition())
            surroundings.enter()
            while len(self._jobs) >= KEPT_DEFINITIONS:
                del self._jobs[next(iter(self._jobs))]
            self._jobs[submission] = surroundings, pickle.loads(pickled)
        surroundings, job = self._jobs[submission]
        surroundings.enter()  # another job may have been here in between
        return job

    def instance(self, job: JobDefinition, plan: LevelPlan, partition: int, act: int = 0) -> StageInstance:
        """The act of a stage that is here, or a new one.

        Where the subtask has committed nothing in this run of the job, an instance that has run already did so in
        vain. There is no state that would bring it back to its beginning, so it gives way to a new one.
        """
        stage, subtask = job.stages.locate(plan.level, partition)
        key = InstanceKey(job.job_id, plan.run_id, stage.id, subtask, act)
        if key in self._instances and self._instances[key].used and plan.subtasks[partition].token is None:
            self._instances.pop(key).close()
            SURVIVORS.expect_garbage()
        if key not in self._instances:
            self._forget_former_runs(job.job_id, plan.run_id)
            self._instances[key] = StageInstance(job, stage, subtask, plan.attempt_number, act)
        return self._instances[key]

    def drop(self, instance: StageInstance, plan: LevelPlan) -> None:
        key = InstanceKey(instance.job.job_id, plan.run_id, instance.stage.id, instance.subtask, instance.act)
        self._instances.pop(key, None)
        SURVIVORS.expect_garbage()

    def _forget_former_runs(self, job_id: str, run_id: str) -> None:
        for key in [k for k in self._instances if k.job_id == job_id and k.run_id != run_id]:
            self._instances.pop(key).close()
            SURVIVORS.expect_garbage()

    def close_job(self, job_id: str) -> int:
        """Closes everything of a job in this process; answers how many stages there were."""
        keys = [k for k in self._instances if k.job_id == job_id]
        for key in keys:
            self._instances.pop(key).close()
            SURVIVORS.expect_garbage()
        return len(keys)


class InstanceKey(NamedTuple):
    """Which act of which stage a worker process holds."""

    job_id: str
    run_id: str
    stage: int
    subtask: int
    act: int


WORKER = WorkerState()


@dataclass
class Passed:
    """What an act leaves to the next one of its task, beside the rows that go through Catalyst.

    Attributes:
        rows: Rows for the next level, or the driver.
        carried: Parcels for later acts.
        report: What the acts so far have to report. With an error set, the later acts do not run.
    """

    rows: list[Row] = field(default_factory=list)
    carried: list[Carried] = field(default_factory=list)
    report: SubtaskReport | None = None


@dataclass(frozen=True)
class LevelTask:
    """The task of some partitions of a level; of one, if their stage has several acts.

    Args:
        definition: Finds the job's definition; called when the process sees the job for the first time.
        following: The tasks of the next level; None on the last level, whose rows go to the driver.
    """

    submission: str
    definition: Callable[[], bytes]
    plan: LevelPlan
    following: LevelTasks | None
    partitions: tuple[int, ...]

    @property
    def partition(self) -> int:
        """The one partition of a stage with several acts."""
        (partition,) = self.partitions
        return partition

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Rows in, rows out: the task of stages with one act, one partition after the other."""
        GUARD.begin_task()
        started = time.perf_counter()
        parcels = yield from self._received(rows)
        if parcels is None:
            return
        for number, partition in enumerate(self._in_turn()):
            limit_ms = self._limit_ms(number, started)
            for item in self._run(partition, 0, parcels.pop(partition, []), (), None, limit_ms):
                if isinstance(item, Outgoing):
                    yield self._towards(item), item
                elif isinstance(item, SubtaskReport):
                    elapsed_ms = (time.perf_counter() - started) * 1000
                    yield from self._reported(replace(item, task_ms=elapsed_ms))
                    if item.error is not None:
                        return

    def _in_turn(self) -> tuple[int, ...]:
        """The partitions, each epoch beginning with another: the last ones may get no time."""
        first = self.plan.epoch % len(self.partitions)
        return self.partitions[first:] + self.partitions[:first]

    def _limit_ms(self, number: int, started: float) -> float | None:
        """The share of the task's time for its next partition."""
        if self.plan.limit_ms is None:
            return None
        left_ms = self.plan.limit_ms - (time.perf_counter() - started) * 1000
        return max(0.0, left_ms) / (len(self.partitions) - number)

    def first_act(self, rows: Iterable[Row], passed: Passed) -> Iterator[pa.Table]:
        """The first of several acts; yields what Catalyst computes on, and leaves the rest in `passed`."""
        GUARD.begin_task()
        received = self._received(rows)
        parcels: dict[int, list[Parcel]] | None = None
        while True:
            try:
                passed.rows.append(next(received))
            except StopIteration as done:
                parcels = done.value
                break
        if parcels is not None:
            yield from self._act(0, parcels.get(self.partition, []), (), passed, None)

    def later_act(
        self, act: int, before: Passed, tables: Sequence[pa.Table], passed: Passed
    ) -> Iterator[pa.Table]:
        """An act behind a segment, whose result are `tables`."""
        passed.rows, passed.report = before.rows, before.report
        if before.report is None or before.report.error is not None or before.report.token == ENDED:
            return
        job = WORKER.job(self.submission, self.definition)
        stage, _ = job.stages.locate(self.plan.level, self.partition)
        parcels = []
        for carried in before.carried:
            if stage.act_of(job.graph.edges[carried.parcel.edge].target) == act:
                parcels.append(carried.parcel)
                continue
            for item in towards_act(stage, act, carried.parcel):
                if isinstance(item, Carried):
                    passed.carried.append(item)
                else:
                    yield item
        yield from self._act(act, parcels, tables, passed, before.report.token)

    def _act(
        self, act: int, parcels: list[Parcel], tables: Sequence[pa.Table], passed: Passed, token: str | None
    ) -> Iterator[pa.Table]:
        for item in self._run(self.partition, act, parcels, tables, token):
            if isinstance(item, Outgoing):
                passed.rows.append((self._towards(item), item))
            elif isinstance(item, Carried):
                passed.carried.append(item)
            elif isinstance(item, SubtaskReport):
                passed.report = merged(passed.report, item)
            else:
                yield item

    def last_rows(self, passed: Passed) -> Iterator[Row]:
        """What leaves the task behind its last act."""
        yield from passed.rows
        if passed.report is not None:
            yield from self._reported(passed.report)

    def _received(self, rows: Iterable[Row]) -> Generator[Row, None, dict[int, list[Parcel]] | None]:
        """Passes on what is not for this level; answers the parcels by partition.

        None if the level before has failed.
        """
        parcels: dict[int, list[Parcel]] = {}
        failed = False
        for _, item in rows:
            if isinstance(item, SubtaskReport):
                failed = failed or item.error is not None
                yield self._any_task, item
            elif isinstance(item, Outgoing):
                if item.level == self.plan.level:
                    parcels.setdefault(item.partition, []).append(item.parcel)
                else:
                    yield self._towards(item), item
        return None if failed else parcels

    @property
    def _width(self) -> int:
        return 1 if self.following is None else len(self.following)

    @property
    def _any_task(self) -> int:
        """A task of the next level that takes what only has to reach the driver."""
        return self.partitions[0] % self._width

    def _towards(self, item: Outgoing) -> int:
        """The task of the next level that a parcel is for, or that carries it further."""
        if self.following is not None and item.level == self.plan.level + 1:
            return self.following.task_of[item.partition]
        return item.partition % self._width

    def _reported(self, report: SubtaskReport) -> Iterator[Row]:
        if report.error is None:
            yield self._any_task, report
        else:
            for target in range(self._width):  # everybody downstream must know: their input is incomplete
                yield target, report

    def _run(
        self,
        partition: int,
        act: int,
        parcels: list[Parcel],
        tables: Sequence[pa.Table],
        token: str | None,
        limit_ms: float | None = None,
    ) -> Iterator[Item]:
        plan = self.plan
        instance, limit_bytes = None, 0
        try:
            job = WORKER.job(self.submission, self.definition)
            limit_bytes = (
                default_limit_bytes() if job.worker_memory_bytes is None else job.worker_memory_bytes
            )
            mine = plan.subtasks[partition]
            if mine.ended:
                yield from repeat_end(job, *job.stages.locate(plan.level, partition), plan, mine)
                return
            instance = WORKER.instance(job, plan, partition, act)
            items = instance.run_epoch(plan, mine, parcels, tables, token, limit_ms)
            if instance.stage.id in plan.profiled:
                items = profiled(items)
            for item in GUARD.watched(items, limit_bytes):
                yield _with_growth(item) if isinstance(item, SubtaskReport) else item
            if instance.ended:
                WORKER.drop(instance, plan)
                instance.close()
        except PenstockError as error:
            yield _failure(instance, plan, partition, placed(error))
        except (OverMemoryLimit, MemoryError) as error:
            used_bytes = GUARD.seen_bytes or anonymous_bytes()
            yield _failure(instance, plan, partition, memory_error(error, limit_bytes, used_bytes))
        except (Exception, SystemExit) as error:
            yield _failure(instance, plan, partition, told(error))


def _with_growth(report: SubtaskReport) -> SubtaskReport:
    """The report with what the task needed; what it has freed goes back to the system if it was much."""
    growth_bytes = GUARD.growth_bytes()
    if growth_bytes > _MUCH_BYTES:
        pa.default_memory_pool().release_unused()
    return replace(report, growth_bytes=growth_bytes)


def merged(before: SubtaskReport | None, report: SubtaskReport) -> SubtaskReport:
    """The report of a stage's acts as one."""
    if before is None or report.error is not None:
        return report
    wakeups = [r.next_wakeup_ms for r in (before, report) if r.next_wakeup_ms is not None]
    return replace(
        report,
        nodes=(*before.nodes, *report.nodes),
        next_wakeup_ms=min(wakeups, default=None),
        busy_ms=before.busy_ms + report.busy_ms,
        warm=before.warm and report.warm,
        bytes_in=before.bytes_in + report.bytes_in,
        bytes_out=before.bytes_out + report.bytes_out,
        waiting=before.waiting + report.waiting,
        heard={**before.heard, **report.heard},
        sample=report.sample or before.sample,
        stacks=dict(Counter(before.stacks) + Counter(report.stacks)) if before.stacks else report.stacks,
        growth_bytes=max(before.growth_bytes, report.growth_bytes),
    )


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
        original, error = error, PenstockError(str(error))
        error.domain, error.retryable = original.domain, original.retryable
    return SubtaskReport(-1, partition, "", error=error)
