"""Putting the metrics of several subtasks together.

A snapshot maps metric identifiers to plain data. Merging is associative, so it does not matter in which
order subtasks report, or whether epochs or subtasks are joined first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import Any

Snapshot = dict[str, Any]
Snapshots = dict[str, Snapshot]


def merge(left: Mapping[str, Snapshot], right: Mapping[str, Snapshot]) -> Snapshots:
    """Two subtasks' snapshots as one."""
    merged = dict(left)
    for name, snapshot in right.items():
        merged[name] = _merge_one(merged[name], snapshot) if name in merged else snapshot
    return merged


def merge_all(snapshots: Iterable[Mapping[str, Snapshot]]) -> Snapshots:
    """Any number of snapshots as one."""
    return reduce(merge, snapshots, {})


def _merge_one(left: Snapshot, right: Snapshot) -> Snapshot:
    """The same metric of two subtasks; one that changed its type is taken as the later one has it."""
    if left["type"] != right["type"]:
        return right
    return _MERGERS[left["type"]](left, right)


def _counters(left: Snapshot, right: Snapshot) -> Snapshot:
    return {**left, "count": left["count"] + right["count"]}


def _meters(left: Snapshot, right: Snapshot) -> Snapshot:
    return {**_counters(left, right), "rate": left["rate"] + right["rate"]}


def _gauges(left: Snapshot, right: Snapshot) -> Snapshot:
    """Numbers keep their range, sum and count; `value` is the sum, and of other things the later one."""
    parts = [_as_range(left), _as_range(right)]
    if None in parts:
        return right
    low, high = min(p["min"] for p in parts if p), max(p["max"] for p in parts if p)
    total, count = sum(p["sum"] for p in parts if p), sum(p["count"] for p in parts if p)
    return {"type": "gauge", "value": total, "min": low, "max": high, "sum": total, "count": count}


def _as_range(gauge: Snapshot) -> Snapshot | None:
    value = gauge["value"]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return gauge if "count" in gauge else {"min": value, "max": value, "sum": value, "count": 1}


def _distributions(left: Snapshot, right: Snapshot) -> Snapshot:
    count, total = left["count"] + right["count"], left["sum"] + right["sum"]
    return {
        "type": "distribution",
        "count": count,
        "sum": total,
        "min": _extreme(min, left["min"], right["min"]),
        "max": _extreme(max, left["max"], right["max"]),
        "mean": total / count if count else None,
    }


def _extreme(choose: Callable[..., Any], left: Any, right: Any) -> Any:
    known = [value for value in (left, right) if value is not None]
    return choose(known) if known else None


_MERGERS: dict[str, Callable[[Snapshot, Snapshot], Snapshot]] = {
    "counter": _counters,
    "meter": _meters,
    "gauge": _gauges,
    "distribution": _distributions,
}
