"""Every path of the interface, once: who answers it, what it takes, and why not where it is not there.

The dispatcher, the OpenAPI description and docs/rest_api.md all come from this table. `Scope` says who answers:

    SERVER   the server                           handler(context, request)
    READ     the process that runs the job        handler(job, request)
    STEER    the server, which steers the job     handler(context, port, request)
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.rest.handlers import (
    checkpoints,
    cluster,
    executors,
    jobs,
    programs,
    rescaling,
    steering,
    vertices,
)
from penstock.rest.handlers.all_jobs import all_job_metrics
from penstock.rest.messages import bad_parameter

__all__ = ["PARAMETER_KINDS", "ROUTES", "Route", "Scope", "match"]


class Scope(enum.Enum):
    SERVER = "server"
    READ = "read"
    STEER = "steer"


PARAMETER_KINDS: Mapping[str, tuple[str, str]] = {
    "jobid": ("string", "^[0-9a-fA-F]{32}$"),
    "applicationid": ("string", "^[0-9a-fA-F]{32}$"),
    "vertexid": ("string", "^[0-9a-fA-F]{32}$"),
    "triggerid": ("string", "^[0-9a-fA-F]{32}$"),
    "checkpointid": ("integer", "^[0-9]{1,18}$"),
    "subtaskindex": ("integer", "^[0-9]{1,9}$"),
    "attempt": ("integer", "^[0-9]{1,9}$"),
}
"""Type and form of path parameters; others are any text without a slash."""


@dataclass(frozen=True)
class Route:
    """One path and verb.

    Attributes:
        query: Names of query parameters with their types, `enum:A|B` for a choice.
        body: Fields of the JSON body with their types; None: it takes none.
        reason: Why it is not there; then it answers 404 with this.
        ours: Flink has no such path.
    """

    method: str
    path: str
    name: str
    handler: Callable[..., Any] | None = None
    scope: Scope = Scope.SERVER
    status: int = 200
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, str] | None = None
    reason: str | None = None
    ours: bool = False
    quick: bool = True
    """Answered without waiting for anything; others get a thread."""
    kept: bool = False
    """A read that many repeat: one answer may serve all who ask within a moment (`kept_answers.py`)."""

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", self.path) + "$")


_J, _V = "/jobs/{jobid}", "/jobs/{jobid}/vertices/{vertexid}"
_S = _V + "/subtasks/{subtaskindex}"
_GET = {"get": "string"}
_AGG = {"get": "string", "agg": "enum:min|max|sum|avg|skew"}
_OLD_RESCALE = "Flink has switched it off, too (FLINK-12312): use PUT /jobs/{jobid}/resource-requirements"
_NO_DATASETS = "cached intermediate results belong to a program and go with it"
_RUN_BODY = {
    "entryClass": "string", "programArgsList": "array", "parallelism": "integer", "jobId": "string",
    "allowNonRestoredState": "boolean", "savepointPath": "string", "restoreMode": "enum:CLAIM|NO_CLAIM",
    "claimMode": "enum:CLAIM|NO_CLAIM", "flinkConfiguration": "object",
}  # fmt: skip
_RUN_QUERY = {
    "allowNonRestoredState": "boolean", "savepointPath": "string", "programArg": "string", "entry-class": "string",
    "parallelism": "integer",
}  # fmt: skip


def _server(method: str, path: str, name: str, handler: Any, **more: Any) -> Route:
    return Route(method, path, name, handler, **more)


def _read(path: str, name: str, handler: Any, **more: Any) -> Route:
    return Route("GET", path, name, handler, Scope.READ, **{"kept": True, **more})


def _steer(method: str, path: str, name: str, handler: Any, **more: Any) -> Route:
    return Route(method, path, name, handler, Scope.STEER, **more)


def _not(method: str, path: str, name: str, reason: str) -> Route:
    return Route(method, path, name, reason=reason)


ROUTES: tuple[Route, ...] = (
    # the server
    _server("GET", "/overview", "getClusterOverview", cluster.overview, quick=False, kept=True),
    _server("GET", "/config", "getDashboardConfiguration", cluster.configuration),
    _server("DELETE", "/cluster", "shutdownCluster", cluster.shut_down),
    _server("GET", "/applications/overview", "getApplicationsOverview", cluster.applications, quick=False, kept=True),
    _server("GET", "/applications/{applicationid}", "getApplicationDetails", cluster.application, quick=False),
    _server(
        "POST", "/applications/{applicationid}/cancel", "cancelApplication", steering.cancel_application, status=202
    ),
    _not("GET", "/applications/{applicationid}/exceptions", "getApplicationExceptions",
         "an application is one job here: ask /jobs/{jobid}/exceptions"),
    _not("GET", "/applications/{applicationid}/jobmanager/config", "getJobManagerApplicationConfiguration",
         "an application is one job here: ask /jobs/{jobid}/jobmanager/config"),
    _server("GET", "/datasets", "getClusterDataSetList", cluster.datasets),
    _not("GET", "/datasets/delete/{triggerid}", "getClusterDataSetDeleteStatus", _NO_DATASETS),
    _not("DELETE", "/datasets/{datasetid}", "deleteClusterDataSet", _NO_DATASETS),
    # programs
    _server("GET", "/jars", "getJarList", programs.listed),
    _server("POST", "/jars/upload", "uploadJar", programs.upload, quick=False),
    _server("DELETE", "/jars/{jarid}", "deleteJar", programs.delete),
    _server("POST", "/jars/{jarid}/plan", "generatePlanFromJar", programs.plan, query=_RUN_QUERY, body=_RUN_BODY,
            quick=False),
    _server("POST", "/jars/{jarid}/run", "submitJobFromJar", programs.run, query=_RUN_QUERY, body=_RUN_BODY,
            quick=False),
    _not("POST", "/jars/{jarid}/run-application", "submitApplicationFromJar",
         "every program has a process of its own anyway: use /jars/{jarid}/run"),
    # the driver
    _server("GET", "/jobmanager/config", "getClusterConfigurationInfo", executors.jobmanager_config),
    _server("GET", "/jobmanager/environment", "getJobManagerEnvironment", executors.jobmanager_environment,
            quick=False),
    _server("GET", "/jobmanager/logs", "getJobManagerLogList", executors.jobmanager_logs, quick=False),
    _server("GET", "/jobmanager/logs/{logfile}", "getJobManagerLogFile", executors.jobmanager_log, quick=False,
            ours=True),
    _server("GET", "/jobmanager/log", "getJobManagerLog", executors.jobmanager_log, quick=False, ours=True),
    _server("GET", "/jobmanager/metrics", "getJobManagerMetrics", executors.jobmanager_metrics, query=_GET,
            quick=False, kept=True),
    _server("GET", "/jobmanager/thread-dump", "getJobManagerThreadDump", executors.jobmanager_threads, quick=False),
    # all jobs
    _server("GET", "/jobs", "getJobIdsWithStatusesOverview", cluster.job_ids, quick=False, kept=True),
    _server("GET", "/jobs/overview", "getJobsOverview", cluster.jobs_overview, quick=False, kept=True),
    _server("GET", "/jobs/metrics", "getAggregatedJobMetrics", all_job_metrics, quick=False, kept=True,
            query={**_AGG, "jobs": "string"}),
    # one job
    _read(_J, "getJobDetails", jobs.details),
    _steer("PATCH", _J, "cancelJob", steering.cancel, status=202, query={"mode": "enum:cancel|stop"}),
    _read(_J + "/accumulators", "getJobAccumulators", jobs.accumulators,
          query={"includeSerializedValue": "boolean"}),
    _read(_J + "/checkpoints", "getCheckpointingStatistics", checkpoints.statistics),
    _steer("POST", _J + "/checkpoints", "triggerCheckpoint", steering.trigger_checkpoint, status=202,
           body={"checkpointType": "enum:CONFIGURED|FULL|INCREMENTAL", "triggerId": "string"}),
    _read(_J + "/checkpoints/config", "getCheckpointConfig", checkpoints.configuration),
    _read(_J + "/checkpoints/details/{checkpointid}", "getCheckpointStatisticDetails", checkpoints.details),
    _read(_J + "/checkpoints/details/{checkpointid}/subtasks/{vertexid}", "getTaskCheckpointStatistics",
          checkpoints.subtasks),
    _steer("GET", _J + "/checkpoints/{triggerid}", "getCheckpointStatus", steering.checkpoint_status),
    _steer("PATCH", _J + "/clientHeartbeat", "triggerHeartbeat", steering.heartbeat, status=202,
           body={"expiredTimestamp": "integer"}),
    _read(_J + "/config", "getJobConfig", jobs.config),
    _read(_J + "/epochs", "getJobEpochs", jobs.epochs, ours=True),
    _read(_J + "/exceptions", "getJobExceptions", jobs.exceptions,
          query={"maxExceptions": "integer", "failureLabelFilter": "string"}),
    _read(_J + "/execution-result", "getJobExecutionResult", jobs.execution_result),
    _read(_J + "/jobmanager/config", "getJobManagerJobConfiguration", jobs.job_configuration),
    _server("GET", _J + "/jobmanager/environment", "getJobManagerJobEnvironment",
            executors.jobmanager_environment, quick=False),
    _server("GET", _J + "/jobmanager/log-url", "getJobManagerLogUrl", executors.jobmanager_log_url),
    _read(_J + "/metrics", "getJobMetrics", vertices.job_metrics, query=_GET),
    _read(_J + "/plan", "getJobPlan", jobs.plan),
    _read(_J + "/rescales/config", "getJobRescaleConfig", rescaling.config),
    _read(_J + "/rescales/details/{rescaleuuid}", "getJobRescaleDetails", rescaling.details),
    _read(_J + "/rescales/history", "getJobRescalesHistory", rescaling.history),
    _read(_J + "/rescales/overview", "getJobRescalesOverview", rescaling.overview),
    _read(_J + "/rescales/summary", "getJobRescalesSummary", rescaling.summary),
    _not("PATCH", _J + "/rescaling", "rescaleJob", _OLD_RESCALE),
    _not("GET", _J + "/rescaling/{triggerid}", "getRescalingStatus", _OLD_RESCALE),
    _read(_J + "/resource-requirements", "getJobResourceRequirements", rescaling.requirements),
    _steer("PUT", _J + "/resource-requirements", "updateJobResourceRequirements", rescaling.update_requirements,
           body={}, quick=False),
    _steer("POST", _J + "/savepoints", "triggerSavepoint", steering.trigger_savepoint, status=202,
           body={"target-directory": "string", "cancel-job": "boolean", "formatType": "enum:CANONICAL|NATIVE",
                 "triggerId": "string"}),
    _steer("GET", _J + "/savepoints/{triggerid}", "getSavepointStatus", steering.savepoint_status),
    _read(_J + "/sql", "getJobSql", jobs.sql, ours=True),
    _read(_J + "/status", "getJobStatusInfo", jobs.status),
    _steer("POST", _J + "/stop", "triggerStopWithSavepoint", steering.stop, status=202,
           body={"targetDirectory": "string", "drain": "boolean", "formatType": "enum:CANONICAL|NATIVE",
                 "triggerId": "string"}),
    _server("GET", _J + "/taskmanagers/{taskmanagerid}/log-url", "getTaskManagerLogUrl",
            executors.taskmanager_log_url, quick=False),
    # vertices
    _read(_V, "getJobVertexDetails", vertices.details),
    _read(_V + "/accumulators", "getJobVertexAccumulators", vertices.accumulators),
    _read(_V + "/backpressure", "getJobVertexBackPressure", vertices.back_pressure),
    _read(_V + "/flamegraph", "getJobVertexFlameGraph", vertices.flame_graph, kept=False,
          query={"type": "enum:FULL|ON_CPU|OFF_CPU", "subtaskindex": "integer"}),
    _read(_V + "/jm-operator-metrics", "getJobManagerOperatorMetrics", vertices.operator_metrics_of_driver,
          query=_GET),
    _read(_V + "/metrics", "getJobVertexMetrics", vertices.metrics, query=_GET),
    _read(_V + "/subtasks/accumulators", "getSubtasksAllAccumulators", vertices.subtask_accumulators),
    _read(_V + "/subtasks/metrics", "getAggregatedSubtaskMetrics", vertices.aggregated_metrics,
          query={**_AGG, "subtasks": "string"}),
    _read(_V + "/sample", "getJobVertexSample", vertices.sample, ours=True, kept=False),
    _read(_S, "getSubtaskCurrentAttemptDetails", vertices.subtask),
    _read(_S + "/attempts/{attempt}", "getSubtaskExecutionAttemptDetails", vertices.attempt),
    _read(_S + "/attempts/{attempt}/accumulators", "getSubtaskExecutionAttemptAccumulators",
          vertices.attempt_accumulators),
    _read(_S + "/metrics", "getSubtaskMetrics", vertices.subtask_metrics, query=_GET),
    _read(_V + "/subtasktimes", "getSubtasksTimes", vertices.subtask_times),
    _read(_V + "/taskmanagers", "getJobVertexTaskManagers", vertices.taskmanagers),
    _read(_V + "/watermarks", "getJobVertexWatermarks", vertices.watermarks),
    # savepoints
    _server("POST", "/savepoint-disposal", "triggerSavepointDisposal", steering.dispose,
            body={"savepoint-path": "string"}),
    _server("GET", "/savepoint-disposal/{triggerid}", "getSavepointDisposalStatus", steering.disposal_status),
    # executors
    _server("GET", "/taskmanagers", "getTaskManagers", executors.taskmanagers, quick=False, kept=True),
    _server("GET", "/taskmanagers/metrics", "getAggregatedTaskManagerMetrics", executors.all_taskmanager_metrics,
            query={**_AGG, "taskmanagers": "string"}, quick=False, kept=True),
    _server("GET", "/taskmanagers/{taskmanagerid}", "getTaskManagerDetails", executors.taskmanager,
            quick=False, kept=True),
    _server("GET", "/taskmanagers/{taskmanagerid}/logs", "getTaskManagerLogs", executors.taskmanager_logs,
            quick=False),
    _server("GET", "/taskmanagers/{taskmanagerid}/metrics", "getTaskManagerMetrics", executors.taskmanager_metrics,
            query=_GET, quick=False, kept=True),
    _server("GET", "/taskmanagers/{taskmanagerid}/thread-dump", "getTaskManagerThreadDump",
            executors.taskmanager_threads, quick=False),
)  # fmt: skip


@functools.cache
def _by_shape() -> dict[tuple[str, int], list[Route]]:
    """Routes by verb and number of parts, those with fewer parameters first."""
    table: dict[tuple[str, int], list[Route]] = {}
    for route in sorted(ROUTES, key=lambda r: r.path.count("{")):
        table.setdefault((route.method, route.path.count("/")), []).append(route)
    return table


def match(method: str, path: str) -> tuple[Route, dict[str, str]] | None:
    """The route for a path, with its parameters.

    Raises:
        RestError: A parameter is not of its form.
    """
    for route in _by_shape().get((method, path.count("/")), ()):
        found = route.pattern.match(path)
        if found is not None:
            parameters = found.groupdict()
            for name, value in parameters.items():
                kind = PARAMETER_KINDS.get(name)
                if kind is not None and re.match(kind[1], value) is None:
                    raise bad_parameter("path", name, value)
            return route, {k: v.lower() if k in ("jobid", "vertexid", "triggerid") else v
                           for k, v in parameters.items()}  # fmt: skip
    return None
