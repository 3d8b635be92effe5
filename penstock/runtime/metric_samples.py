"""A job's statistics as metrics under Flink's names: the only place where reporters and statistics meet.

    jm          this driver             numRunningJobs
    jm-job      the job                 uptime, numRestarts, checkpoints, and ours: epochs and their lengths
    task        a subtask of a stage    records, bytes, busy, back-pressured and idle time, watermark
    operator    a subtask of an operator in a stage: records, watermarks, lags of sources, and what functions count

Nothing is kept here but copies of totals for rates; values are read when a reporter asks. What a subtask counts is
known when its epoch has been committed, so all numbers are of committed epochs.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from typing import Any

from penstock.common.ids import MAX_WATERMARK, MIN_WATERMARK
from penstock.graph.ids import operator_id, vertex_id
from penstock.graph.plan import display_name
from penstock.graph.stages import Stage
from penstock.metrics.samples import Sample, counter, gauge, histogram, meter
from penstock.metrics.scope import Scope
from penstock.runtime.history import now_ms
from penstock.runtime.metric_values import COUNTED, is_latency, job_values, task_values
from penstock.runtime.rates import Rates
from penstock.runtime.statistics import JobStatistics, OperatorTotals, SubtaskTotals

__all__ = ["JobMetrics"]


class JobMetrics:
    """Gives the samples of one job whenever it is called."""

    def __init__(self, statistics: JobStatistics) -> None:
        self._stats = statistics
        self._operator_rates = Rates()
        self._host = self.host()
        job = statistics.job
        self._job = {"host": self._host, "job_id": job.job_id, "job_name": job.job_name}

    @staticmethod
    def host() -> str:
        return socket.gethostname()

    def __call__(self) -> Iterator[Sample]:
        stats = self._stats
        self._operator_rates.observe(
            lambda: {key: (t.records_in, t.records_out) for key, t in list(stats.operator_subtasks.items())}
        )
        yield from self._of_job()
        for stage in stats.job.stages.stages:
            for subtask in range(stage.parallelism):
                totals = stats.subtasks.get((stage.id, subtask))
                if totals is not None:
                    variables = self._task_variables(stage, subtask)
                    yield from self._of_task(stage, subtask, totals, Scope("task", variables))
                    for node_id in stage.nodes:
                        yield from self._of_operator(stage, node_id, subtask, variables)

    # -- the job ---------------------------------------------------------------------------------------

    def _of_job(self) -> Iterator[Sample]:
        scope = Scope("jm-job", self._job)
        stats = self._stats
        for name, value in job_values(stats).items():
            yield Sample(scope, name, gauge(value))
        yield Sample(scope, "epochs", counter(stats.epochs))
        yield Sample(scope, "numRecordsRead", counter(stats.records_read))
        recent = list(stats.recent)
        yield Sample(scope, "epochDuration", histogram(timing.total_ms for timing in recent))
        for part in ("planning_ms", "launching_ms", "working_ms", "committing_ms"):
            name = part.removesuffix("_ms").capitalize()
            yield Sample(
                scope, f"lastEpoch{name}Time", gauge(round(getattr(recent[-1], part), 3) if recent else -1)
            )

    # -- subtasks of stages ----------------------------------------------------------------------------

    def _task_variables(self, stage: Stage, subtask: int) -> dict[str, str]:
        stats = self._stats
        host = stats.workers.get((stage.id, subtask), ("", 0))[0] or self._host
        names = [display_name(stats.job.graph.nodes[node]) for node in stage.nodes]
        return {
            **self._job,
            "host": host,
            "tm_id": host,
            "task_id": vertex_id(stats.job.graph, stage),
            "task_name": " -> ".join(names),
            "task_attempt_num": str(stats.restarts),
            "subtask_index": str(subtask),
        }

    def _of_task(self, stage: Stage, subtask: int, totals: SubtaskTotals, scope: Scope) -> Iterator[Sample]:
        values = task_values(self._stats, stage, subtask, totals)
        for name in COUNTED:
            count = values.pop(name)
            yield Sample(scope, name, counter(count))
            yield Sample(scope, f"{name}PerSecond", meter(count, values.pop(f"{name}PerSecond")))
        for name, value in values.items():
            yield Sample(scope, name, gauge(int(value)))

    # -- subtasks of operators -------------------------------------------------------------------------

    def _of_operator(
        self, stage: Stage, node_id: int, subtask: int, task: Mapping[str, str]
    ) -> Iterator[Sample]:
        node = self._stats.job.graph.nodes[node_id]
        stats, key = self._stats, (node.uid, subtask)
        scope = Scope(
            "operator", {**task, "operator_id": operator_id(node.uid), "operator_name": display_name(node)}
        )
        totals = stats.operator_subtasks.get(key)
        if totals is not None:
            yield from self._flow(scope, key, totals)
            if node.is_source:
                yield from self._lag(scope, stage, subtask)
                pending = stats.pending.get(node.uid, {}).get(subtask)
                if pending is not None:
                    yield Sample(scope, "pendingRecords", gauge(pending))
        for identifier, snapshot in stats.metrics.get(key, {}).get("metrics", {}).items():
            # As in Flink it is the job that tells of latencies, since they are of a way through several tasks.
            owner = self._job_at(task) if is_latency(snapshot) else scope
            yield Sample(owner, snapshot.get("name", identifier), snapshot, snapshot.get("groups", ()))

    def _job_at(self, task: Mapping[str, str]) -> Scope:
        return Scope("tm-job", {**self._job, "host": task["host"], "tm_id": task["tm_id"]})

    def _flow(self, scope: Scope, key: tuple[Any, int], totals: OperatorTotals) -> Iterator[Sample]:
        runs = self._stats.lifecycle.end_ms < 0
        for position, (name, value) in enumerate(
            (("numRecordsIn", totals.records_in), ("numRecordsOut", totals.records_out))
        ):
            rate = self._operator_rates.per_second(key, position, value) if runs else 0.0
            yield Sample(scope, name, counter(value))
            yield Sample(scope, f"{name}PerSecond", meter(value, rate))
        # An epoch ends when everything in it has been processed: what came in has gone out.
        yield Sample(scope, "currentInputWatermark", gauge(_mark(totals.watermark)))
        yield Sample(scope, "currentOutputWatermark", gauge(_mark(totals.watermark)))

    def _lag(self, scope: Scope, stage: Stage, subtask: int) -> Iterator[Sample]:
        """Of tables the watermark is made behind the source, in the same stage: the latest counts."""
        nodes = [self._stats.job.graph.nodes[node_id].uid for node_id in stage.nodes]
        totals = [self._stats.operator_subtasks.get((uid, subtask)) for uid in nodes]
        latest = max((t.watermark for t in totals if t is not None and t.watermark is not None), default=None)
        if latest is not None and MIN_WATERMARK < latest < MAX_WATERMARK:
            yield Sample(scope, "watermarkLag", gauge(now_ms() - latest))


def _mark(watermark: int | None) -> int:
    return MIN_WATERMARK if watermark is None else watermark
