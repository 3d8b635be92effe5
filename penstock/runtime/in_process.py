"""Runs the tasks of an epoch in this process, for tests: the same stages, parcels and reports, no Spark.

Rows are pickled between levels as Spark would, so what cannot travel is found here too, and subtasks share tasks as
they do on a machine of `SLOTS` cores. `interfere` lets a test fail tasks, lose worker processes (`forget`) or run a
task twice, at points of its choosing.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from penstock.common.errors import InvariantError
from penstock.common.pickling import ship
from penstock.runtime import worker
from penstock.runtime.attempts import are_mixed
from penstock.runtime.layout import lay_out
from penstock.runtime.plan import JobDefinition, LevelPlan, SubtaskReport
from penstock.runtime.worker import LevelTask, Passed, WorkerState

Evaluate = Callable[[int, pa.Table], pa.Table]
Interference = Callable[[LevelPlan, int], None]

SLOTS = 2


class InProcessEpochs:
    """An `EpochRunner` without Spark jobs; tasks run one after the other.

    Args:
        evaluate: Computes a segment of linear SQL: (edge, table before it) -> table behind it.
    """

    def __init__(
        self, job: JobDefinition, interfere: Interference | None = None, evaluate: Evaluate | None = None
    ) -> None:
        self._job = job
        self._evaluate = evaluate
        self._submission = uuid.uuid4().hex
        self._interfere = interfere
        self._definition = ship(job)
        self._tasks = lay_out(job.stages, None if job.batch_mode else SLOTS)

    def run(self, plans: Sequence[LevelPlan]) -> list[SubtaskReport]:
        rows: list[tuple[int, Any]] = []
        for plan in plans:
            rows = self._run_level(plan, rows, len(plans))
        reports = [item for _, item in rows]
        for report in reports:
            if report.error is not None:
                raise report.error
        expected = sum(self._job.stages.partitions(level) for level in range(len(plans)))
        if len(reports) != expected:
            raise InvariantError(f"{len(reports)} of {expected} subtasks reported")
        if are_mixed(self._job, reports):
            raise InvariantError("tasks have taken output of different runs of a task")
        return reports

    def _run_level(self, plan: LevelPlan, rows: list[Any], levels: int) -> list[Any]:
        last = plan.level + 1 == levels
        following = None if last else self._tasks[plan.level + 1]
        produced: list[Any] = []
        for number, partitions in enumerate(self._tasks[plan.level].members):
            if self._interfere is not None:
                for partition in partitions:
                    self._interfere(plan, partition)
            mine = [row for row in rows if row[0] == number]
            task = LevelTask(
                self._submission,
                lambda: self._definition,
                pickle.loads(pickle.dumps(plan)),
                following,
                partitions,
            )
            produced.extend(pickle.loads(pickle.dumps(self._rows(task, mine))))
        return produced

    def _rows(self, task: LevelTask, rows: list[Any]) -> list[Any]:
        stage, _ = self._job.stages.locate(task.plan.level, task.partitions[0])
        if not stage.segments:
            return list(task.rows(rows))
        passed = Passed()
        tables = list(task.first_act(rows, passed))
        for act, edge in enumerate(stage.segments, start=1):
            before, passed = pickle.loads(pickle.dumps(passed)), Passed()
            tables = list(task.later_act(act, before, self._computed(edge, tables), passed))
        return list(task.last_rows(passed))

    def _computed(self, edge: int, tables: list[pa.Table]) -> list[pa.Table]:
        if not tables:
            return []
        if self._evaluate is None:
            raise InvariantError("linear SQL, and nobody to compute it")
        return [self._evaluate(edge, pa.concat_tables(tables))]

    def cancel(self) -> None:
        """A running epoch cannot be interrupted here; the loop stops after it."""

    def close(self) -> None:
        worker.WORKER.close_job(self._job.job_id)


def forget() -> None:
    """As if the worker process had been killed: nothing is closed, everything in memory is lost."""
    worker.WORKER = WorkerState()
