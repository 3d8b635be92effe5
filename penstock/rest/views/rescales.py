"""How a job has been rescaled, as Flink 2.3 tells it of jobs with the adaptive scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.graph.ids import vertex_id
from penstock.rest.views.checkpoints import summary as distribution
from penstock.rest.views.vertices import vertex_name
from penstock.runtime.history import RescaleRecord
from penstock.runtime.statistics import JobStatistics

_STATES = {"completed": "COMPLETED", "failed": "FAILED", "ignored": "IGNORED"}
_REASONS = {
    "COMPLETED": "SUCCEEDED",
    "FAILED": "EXCEPTION_OCCURRED",
    "IGNORED": "NO_RESOURCES_OR_PARALLELISMS_CHANGE",
}


def overview(stats: JobStatistics) -> dict[str, Any]:
    latest = stats.rescales.latest
    return {
        "latest": {
            name: details(stats, latest[state]) if state in latest else None
            for name, state in _STATES.items()
        },
        "rescalesCounts": _counts(stats),
    }


def history(stats: JobStatistics) -> list[dict[str, Any]]:
    return [details(stats, record) for record in stats.rescales.listed()]


def summary(stats: JobStatistics) -> dict[str, Any]:
    kept = stats.rescales.listed()
    return {
        "rescalesCounts": _counts(stats),
        "rescalesDurationStatsInMillis": _durations(kept),
        **{
            f"{name}RescalesDurationStatsInMillis": _durations([r for r in kept if r.state == state])
            for name, state in _STATES.items()
        },
    }


def config(stats: JobStatistics) -> dict[str, Any]:
    """Nothing here waits for resources: a job is rescaled after the epoch that runs."""
    mode = stats.job.configuration.get("scheduler-mode", "").upper()
    waits = (
        "executingCooldownTimeoutInMillis", "executingResourceStabilizationTimeoutInMillis",
        "maximumDelayForTriggeringRescaleInMillis", "slotIdleTimeoutInMillis",
        "submissionResourceStabilizationTimeoutInMillis", "submissionResourceWaitTimeoutInMillis",
    )  # fmt: skip
    return {
        "rescaleHistoryMax": stats.rescales.size,
        "schedulerExecutionMode": mode if mode == "REACTIVE" else None,
        "rescaleOnFailedCheckpointCount": 0,
        **dict.fromkeys(waits, 0),
    }


def details(stats: JobStatistics, record: RescaleRecord) -> dict[str, Any]:
    """One of them. There are no slots here, and one state of a scheduler: the job stands between two epochs."""
    span = {
        "state": "Executing", "enterTimestampInMillis": record.start_ms, "leaveTimestampInMillis": record.end_ms,
        "durationInMillis": record.end_ms - record.start_ms, "stringifiedException": record.failure,
    }  # fmt: skip
    return {
        "rescaleUuid": record.uuid,
        "resourceRequirementsUuid": record.uuid,
        "rescaleAttemptId": record.id,
        "vertices": _vertices(stats, record),
        "slots": {},
        "schedulerStates": [span],
        "startTimestampInMillis": record.start_ms,
        "endTimestampInMillis": record.end_ms,
        "terminalState": record.state,
        "triggerCause": record.cause,
        "terminatedReason": _REASONS[record.state],
    }


def _vertices(stats: JobStatistics, record: RescaleRecord) -> dict[str, Any]:
    found = {}
    for stage in stats.job.stages.stages:
        uid = str(stats.job.graph.nodes[stage.nodes[0]].uid)
        before, after = record.before.get(uid), record.after.get(uid)
        vertex = vertex_id(stats.job.graph, stage)
        found[vertex] = {
            "jobVertexId": vertex, "jobVertexName": vertex_name(stats.job, stage), "slotSharingGroupId": None,
            "slotSharingGroupName": None, "desiredParallelism": after, "sufficientParallelism": after,
            "preRescaleParallelism": before, "postRescaleParallelism": after,
        }  # fmt: skip
    return found


def _counts(stats: JobStatistics) -> dict[str, int]:
    return {"inProgress": 0, **{name: stats.rescales.counts[state] for name, state in _STATES.items()}}


def _durations(records: Sequence[RescaleRecord]) -> dict[str, Any]:
    return distribution([record.end_ms - record.start_ms for record in records])
