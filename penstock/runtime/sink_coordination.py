"""What sinks decide in the driver, once per epoch, from all that their writers have left (`SinkCoordinator`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.ids import OperatorUid
from penstock.connectors.sink import Moment, SinkCoordinator
from penstock.runtime.plan import SubtaskReport

Commits = dict[OperatorUid, list[Any]]


@dataclass(frozen=True)
class Coordinated:
    """What becomes of an epoch: its committables, what sinks want to know next time, when they want an epoch."""

    commits: Commits
    states: Mapping[OperatorUid, Any]
    wake_ms: int | None


def coordinate(
    coordinators: Mapping[OperatorUid, SinkCoordinator],
    reports: Sequence[SubtaskReport],
    states: Mapping[OperatorUid, Any],
    now_ms: int,
    final: bool,
) -> Coordinated:
    """Gathers the committables of an epoch and asks the sinks that have something to say about them.

    Changes nothing anywhere: an epoch that is not committed after all leaves no trace.
    """
    commits: Commits = {}
    watermarks: dict[OperatorUid, int] = {}
    for report in sorted(reports, key=lambda r: (r.stage, r.subtask)):
        for node in report.nodes:
            if node.committables:
                commits.setdefault(node.uid, []).extend(node.committables)
            watermarks[node.uid] = min(watermarks.get(node.uid, node.watermark), node.watermark)
    kept: dict[OperatorUid, Any] = {}
    wakeups = []
    for uid, coordinator in coordinators.items():
        moment = Moment(now_ms, watermarks[uid], final)
        taken = coordinator.at_epoch_end(commits.pop(uid, []), moment, states.get(uid))
        if taken.committables:
            commits[uid] = list(taken.committables)
        if taken.state is not None:
            kept[uid] = taken.state
        if taken.wake_ms is not None:
            wakeups.append(taken.wake_ms)
    return Coordinated(commits, kept, min(wakeups, default=None))
