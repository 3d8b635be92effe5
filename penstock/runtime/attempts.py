"""Whether all tasks of an epoch have worked on the same output of the tasks before them.

Spark runs a task again when what it has produced is lost with its executor, also when some receivers have it already.
A second run may read more or less than the first, because a task's time is limited, or a function may throw dice.
Then receivers would have taken output of different runs, and the positions that are committed would fit only one.

So the first parcel of a channel says which run of the sender it comes from, and a receiver reports, for each edge,
what it heard from all (exclusive or: one number for any number of channels). The driver knows which run of each
sender has reported, and so what every receiver must have heard.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import xor

from penstock.graph.stream_graph import StreamEdge
from penstock.runtime.plan import JobDefinition, SubtaskReport
from penstock.runtime.routing import connects, reaches_all

ENDED = "ended"
"""The token of a subtask that has nothing more to do."""


def number_of(token: str) -> int:
    """A token as parcels carry it; 0 for a subtask that has ended, which always says the same."""
    return 0 if token == ENDED else int(token[:15], 16)


def combined(numbers: Iterable[int]) -> int:
    return reduce(xor, numbers, 0)


def are_mixed(job: JobDefinition, reports: Sequence[SubtaskReport]) -> bool:
    """True if a receiver has heard another run of a sender than the one that has reported."""
    runs: dict[int, dict[int, int]] = {}
    for report in reports:
        runs.setdefault(report.stage, {})[report.subtask] = number_of(report.token)
    by_all: dict[int, int] = {}
    for report in reports:
        for edge_id, heard in report.heard.items():
            edge = job.graph.edges[edge_id]
            senders = runs[job.stages.stage_of[edge.source]]
            if reaches_all(edge.partitioner):
                if edge_id not in by_all:
                    by_all[edge_id] = combined(senders.values())
                expected = by_all[edge_id]
            else:
                expected = combined(n for s, n in senders.items() if _connected(job, edge, s, report.subtask))
            if heard != expected:
                return True
    return False


def _connected(job: JobDefinition, edge: StreamEdge, sender: int, receiver: int) -> bool:
    source, target = job.graph.nodes[edge.source], job.graph.nodes[edge.target]
    return connects(edge.partitioner, sender, source.parallelism, receiver, target.parallelism)
