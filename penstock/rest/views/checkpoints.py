"""Checkpoints of a job: counts, distributions, history, details. Every epoch is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.config_values import parse_value
from penstock.common.options import CheckpointingOptions, option
from penstock.common.time import to_millis
from penstock.graph.ids import operator_id, vertex_id
from penstock.graph.stages import Stage
from penstock.runtime.history import CheckpointRecord, SubtaskSize
from penstock.runtime.statistics import JobStatistics

__all__ = ["checkpoint_details", "configuration", "statistics", "subtask_details"]

_PARTS = ((0.5, "p50"), (0.9, "p90"), (0.95, "p95"), (0.99, "p99"), (0.999, "p999"))


def statistics(stats: JobStatistics) -> dict[str, Any]:
    history = stats.checkpoints
    seen = history.summaries()
    latest = history.latest
    nothing = summary([])
    return {
        "counts": {
            "restored": history.restored,
            "total": history.completed + history.failed,
            "in_progress": 0,
            "completed": history.completed,
            "failed": history.failed,
        },
        "summary": {
            "checkpointed_size": summary([written for _, written, _ in seen]),
            "state_size": summary([state for state, _, _ in seen]),
            "end_to_end_duration": summary([duration for _, _, duration in seen]),
            "alignment_buffered": nothing,
            "processed_data": nothing,
            "persisted_data": nothing,
        },
        "latest": {
            "completed": _listed(stats, latest.get("completed")),
            "savepoint": _listed(stats, latest.get("savepoint")),
            "failed": _listed(stats, latest.get("failed")),
            "restored": _restored(latest.get("restored")),
        },
        "history": [_listed(stats, record) for record in history.listed()],
    }


def summary(values: Sequence[int]) -> dict[str, Any]:
    """
    >>> summary([1, 2, 3])["p50"], summary([])["max"]
    (2.0, 0)
    """
    ordered = sorted(values)
    if not ordered:
        return {"min": 0, "max": 0, "avg": 0} | {name: "NaN" for _, name in _PARTS}
    parts = {name: float(ordered[min(len(ordered) - 1, int(p * len(ordered)))]) for p, name in _PARTS}
    return {"min": ordered[0], "max": ordered[-1], "avg": sum(ordered) // len(ordered)} | parts


def _restored(record: CheckpointRecord | None) -> dict[str, Any] | None:
    if record is None:
        return None
    return {
        "id": record.id,
        "restore_timestamp": record.trigger_ms,
        "is_savepoint": record.is_savepoint,
        "external_path": record.path,
    }


def _listed(
    stats: JobStatistics, record: CheckpointRecord | None, tasks: dict[str, Any] | None = None
) -> dict[str, Any] | None:
    if record is None:
        return None
    total = sum(stage.parallelism for stage in stats.job.stages.stages)
    done = record.status == "COMPLETED"
    entry: dict[str, Any] = {
        "className": "completed" if done else "failed",
        "id": record.id,
        "status": record.status,
        "is_savepoint": record.is_savepoint,
        "savepointFormat": "CANONICAL" if record.is_savepoint else None,
        "trigger_timestamp": record.trigger_ms,
        "latest_ack_timestamp": record.ack_ms,
        "checkpointed_size": record.written_bytes,
        "state_size": record.state_bytes,
        "end_to_end_duration": record.duration_ms,
        "alignment_buffered": 0,
        "processed_data": 0,
        "persisted_data": 0,
        "num_subtasks": total,
        "num_acknowledged_subtasks": total if done else 0,
        "checkpoint_type": _kind(record),
        "tasks": tasks or {},
    }
    if done:
        kept = record.is_savepoint or record is stats.checkpoints.latest.get("completed")
        return entry | {"external_path": record.path or "<checkpoint-not-externally-addressable>",
                        "discarded": not kept}  # fmt: skip
    return entry | {"failure_timestamp": record.ack_ms, "failure_message": record.failure}


def _kind(record: CheckpointRecord) -> str:
    if record.is_savepoint:
        return "SYNC_SAVEPOINT" if record.stops_job else "SAVEPOINT"
    return "CHECKPOINT"


def checkpoint_details(stats: JobStatistics, record: CheckpointRecord) -> dict[str, Any]:
    tasks = {}
    for stage in stats.job.stages.stages:
        sizes = [size for size in record.sizes if size.stage == stage.id]
        tasks[vertex_id(stats.job.graph, stage)] = _task(record, stage, sizes)
    found = _listed(stats, record, tasks)
    assert found is not None
    return found


def _task(record: CheckpointRecord, stage: Stage, sizes: Sequence[SubtaskSize]) -> dict[str, Any]:
    return {
        "id": record.id,
        "status": record.status,
        "latest_ack_timestamp": max((size.ack_ms for size in sizes), default=-1),
        "checkpointed_size": sum(size.written_bytes for size in sizes),
        "state_size": sum(size.state_bytes for size in sizes),
        "end_to_end_duration": record.duration_ms,
        "alignment_buffered": 0,
        "processed_data": 0,
        "persisted_data": 0,
        "num_subtasks": stage.parallelism,
        "num_acknowledged_subtasks": len(sizes),
    }


def subtask_details(stats: JobStatistics, record: CheckpointRecord, stage: Stage) -> dict[str, Any]:
    sizes = [size for size in record.sizes if size.stage == stage.id]
    nothing = summary([0] * len(sizes))
    return _task(record, stage, sizes) | {
        "summary": {
            "checkpointed_size": summary([size.written_bytes for size in sizes]),
            "state_size": summary([size.state_bytes for size in sizes]),
            "end_to_end_duration": summary([record.duration_ms for _ in sizes]),
            "checkpoint_duration": {
                "sync": summary([round(size.write_ms) for size in sizes]),
                "async": nothing,
            },
            "alignment": {
                "buffered": nothing,
                "processed": nothing,
                "persisted": nothing,
                "duration": nothing,
            },
            "start_delay": nothing,
        },
        "subtasks": [_subtask(stats, record, size) for size in sizes],
    }


def _subtask(stats: JobStatistics, record: CheckpointRecord, size: SubtaskSize) -> dict[str, Any]:
    """As Flink says it; `operators` are the members of the chain, which Flink does not tell apart."""
    names: dict[str, str] = {node.uid: node.name for node in stats.job.graph.nodes}
    return {
        "className": "completed",
        "index": size.subtask,
        "ack_timestamp": size.ack_ms,
        "end_to_end_duration": record.duration_ms,
        "checkpointed_size": size.written_bytes,
        "state_size": size.state_bytes,
        "checkpoint": {"sync": round(size.write_ms), "async": 0},
        "alignment": {"buffered": 0, "processed": 0, "persisted": 0, "duration": 0},
        "start_delay": 0,
        "unaligned_checkpoint": False,
        "aborted": False,
        "status": "completed",
        "operators": [
            {
                "id": operator_id(operator.uid),
                "uid": operator.uid,
                "name": names.get(operator.uid, operator.uid),
                "state_size": operator.state_bytes,
                "checkpointed_size": operator.written_bytes,
                "duration": round(operator.write_ms),
            }
            for operator in size.operators
        ],
    }


def configuration(stats: JobStatistics) -> dict[str, Any]:
    """What was set; the interval is the epoch's target if nobody said one, because every epoch is a checkpoint."""
    given = stats.job.configuration

    def value(known: Any) -> Any:
        for key in (known.key, *known.fallback_keys):
            if key in given:
                return parse_value(key, given[key], known.kind, known.values)
        return known.default

    interval = value(CheckpointingOptions.INTERVAL) or value(option("execution.epoch.target"))
    retention = str(value(CheckpointingOptions.EXTERNALIZED_RETENTION))
    return {
        "mode": str(value(CheckpointingOptions.MODE)).lower(),
        "interval": int(to_millis(interval)),
        "timeout": int(to_millis(value(CheckpointingOptions.TIMEOUT))),
        "min_pause": int(to_millis(value(CheckpointingOptions.MIN_PAUSE))),
        "max_concurrent": 1,
        "externalization": {
            "enabled": "NO_EXTERNALIZED" not in retention,
            "delete_on_cancellation": "RETAIN" not in retention,
        },
        "state_backend": {"lmdb": "LmdbStateBackend", "hashmap": "HashMapStateBackend"}.get(
            stats.job.backend, stats.job.backend
        ),
        "checkpoint_storage": "FileSystemCheckpointStorage"
        if stats.job.storage.durable
        else "JobManagerCheckpointStorage",
        "unaligned_checkpoints": False,
        "tolerable_failed_checkpoints": int(value(CheckpointingOptions.TOLERABLE_FAILURES)),
        "aligned_checkpoint_timeout": 0,
        "checkpoints_after_tasks_finish": True,
        "state_changelog_enabled": False,
        "changelog_periodic_materialization_interval": -1,
        "changelog_storage": "filesystem",
    }
