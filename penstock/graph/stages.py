"""How a stream graph is cut for Spark: stages, and levels of stages.

A *stage* is a set of operators that one Spark task runs together: whatever is connected by forward edges of
equal parallelism, branches and unions included. An edge that moves elements between subtasks is an
*exchange*, and costs one Spark shuffle. All stages that are the same number of exchanges away from the
sources form a *level*, and a level is one Spark stage, its partitions being the subtasks of all its stages:

                 level 0                 level 1              level 2
    partition 0  source A, subtask 0     join, subtask 0      sink, subtask 0
    partition 1  source A, subtask 1     join, subtask 1
    partition 2  source B, subtask 0

So a job is one linear chain of Spark stages whatever the shape of its graph: one Spark job per epoch, and
nothing to persist where the graph branches. An edge that skips a level is relayed, as bytes, by the tasks in
between.

A stage with linear SQL that only Catalyst can compute runs in *acts*: a Python process, Catalyst, another Python
process, all within one Spark task. The nodes behind the first such edge are act 1, and so on; between two acts
there is always exactly one segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.graph.stream_graph import StreamEdge, StreamGraph
from penstock.graph.transformations import PartitionerKind


@dataclass(frozen=True)
class Stage:
    """Operators that run together in one task per subtask. `offset` is the stage's first partition."""

    id: int
    level: int
    offset: int
    parallelism: int
    nodes: tuple[int, ...]
    local_edges: tuple[int, ...]
    exchanges_in: tuple[int, ...]
    exchanges_out: tuple[int, ...]
    acts: tuple[tuple[int, ...], ...] = ()
    segments: tuple[int, ...] = ()
    """The edge whose segment stands between act i and act i + 1."""

    def act_of(self, node_id: int) -> int:
        return next(i for i, nodes in enumerate(self.acts) if node_id in nodes)


@dataclass(frozen=True)
class StagePlan:
    """All stages; `levels[k]` lists the ids of the stages of level k."""

    stages: tuple[Stage, ...]
    levels: tuple[tuple[int, ...], ...]
    stage_of: dict[int, int]

    def partitions(self, level: int) -> int:
        return sum(self.stages[s].parallelism for s in self.levels[level])

    def locate(self, level: int, partition: int) -> tuple[Stage, int]:
        """The stage and subtask that a partition of a level stands for."""
        for stage_id in self.levels[level]:
            stage = self.stages[stage_id]
            if partition < stage.offset + stage.parallelism:
                return stage, partition - stage.offset
        raise IndexError(f"level {level} has no partition {partition}")


def plan_stages(graph: StreamGraph) -> StagePlan:
    """Cuts the graph; stages are numbered level by level."""
    level = _levels(graph)
    groups = _fuse(graph, level)
    stages: list[Stage] = []
    levels: list[tuple[int, ...]] = []
    stage_of: dict[int, int] = {}
    for depth in range(max(level) + 1):
        offset, ids = 0, []
        for nodes in (g for g in groups if level[g[0]] == depth):
            stage = _stage(graph, level, len(stages), depth, offset, nodes)
            offset += stage.parallelism
            ids.append(stage.id)
            stage_of.update(dict.fromkeys(nodes, stage.id))
            stages.append(stage)
        levels.append(tuple(ids))
    return StagePlan(tuple(stages), tuple(levels), stage_of)


def _levels(graph: StreamGraph) -> list[int]:
    """The number of exchanges on the longest way from a source to each node."""
    level = [0] * len(graph.nodes)
    for node in graph.nodes:
        for edge in graph.inputs_of(node.id):
            level[node.id] = max(level[node.id], level[edge.source] + (not graph.is_local(edge)))
    return level


def _is_fused(graph: StreamGraph, level: Sequence[int], edge: StreamEdge) -> bool:
    return graph.is_local(edge) and level[edge.source] == level[edge.target]


def _fuse(graph: StreamGraph, level: Sequence[int]) -> list[list[int]]:
    """Connected components over the fused edges, each in topological order."""
    parent = list(range(len(graph.nodes)))

    def find(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for edge in graph.edges:
        if _is_fused(graph, level, edge):
            a, b = find(edge.source), find(edge.target)
            parent[max(a, b)] = min(a, b)
    groups: dict[int, list[int]] = {}
    for node in graph.nodes:
        groups.setdefault(find(node.id), []).append(node.id)
    return list(groups.values())


def _stage(
    graph: StreamGraph, level: Sequence[int], stage_id: int, depth: int, offset: int, nodes: list[int]
) -> Stage:
    members = set(nodes)
    fused = [e for e in graph.edges if e.source in members and _is_fused(graph, level, e)]
    acts, segments = _acts(nodes, fused)
    return Stage(
        id=stage_id,
        level=depth,
        offset=offset,
        parallelism=graph.nodes[nodes[0]].parallelism,
        nodes=tuple(nodes),
        local_edges=tuple(e.id for e in fused),
        exchanges_in=tuple(
            e.id for e in graph.edges if e.target in members and not _is_fused(graph, level, e)
        ),
        exchanges_out=tuple(
            e.id for e in graph.edges if e.source in members and not _is_fused(graph, level, e)
        ),
        acts=acts,
        segments=segments,
    )


def _acts(
    nodes: Sequence[int], edges: Sequence[StreamEdge]
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """In which act each node of a stage runs, and the segments between the acts, in topological order."""
    act = dict.fromkeys(nodes, 0)
    segments: list[int] = []
    for node in nodes:
        for edge in (e for e in edges if e.target == node):
            if edge.partitioner.kind is PartitionerKind.CATALYST:
                segments.append(edge.id)
                act[node] = max(act[node], len(segments))
            else:
                act[node] = max(act[node], act[edge.source])
    return tuple(tuple(n for n in nodes if act[n] == i) for i in range(len(segments) + 1)), tuple(segments)
