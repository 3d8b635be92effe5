"""A job as a whole: overview, details, plan, configuration, failures, result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.common.secrets import masked
from penstock.graph.ids import vertex_id
from penstock.graph.plan import display_name
from penstock.graph.stages import Stage
from penstock.rest.views import vertices as v
from penstock.runtime.history import ExceptionRecord, now_ms
from penstock.runtime.statistics import JobStatistics

__all__ = [
    "accumulators",
    "config",
    "details",
    "epochs",
    "exceptions",
    "execution_result",
    "failures",
    "overview",
    "plan",
    "vertex_accumulators",
]

_TASK_COUNTS = (
    "running", "canceling", "canceled", "total", "created", "scheduled", "deploying", "reconciling", "finished",
    "initializing", "failed",
)  # fmt: skip
_OUTCOMES = {"FINISHED": "SUCCEEDED", "CANCELED": "CANCELED", "FAILED": "FAILED"}


def job_type(stats: JobStatistics) -> str:
    return "BATCH" if stats.job.batch_mode else "STREAMING"


def overview(stats: JobStatistics) -> dict[str, Any]:
    life = stats.lifecycle
    states = [
        v.subtask_state(stats, totals)
        for stage in stats.job.stages.stages
        for totals in v.totals_of(stats, stage)
    ]
    counts = v.count_states(states)
    tasks = {name: len(states) if name == "total" else counts[name.upper()] for name in _TASK_COUNTS}
    return {
        "jid": stats.job.job_id,
        "name": stats.job.job_name,
        "jobType": job_type(stats),
        "schedulerType": "Default",
        "start-time": life.start_ms,
        "end-time": life.end_ms,
        "duration": life.duration_ms(),
        "state": life.current,
        "last-modification": max(life.timestamps.values()),
        "tasks": tasks,
        "slots": max((stage.parallelism for stage in stats.job.stages.stages), default=0),
        "pending-operators": 0,
    }


def details(stats: JobStatistics) -> dict[str, Any]:
    life, job = stats.lifecycle, stats.job
    summaries = [v.vertex_summary(stats, stage) for stage in job.stages.stages]
    maximum = int(job.configuration.get("pipeline.max-parallelism", -1))
    return {
        "jid": job.job_id,
        "application-id": job.job_id,
        "name": job.job_name,
        "isStoppable": False,
        "state": life.current,
        "job-type": job_type(stats),
        "schedulerType": "Default",
        "start-time": life.start_ms,
        "end-time": life.end_ms,
        "duration": life.duration_ms(),
        "maxParallelism": maximum,
        "now": now_ms(),
        "timestamps": dict(life.timestamps),
        "vertices": summaries,
        "status-counts": v.count_states(s["status"] for s in summaries),
        "plan": plan(stats),
        "pending-operators": 0,
    }


def plan(stats: JobStatistics) -> dict[str, Any]:
    """The graph of vertices, sinks first as Flink lists them."""
    job = stats.job
    nodes = [_plan_node(stats, stage) for stage in reversed(job.stages.stages)]
    return {"jid": job.job_id, "name": job.job_name, "type": job_type(stats), "nodes": nodes}


def _plan_node(stats: JobStatistics, stage: Stage) -> dict[str, Any]:
    job = stats.job
    node: dict[str, Any] = {
        "id": vertex_id(job.graph, stage),
        "operator": "",
        "parallelism": stage.parallelism,
        "operator_strategy": "",
        "description": _description(stats, stage),
        "optimizer_properties": {},
    }
    inputs: list[dict[str, Any]] = []
    for edge_id in stage.exchanges_in:
        edge = job.graph.edges[edge_id]
        sender = job.stages.stages[job.stages.stage_of[edge.source]]
        entry = {
            "id": vertex_id(job.graph, sender),
            "num": len(inputs),
            "exchange": "blocking" if job.batch_mode else "pipelined_bounded",
            "ship_strategy": edge.partitioner.kind.value,
        }
        inputs.append(entry)
    if inputs:
        node["inputs"] = inputs
    return node


def _description(stats: JobStatistics, stage: Stage) -> str:
    """Flink's tree of what the operators of a chain do, as HTML with line breaks."""
    lines = []
    for depth, node_id in enumerate(stage.nodes):
        node = stats.job.graph.nodes[node_id]
        text = (node.transformation.description or display_name(node)).replace("<", "&lt;")
        lines.append(("   " * (depth - 1) + "+- " if depth else "") + text.replace("\n", " "))
    return "<br/>".join(lines) + "<br/>"


