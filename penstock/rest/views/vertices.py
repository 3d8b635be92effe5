"""Vertices of a job: its stages, which are what Flink calls chains of operators, by ids that never change."""

from __future__ import annotations

import statistics as numbers
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import xxhash

from penstock.graph.ids import vertex_id
from penstock.graph.plan import display_name
from penstock.graph.stages import Stage
from penstock.runtime.history import now_ms
from penstock.runtime.metric_values import time_shares
from penstock.runtime.plan import JobDefinition
from penstock.runtime.statistics import JobStatistics, SubtaskTotals

EXECUTION_STATES = (
    "CREATED", "INITIALIZING", "CANCELED", "CANCELING", "FINISHED", "FAILED", "SCHEDULED", "RUNNING", "DEPLOYING",
    "RECONCILING",
)  # fmt: skip

STATE_OF_TASKS = {
    "INITIALIZING": "CREATED", "CREATED": "CREATED", "RUNNING": "RUNNING", "FAILING": "CANCELING",
    "FAILED": "FAILED", "CANCELLING": "CANCELING", "CANCELED": "CANCELED", "FINISHED": "FINISHED",
    "RESTARTING": "SCHEDULED", "SUSPENDED": "CANCELED", "RECONCILING": "RECONCILING",
}  # fmt: skip

_MANY_NODES = 40


def find_stage(stats: JobStatistics, vertex: str) -> Stage | None:
    stages = stats.job.stages.stages
    return next((stage for stage in stages if vertex_id(stats.job.graph, stage) == vertex), None)


def vertex_name(job: JobDefinition, stage: Stage) -> str:
    """Operators in the order of the data: `a -> b`, and `a -> (b, c)` where it goes two ways."""
    names = {node: display_name(job.graph.nodes[node]) for node in stage.nodes}
    targets: dict[int, list[int]] = {node: [] for node in stage.nodes}
    entered = Counter[int]()
    for edge_id in stage.local_edges:
        edge = job.graph.edges[edge_id]
        targets[edge.source].append(edge.target)
        entered[edge.target] += 1
    if len(stage.nodes) > _MANY_NODES or any(count > 1 for count in entered.values()):
        return " -> ".join(names.values())

    def chain(node: int) -> str:
        following = [chain(target) for target in targets[node]]
        if not following:
            return names[node]
        return f"{names[node]} -> " + (following[0] if len(following) == 1 else f"({', '.join(following)})")

    return ", ".join(chain(node) for node in stage.nodes if not entered[node])


def subtask_state(stats: JobStatistics, totals: SubtaskTotals | None) -> str:
    if totals is not None and totals.ended_ms >= 0:
        return "FINISHED"
    return STATE_OF_TASKS[stats.lifecycle.current]


def totals_of(stats: JobStatistics, stage: Stage) -> list[SubtaskTotals]:
    """Of each subtask, in order; a subtask that has not reported yet has done nothing."""
    return [stats.subtasks.get((stage.id, i)) or SubtaskTotals() for i in range(stage.parallelism)]


def count_states(states: Iterable[str]) -> dict[str, int]:
    found = Counter(states)
    return {state: found[state] for state in EXECUTION_STATES}


def io_metrics(stats: JobStatistics, totals: Sequence[SubtaskTotals]) -> dict[str, Any]:
    """Flink's eleven numbers of a subtask or a vertex."""
    return {
        "read-bytes": sum(t.bytes_in for t in totals),
        "read-bytes-complete": True,
        "write-bytes": sum(t.bytes_out for t in totals),
        "write-bytes-complete": True,
        "read-records": sum(t.records_in for t in totals),
        "read-records-complete": True,
        "write-records": sum(t.records_out for t in totals),
        "write-records-complete": True,
        "accumulated-backpressured-time": int(sum(t.held_back_ms for t in totals)),
        "accumulated-idle-time": int(sum(stats.idle_ms(t) for t in totals)),
        "accumulated-busy-time": float(round(sum(t.busy_ms for t in totals), 1)),
    }


