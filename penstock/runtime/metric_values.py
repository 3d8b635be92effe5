"""The values of a job's metrics under Flink's names, read from its statistics when somebody asks.

Reporters (`metric_samples.py`) and the REST interface (`rest/views/metrics.py`) tell the same because both come here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.common.ids import MIN_WATERMARK
from penstock.graph.stages import Stage
from penstock.metrics.samples import QUANTILES
from penstock.runtime.history import now_ms
from penstock.runtime.statistics import JobStatistics, SubtaskTotals

__all__ = [
    "COUNTED",
    "histogram_values",
    "is_latency",
    "job_values",
    "latency_values",
    "task_values",
    "time_shares",
]

COUNTED = ("numRecordsIn", "numRecordsOut", "numBytesIn", "numBytesOut")
"""Counters of a task, in the order of `SubtaskTotals.numbers`; each has a rate, `…PerSecond`."""

_SHARE_SECONDS = 10.0
_HELD_BACK = 0.5


def job_values(stats: JobStatistics) -> dict[str, Any]:
    """What Flink's JobManager tells of a job."""
    return {**_times(stats), **_checkpoints(stats)}


def latency_values(stats: JobStatistics) -> dict[str, Any]:
    """Of markers from sources, with all ids in the names. Systems with labels are given the histograms instead."""
    found: dict[str, Any] = {}
    for reported in list(stats.metrics.values()):
        for identifier, snapshot in reported.get("metrics", {}).items():
            if is_latency(snapshot):
                found |= histogram_values(identifier, snapshot)
    return found


def is_latency(snapshot: Mapping[str, Any]) -> bool:
    """Whether it tells of markers from sources (`latency.py`): the job tells of them, not the operator."""
    groups = snapshot.get("groups", ())
    return len(groups) > 1 and groups[0] == "latency" and groups[-1][0] == "operator_subtask_index"


def histogram_values(name: str, snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """A histogram's numbers under the names that Flink's REST interface gives them."""
    parts = {
        "count": "count",
        "mean": "mean",
        "stddev": "stddev",
        "min": "min",
        "max": "max",
        "median": "p50",
    }
    parts |= {quantile: quantile for quantile in QUANTILES if quantile != "p50"}
    return {f"{name}_{part}": snapshot[held] for part, held in parts.items() if held in snapshot}


def _times(stats: JobStatistics) -> dict[str, Any]:
    life = stats.lifecycle
    since = now_ms() - life.timestamps[life.current]
    uptime = life.uptime_ms()
    return {
        "uptime": uptime,
        "downtime": 0 if life.current == "RUNNING" or life.end_ms >= 0 else since,
        "numRestarts": stats.restarts,
        "fullRestarts": stats.restarts,
        "numRescales": stats.rescales.counts["COMPLETED"],
        "initializingTime": _time_in(stats, "INITIALIZING", "CREATED"),
        "createdTime": _time_in(stats, "CREATED", "RUNNING"),
        "deployingTime": 0,
        "runningTime": uptime,
        "restartingTime": since if life.current == "RESTARTING" else 0,
        "cancellingTime": since if life.current == "CANCELLING" else 0,
        "failingTime": 0,
        "allSubTasksRunningOrFinishedTime": uptime,
    }


def _time_in(stats: JobStatistics, state: str, following: str) -> int:
    times = stats.lifecycle.timestamps
    return max(0, times[following] - times[state]) if times[following] else 0


def _checkpoints(stats: JobStatistics) -> dict[str, Any]:
    history = stats.checkpoints
    last, restored = history.latest.get("completed"), history.latest.get("restored")
    return {
        "totalNumberOfCheckpoints": history.completed + history.failed,
        "numberOfCompletedCheckpoints": history.completed,
        "numberOfFailedCheckpoints": history.failed,
        "numberOfInProgressCheckpoints": 0,
        "lastCompletedCheckpointId": last.id if last else -1,
        "lastCheckpointDuration": last.duration_ms if last else -1,
        "lastCheckpointSize": last.written_bytes if last else -1,
        "lastCheckpointFullSize": last.state_bytes if last else -1,
        "lastCheckpointMetadataSize": -1,
        "lastCheckpointCompletedTimestamp": last.ack_ms if last else -1,
        "lastCheckpointExternalPath": (last.path if last else None) or "n/a",
        "lastCheckpointProcessedData": 0,
        "lastCheckpointPersistedData": 0,
        "lastCheckpointRestoreTimestamp": restored.trigger_ms if restored else -1,
    }


def time_shares(
    stats: JobStatistics, stage: Stage, subtask: int, totals: SubtaskTotals
) -> tuple[float, float]:
    """Which part of the last seconds a subtask was busy, and which part something behind it held it back."""
    if stats.lifecycle.end_ms >= 0:
        return 0.0, 0.0
    key = (stage.id, subtask)
    busy = stats.rates.per_second(key, 4, totals.busy_ms, _SHARE_SECONDS) / 1000
    held_back = stats.rates.per_second(key, 5, totals.held_back_ms, _SHARE_SECONDS) / 1000
    return min(1.0, round(busy, 3)), min(1.0, round(held_back, 3))


def task_values(stats: JobStatistics, stage: Stage, subtask: int, totals: SubtaskTotals) -> dict[str, Any]:
    """Of one subtask of a stage."""
    runs = stats.lifecycle.end_ms < 0
    values: dict[str, Any] = {}
    for position, (name, value) in enumerate(zip(COUNTED, totals.numbers(), strict=False)):
        rate = stats.rates.per_second((stage.id, subtask), position, value) if runs else 0.0
        values[name] = int(value)
        values[f"{name}PerSecond"] = round(rate, 3)
    busy, held_back = (round(share * 1000) for share in time_shares(stats, stage, subtask, totals))
    return {
        **values,
        "busyTimeMsPerSecond": busy,
        "backPressuredTimeMsPerSecond": min(held_back, 1000 - busy),
        "idleTimeMsPerSecond": max(0, 1000 - busy - held_back) if runs else 0,
        "accumulateBusyTimeMs": round(totals.busy_ms),
        "accumulateBackPressuredTimeMs": round(totals.held_back_ms),
        "accumulateIdleTimeMs": round(stats.idle_ms(totals)),
        "isBackPressured": held_back > _HELD_BACK * 1000,
        "numRecordsWaiting": totals.waiting,
        "currentInputWatermark": MIN_WATERMARK if totals.watermark is None else totals.watermark,
    }
