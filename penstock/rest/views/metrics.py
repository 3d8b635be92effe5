"""Metrics of jobs, vertices, subtasks and operators under Flink's names, as text or aggregated.

Names of a vertex begin with the number of the subtask (`0.numRecordsIn`), those of an operator with its name
(`0.Map.numRecordsIn`, and `Map.numRecordsIn` where the subtask is given). Users' own metrics stand beside them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.graph.plan import display_name
from penstock.graph.stages import Stage
from penstock.rest.views import vertices as v
from penstock.runtime.metric_values import (
    histogram_values,
    is_latency,
    job_values,
    latency_values,
    task_values,
)
from penstock.runtime.statistics import JobStatistics

Values = dict[str, Any]
_UNFIT = re.compile(r"[\s.:@&<>%*]")
AGGREGATIONS = ("min", "max", "avg", "sum", "skew")


def job_metrics(stats: JobStatistics) -> Values:
    """What Flink's JobManager tells of a job, and ours of its epochs."""
    return {
        **job_values(stats),
        **latency_values(stats),
        "epochs": stats.epochs,
        "recordsRead": stats.records_read,
        "medianEpochMs": round(stats.median_epoch_ms, 1),
    }


def subtask_metrics(stats: JobStatistics, stage: Stage, index: int) -> Values:
    """Of one subtask: its own, then those of its operators."""
    totals = v.totals_of(stats, stage)[index]
    values = task_values(stats, stage, index, totals)
    for node_id in stage.nodes:
        node = stats.job.graph.nodes[node_id]
        prefix = operator_scope(display_name(node))
        own = stats.operator_subtasks.get((node.uid, index))
        if own is not None:
            values[f"{prefix}.numRecordsIn"] = own.records_in
            values[f"{prefix}.numRecordsOut"] = own.records_out
            values[f"{prefix}.currentOutputWatermark"] = own.watermark
            values[f"{prefix}.currentInputWatermark"] = own.watermark
        reported = stats.metrics.get((node.uid, index), {}).get("metrics", {})
        for name, metric in reported.items():
            if is_latency(metric):
                continue
            values.update(_reported(f"{prefix}.{name}", metric))
    return values


def _reported(name: str, metric: Mapping[str, Any]) -> Values:
    """A metric that a function or an operator has made itself."""
    kind = metric.get("type")
    if kind == "counter":
        return {name: metric["count"]}
    if kind == "meter":
        return {name: metric["rate"]}
    if kind == "histogram":
        return histogram_values(name, metric)
    if kind == "distribution":
        return {f"{name}_{part}": metric[part] for part in ("count", "sum", "min", "max", "mean")}
    return {name: metric.get("value")}


def vertex_metrics(stats: JobStatistics, stage: Stage) -> Values:
    """Of all subtasks, each name behind the subtask's number."""
    return {
        f"{index}.{name}": value
        for index in range(stage.parallelism)
        for name, value in subtask_metrics(stats, stage, index).items()
    }


def operator_scope(name: str) -> str:
    """
    >>> operator_scope("Source: a b")
    'Source__a_b'
    """
    return _UNFIT.sub("_", name)[:80]


def as_text(value: Any) -> str:
    """
    >>> as_text(True), as_text(1.0), as_text(2)
    ('true', '1.0', '2')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def listed(values: Values, wanted: Sequence[str] | None) -> list[dict[str, str]]:
    """Flink's answer: names alone, or the values of those that were asked for and exist."""
    if wanted is None:
        return [{"id": name} for name in values]
    return [{"id": name, "value": as_text(values[name])} for name in wanted if name in values]


def aggregated(
    many: Iterable[Values], wanted: Sequence[str] | None, kinds: Sequence[str] | None
) -> list[dict[str, Any]]:
    """The same metrics of several jobs or subtasks as one; names alone if none was asked for."""
    all_values = list(many)
    if wanted is None:
        names = dict.fromkeys(name for values in all_values for name in values)
        return [{"id": name} for name in names]
    found = []
    for name in wanted:
        numbers = [_number(values.get(name)) for values in all_values]
        known = [number for number in numbers if number is not None]
        if known:
            found.append({"id": name, **_aggregate(known, kinds or AGGREGATIONS)})
    return found


def _aggregate(known: Sequence[float], kinds: Sequence[str]) -> dict[str, float]:
    average = sum(known) / len(known)
    made = {
        "min": min(known),
        "max": max(known),
        "avg": average,
        "sum": float(sum(known)),
        "skew": skew(known, average),
    }
    return {kind: made[kind] for kind in AGGREGATIONS if kind in kinds}


def skew(values: Sequence[float], average: float) -> float:
    """How unevenly values lie, in percent as in Flink: their mean distance from the mean, against the mean.

    >>> skew([5, 5], 5), skew([0, 10], 5)
    (0.0, 100.0)
    """
    if not average or len(values) < 2:
        return 0.0
    distance = sum(abs(value - average) for value in values) / len(values)
    return round(min(100.0, 100 * distance / abs(average)), 3)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)
