"""Vertices and subtasks of a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.common.configuration import Configuration
from penstock.common.options import option
from penstock.graph.stages import Stage
from penstock.rest.handlers.executors import aggregations
from penstock.rest.messages import Answer, Request, RestError, bad_parameter, not_found
from penstock.rest.views import flamegraph as graphs
from penstock.rest.views import jobs as job_views
from penstock.rest.views import metrics as m
from penstock.rest.views import vertices as v
from penstock.runtime.running_job import RunningJob
from penstock.runtime.statistics import JobStatistics


def _view(make: Callable[[JobStatistics, Stage], Any]) -> Callable[[RunningJob, Request], Answer]:
    def handler(job: RunningJob, request: Request) -> Answer:
        return Answer(make(job.statistics, _stage(job, request)))

    return handler


def _stage(job: RunningJob, request: Request) -> Stage:
    vertex = request.parameters["vertexid"]
    stage = v.find_stage(job.statistics, vertex)
    if stage is None:
        raise not_found(f"JobVertex {vertex} not found")
    return stage


details = _view(v.vertex_details)
back_pressure = _view(v.back_pressure)
subtask_times = _view(v.subtask_times)
taskmanagers = _view(v.vertex_taskmanagers)
watermarks = _view(v.watermarks)
operator_metrics_of_driver = _view(lambda stats, stage: [])


def accumulators(job: RunningJob, request: Request) -> Answer:
    stage = _stage(job, request)
    found = job_views.vertex_accumulators(job.statistics, stage)
    return Answer({"id": request.parameters["vertexid"], "user-accumulators": found})


def subtask_accumulators(job: RunningJob, request: Request) -> Answer:
    stage, stats = _stage(job, request), job.statistics
    subtasks = [
        {
            "subtask": i,
            "attempt": stats.restarts,
            "endpoint": v.subtask_details(stats, stage, i)["endpoint"],
            "user-accumulators": job_views.vertex_accumulators(stats, stage, i),
        }
        for i in range(stage.parallelism)
    ]
    body = {"id": request.parameters["vertexid"], "parallelism": stage.parallelism, "subtasks": subtasks}
    return Answer(body)


def _index(stage: Stage, request: Request) -> int:
    index = int(request.parameters["subtaskindex"])
    if not 0 <= index < stage.parallelism:
        raise not_found(f"Invalid subtask index for vertex {request.parameters['vertexid']}")
    return index


def subtask(job: RunningJob, request: Request) -> Answer:
    stage = _stage(job, request)
    return Answer(v.subtask_details(job.statistics, stage, _index(stage, request)))


def attempt(job: RunningJob, request: Request) -> Answer:
    """Attempts before the current one are not remembered."""
    _check_attempt(job, request)
    return subtask(job, request)


def _check_attempt(job: RunningJob, request: Request) -> None:
    stage = _stage(job, request)
    _index(stage, request)
    if int(request.parameters["attempt"]) != job.statistics.restarts:
        raise not_found(f"Invalid attempt num {request.parameters['attempt']}")


def attempt_accumulators(job: RunningJob, request: Request) -> Answer:
    _check_attempt(job, request)
    stage = _stage(job, request)
    index = _index(stage, request)
    return Answer(
        {
            "subtask": index,
            "attempt": job.statistics.restarts,
            "id": request.parameters["vertexid"],
            "user-accumulators": job_views.vertex_accumulators(job.statistics, stage, index),
        }
    )


def metrics(job: RunningJob, request: Request) -> Answer:
    values = m.vertex_metrics(job.statistics, _stage(job, request))
    return Answer(m.listed(values, request.several("get")))


def subtask_metrics(job: RunningJob, request: Request) -> Answer:
    stage = _stage(job, request)
    values = m.subtask_metrics(job.statistics, stage, _index(stage, request))
    return Answer(m.listed(values, request.several("get")))


def aggregated_metrics(job: RunningJob, request: Request) -> Answer:
    stage = _stage(job, request)
    chosen = _chosen(request.several("subtasks"), stage.parallelism)
    values = [m.subtask_metrics(job.statistics, stage, i) for i in chosen]
    return Answer(m.aggregated(values, request.several("get"), aggregations(request)))


def _chosen(ranges: list[str] | None, parallelism: int) -> list[int]:
    """
    >>> _chosen(["0", "2-3"], 8)
    [0, 2, 3]
    """
    if not ranges:
        return list(range(parallelism))
    found: set[int] = set()
    for part in ranges:
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise bad_parameter("query", "subtasks", part)
        end = int(last) if dash else int(first)
        found.update(range(int(first), min(end, parallelism - 1) + 1))
    return sorted(i for i in found if i < parallelism)


def job_metrics(job: RunningJob, request: Request) -> Answer:
    return Answer(m.listed(m.job_metrics(job.statistics), request.several("get")))


def sample(job: RunningJob, request: Request) -> Answer:
    """Ours: some of the rows that left the vertex in its last epoch. The first look starts the watching."""
    stage = _stage(job, request)
    if not sampling_allowed(job.statistics.job.configuration):
        raise RestError(403, "Rows are not shown: penstock.web.sample.enable is false.")
    found = job.coordinator.sampling.look(stage.id)
    return Answer({"columns": list(found.columns), "rows": [list(row) for row in found.rows]})


def flame_graph(job: RunningJob, request: Request) -> Answer:
    """What the vertex's code is doing. The first look starts the watching, as in Flink."""
    stage = _stage(job, request)
    kind = (request.one("type") or "FULL").upper()
    if kind not in graphs.KINDS:
        raise bad_parameter("query", "type", request.one("type") or "")
    subtask = request.integer("subtaskindex")
    if subtask is not None and not 0 <= subtask < stage.parallelism:
        raise not_found(f"Invalid subtask index for vertex {request.parameters['vertexid']}")
    settings = Configuration.from_dict(dict(job.statistics.job.configuration))
    if not settings.get(option("rest.flamegraph.enabled")):
        return Answer(graphs.DISABLED)
    if job.statistics.lifecycle.end_ms >= 0:
        return Answer(graphs.TERMINATED)
    return Answer(graphs.flame_graph(job.coordinator.profiling.look(stage.id), kind, subtask))


def sampling_allowed(settings: Mapping[str, str]) -> bool:
    return Configuration.from_dict(dict(settings)).get(option("penstock.web.sample.enable")) is True