def vertex_times(stats: JobStatistics, totals: Sequence[SubtaskTotals]) -> dict[str, int]:
    start = stats.lifecycle.timestamps["RUNNING"] or stats.lifecycle.timestamps["CREATED"]
    ends = [t.ended_ms for t in totals]
    end = max(ends) if ends and all(moment >= 0 for moment in ends) else stats.lifecycle.end_ms
    if not start:
        return {"start-time": -1, "end-time": -1, "duration": -1}
    return {
        "start-time": start,
        "end-time": end,
        "duration": max(0, (now_ms() if end < 0 else end) - start),
    }


def vertex_summary(stats: JobStatistics, stage: Stage) -> dict[str, Any]:
    """A vertex as it stands in the details of a job."""
    job, totals = stats.job, totals_of(stats, stage)
    states = [subtask_state(stats, t) for t in totals]
    return {
        "id": vertex_id(job.graph, stage),
        "slotSharingGroupId": xxhash.xxh3_128_hexdigest(job.job_id.encode()),
        "name": vertex_name(job, stage),
        "maxParallelism": max(job.graph.nodes[n].max_parallelism for n in stage.nodes),
        "parallelism": stage.parallelism,
        "status": _status_of_all(states),
        **vertex_times(stats, totals),
        "tasks": count_states(states),
        "metrics": io_metrics(stats, totals),
    }


def _status_of_all(states: Sequence[str]) -> str:
    """Finished when all are; else what those that are not finished have in common."""
    others = [state for state in states if state != "FINISHED"]
    return others[0] if others else "FINISHED"


def subtask_details(stats: JobStatistics, stage: Stage, index: int) -> dict[str, Any]:
    totals = totals_of(stats, stage)[index]
    times = vertex_times(stats, [totals])
    state = subtask_state(stats, totals)
    host, _ = stats.workers.get((stage.id, index), ("", 0))
    return {
        "subtask": index,
        "status": state,
        "attempt": stats.restarts,
        "endpoint": host or "(unassigned)",
        **times,
        "metrics": io_metrics(stats, [totals]),
        "taskmanager-id": host or "(unassigned)",
        "status-duration": {state: max(0, times["duration"])},
        "start_time": times["start-time"],
        "other-concurrent-attempts": None,
    }


def vertex_details(stats: JobStatistics, stage: Stage) -> dict[str, Any]:
    summary = vertex_summary(stats, stage)
    subtasks = [subtask_details(stats, stage, i) for i in range(stage.parallelism)]
    return {
        **{key: summary[key] for key in ("id", "name", "parallelism", "maxParallelism")},
        "now": now_ms(),
        "subtasks": subtasks,
        "aggregated": aggregated(subtasks),
    }


