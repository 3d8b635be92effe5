"""Stacks of a vertex as Flink's flame graphs have them: a tree of frames, each with how often it was seen."""

from __future__ import annotations

from typing import Any

from penstock.runtime.profiling import Profile

__all__ = ["DISABLED", "KINDS", "TERMINATED", "flame_graph"]

KINDS = ("FULL", "ON_CPU", "OFF_CPU")
TERMINATED, DISABLED, _WAITING = {"endTimestamp": -1}, {"endTimestamp": -2}, {"endTimestamp": -3}
"""What Flink answers where there is no graph: the job has ended, it is switched off, nothing has been seen yet."""


def flame_graph(profile: Profile, kind: str = "FULL", subtask: int | None = None) -> dict[str, Any]:
    """
    >>> stacks = {(("a:1", "b:2"), True): 3, (("a:1",), False): 1}
    >>> graph = flame_graph(Profile(7, {0: stacks}))
    >>> graph["endTimestamp"], graph["data"]["value"], graph["data"]["children"][0]["children"][0]
    (7, 4, {'name': 'b:2', 'value': 3, 'children': []})
    """
    if not profile.end_ms:
        return dict(_WAITING)
    root: dict[str, Any] = {"name": "root", "value": 0, "children": {}}
    for index, stacks in profile.subtasks.items():
        if subtask is not None and index != subtask:
            continue
        for (frames, on_cpu), count in stacks.items():
            if kind == "FULL" or on_cpu == (kind == "ON_CPU"):
                _add(root, frames, count)
    return {"endTimestamp": profile.end_ms, "data": _listed(root)}


def _add(node: dict[str, Any], frames: tuple[str, ...], count: int) -> None:
    node["value"] += count
    for name in frames:
        node = node["children"].setdefault(name, {"name": name, "value": 0, "children": {}})
        node["value"] += count


def _listed(node: dict[str, Any]) -> dict[str, Any]:
    """Children as a list, the largest first."""
    children = sorted(node["children"].values(), key=lambda child: -child["value"])
    return {"name": node["name"], "value": node["value"], "children": [_listed(child) for child in children]}
