"""What a job remembers of its epochs."""

from __future__ import annotations

from typing import Any

from penstock.checkpoint.handles import OperatorSubtaskState
from penstock.common.ids import EpochId
from penstock.runtime.plan import NodeReport, SubtaskReport
from penstock.runtime.statistics import JobStatistics


def report(subtask: int, **counters: int) -> SubtaskReport:
    metrics = {name: {"type": "counter", "count": count} for name, count in counters.items()}
    node: Any = NodeReport("window", OperatorSubtaskState(), metrics={"metrics": metrics})  # type: ignore[arg-type]
    return SubtaskReport(0, subtask, "", (node,))


def test_counters_of_operators_add_up_over_subtasks_each_of_which_counts_on() -> None:
    statistics = JobStatistics(job=None)  # type: ignore[arg-type]
    statistics.epoch_done(EpochId(1), [report(0, numLateRecordsDropped=2), report(1)], 1, 1)
    statistics.epoch_done(
        EpochId(2), [report(0, numLateRecordsDropped=2), report(1, numLateRecordsDropped=1)], 1, 1
    )
    (totals,) = statistics.operators.values()
    assert totals.counters == {"numLateRecordsDropped": 3}
    assert statistics.accumulators() == {}


def test_epochs_end_while_their_median_is_read() -> None:
    stats = JobStatistics(None)  # type: ignore[arg-type]

    class Timing:
        @property
        def total_ms(self) -> float:
            stats.recent.append(self)  # type: ignore[arg-type]
            return 5.0

    stats.recent.extend([Timing(), Timing()])  # type: ignore[list-item]
    assert stats.median_epoch_ms == 5.0 and len(stats.recent) == 4