def config(stats: JobStatistics) -> dict[str, Any]:
    job = stats.job
    strategy = job.configuration.get("restart-strategy.type") or job.configuration.get("restart-strategy")
    return {
        "jid": job.job_id,
        "name": job.job_name,
        "execution-config": {
            "restart-strategy": strategy or "Cluster level default restart strategy",
            "job-parallelism": max((stage.parallelism for stage in job.stages.stages), default=1),
            "object-reuse-mode": job.configuration.get("pipeline.object-reuse", "false") == "true",
            "user-config": masked(job.job_parameters),
        },
    }


def job_configuration(stats: JobStatistics) -> list[dict[str, str]]:
    """Everything that was set for the job, secrets masked."""
    return [{"key": k, "value": value} for k, value in sorted(masked(stats.job.configuration).items())]


def exceptions(
    stats: JobStatistics, limit: int | None = None, labels: Mapping[str, str] | None = None
) -> dict[str, Any]:
    found = [r for r in stats.exceptions.listed() if _has_labels(r, labels or {})]
    shown = found if limit is None else found[:limit]
    return failures(shown, len(shown) < len(found) or stats.exceptions.total > len(stats.exceptions.recent))


def failures(shown: Sequence[ExceptionRecord], truncated: bool) -> dict[str, Any]:
    """Flink's answer for these, the newest first."""
    newest = shown[0] if shown else None
    return {
        "root-exception": newest.text if newest else None,
        "timestamp": newest.timestamp_ms if newest else None,
        "all-exceptions": [],
        "truncated": truncated,
        "exceptionHistory": {"entries": [_exception(record) for record in shown], "truncated": truncated},
    }


def _has_labels(record: ExceptionRecord, wanted: Mapping[str, str]) -> bool:
    return all(record.labels.get(key) == value for key, value in wanted.items())


def _exception(record: ExceptionRecord) -> dict[str, Any]:
    return {
        "exceptionName": record.name,
        "stacktrace": record.text,
        "timestamp": record.timestamp_ms,
        "failureLabels": dict(record.labels),
        "taskName": record.task,
        "endpoint": None,
        "taskManagerId": None,
        "concurrentExceptions": [],
    }


def accumulators(stats: JobStatistics) -> dict[str, Any]:
    return {
        "job-accumulators": [],
        "user-task-accumulators": _listed(stats.accumulators()),
        "serialized-user-task-accumulators": {},
    }


def vertex_accumulators(stats: JobStatistics, stage: Stage, index: int | None = None) -> list[dict[str, str]]:
    """The user's accumulators of a vertex, or of one of its subtasks."""
    from penstock.functions.accumulators import merge_accumulators

    uids = {stats.job.graph.nodes[node].uid for node in stage.nodes}
    reported = [
        each.get("accumulators", {})
        for (uid, subtask), each in list(stats.metrics.items())
        if uid in uids and index in (None, subtask)
    ]
    return _listed(merge_accumulators(reported))


def _listed(values: Mapping[str, Any]) -> list[dict[str, str]]:
    return [
        {"name": name, "type": type(value).__name__, "value": str(value)}
        for name, value in sorted(values.items())
    ]


def execution_result(stats: JobStatistics, failure: dict[str, Any] | None = None) -> dict[str, Any]:
    life = stats.lifecycle
    if life.end_ms < 0:
        return {"status": {"id": "IN_PROGRESS"}}
    result: dict[str, Any] = {
        "id": stats.job.job_id,
        "name": stats.job.job_name,
        "application-status": _OUTCOMES[life.current],
        "accumulator-results": {},
        "net-runtime": life.duration_ms(),
        "application-id": stats.job.job_id,
        "start-time": life.start_ms,
        "end-time": life.end_ms,
    }
    if failure is not None:
        result["failure-cause"] = failure
    return {"status": {"id": "COMPLETED"}, "job-execution-result": result}


def epochs(stats: JobStatistics) -> dict[str, Any]:
    """Ours: what each of the last epochs spent its time on."""
    return {
        "epochs": [
            {
                "epoch": int(t.epoch),
                "start-time": t.started_at_ms,
                "duration": round(t.total_ms, 1),
                "planning": round(t.planning_ms, 1),
                "launching": round(t.launching_ms, 1),
                "working": round(t.working_ms, 1),
                "committing": round(t.committing_ms, 1),
                "busy": round(t.busy_ms, 1),
                "records": t.records,
                "subtasks": t.subtasks,
                "warm": t.warm,
            }
            for t in list(stats.recent)
        ]
    }