def aggregated(subtasks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Distributions over subtasks of what each says of itself."""
    metrics = [
        "write-records", "accumulated-backpressured-time", "accumulated-idle-time", "write-bytes", "read-bytes",
        "read-records", "accumulated-busy-time",
    ]  # fmt: skip
    durations = sorted({state for s in subtasks for state in s["status-duration"]})
    return {
        "metrics": {name: distribution([s["metrics"][name] for s in subtasks]) for name in metrics},
        "status-duration": {
            state: distribution([s["status-duration"].get(state, 0) for s in subtasks]) for state in durations
        },
    }


def distribution(values: Sequence[float]) -> dict[str, int]:
    """
    >>> distribution([4, 2])
    {'min': 2, 'max': 4, 'avg': 3, 'sum': 6, 'median': 3, 'p25': 2, 'p75': 4, 'p95': 4}
    """
    ordered = sorted(values) or [0]

    def share(part: float) -> int:
        return int(ordered[min(len(ordered) - 1, int(part * len(ordered)))])

    return {
        "min": int(ordered[0]),
        "max": int(ordered[-1]),
        "avg": int(sum(ordered) / len(ordered)),
        "sum": int(sum(ordered)),
        "median": int(numbers.median(ordered)),
        "p25": share(0.25),
        "p75": share(0.75),
        "p95": share(0.95),
    }


def subtask_times(stats: JobStatistics, stage: Stage) -> dict[str, Any]:
    details = [subtask_details(stats, stage, i) for i in range(stage.parallelism)]
    summary = vertex_summary(stats, stage)
    return {
        "id": summary["id"],
        "name": summary["name"],
        "now": now_ms(),
        "subtasks": [
            {
                "subtask": each["subtask"],
                "endpoint": each["endpoint"],
                "duration": each["duration"],
                "timestamps": _timestamps(stats, each),
            }
            for each in details
        ],
    }


def _timestamps(stats: JobStatistics, subtask: dict[str, Any]) -> dict[str, int]:
    known = dict.fromkeys(EXECUTION_STATES, 0)
    known["CREATED"] = stats.lifecycle.timestamps["CREATED"]
    known["RUNNING"] = max(0, subtask["start-time"])
    if subtask["status"] in ("FINISHED", "CANCELED", "FAILED"):
        known[subtask["status"]] = max(0, subtask["end-time"])
    return known


def vertex_taskmanagers(stats: JobStatistics, stage: Stage) -> dict[str, Any]:
    summary = vertex_summary(stats, stage)
    details = [subtask_details(stats, stage, i) for i in range(stage.parallelism)]
    hosts = sorted({each["endpoint"] for each in details})
    return {
        "id": summary["id"],
        "name": summary["name"],
        "now": now_ms(),
        "taskmanagers": [
            _on_host(stats, stage, host, [d for d in details if d["endpoint"] == host]) for host in hosts
        ],
    }


def _on_host(
    stats: JobStatistics, stage: Stage, host: str, details: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    totals = [totals_of(stats, stage)[d["subtask"]] for d in details]
    return {
        "endpoint": host,
        "status": _status_of_all([d["status"] for d in details]),
        **vertex_times(stats, totals),
        "metrics": io_metrics(stats, totals),
        "status-counts": count_states(d["status"] for d in details),
        "taskmanager-id": host,
        "aggregated": aggregated(details),
    }


def watermarks(stats: JobStatistics, stage: Stage) -> list[dict[str, str]]:
    """The watermark that each subtask has come to; nothing for those that have none yet."""
    return [
        {"id": f"{i}.currentInputWatermark", "value": str(t.watermark)}
        for i, t in enumerate(totals_of(stats, stage))
        if t.watermark is not None and t.watermark > MIN_WATERMARK
    ]


MIN_WATERMARK = -(2**63)


def back_pressure(stats: JobStatistics, stage: Stage) -> dict[str, Any]:
    """How the last seconds of each subtask were spent."""
    subtasks: list[dict[str, Any]] = []
    for index, totals in enumerate(totals_of(stats, stage)):
        busy, held_back = time_shares(stats, stage, index, totals)
        level = _level(held_back)
        subtasks.append(
            {
                "subtask": index,
                "attempt-number": stats.restarts,
                "backpressureLevel": level,
                "ratio": held_back,
                "idleRatio": max(0.0, round(1 - busy - held_back, 3)),
                "busyRatio": busy,
                "backpressure-level": level,
            }
        )
    worst = _level(max((s["ratio"] for s in subtasks), default=0.0))
    return {
        "status": "ok",
        "backpressureLevel": worst,
        "end-timestamp": now_ms(),
        "subtasks": subtasks,
        "backpressure-level": worst,
    }


def _level(ratio: float) -> str:
    """Flink's borders.

    >>> [_level(x) for x in (0.1, 0.3, 0.9)]
    ['ok', 'low', 'high']
    """
    return "ok" if ratio <= 0.1 else "low" if ratio <= 0.5 else "high"
