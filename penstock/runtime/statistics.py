"""What a job has done so far, for its result, the demo, the benchmarks and the dashboard."""

from __future__ import annotations

import statistics
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.common.ids import EpochId, OperatorUid
from penstock.functions.accumulators import merge_accumulators
from penstock.runtime.plan import JobDefinition, SubtaskReport

RECENT_EPOCHS = 500


@dataclass(frozen=True)
class EpochTiming:
    """How long an epoch took: all of it, and the Spark job alone.

    `warm` of its `subtasks` had their state in the memory of the process they ran in.
    """

    epoch: EpochId
    total_ms: float
    spark_ms: float
    busy_ms: float
    records: int
    subtasks: int = 0
    warm: int = 0


@dataclass
class OperatorTotals:
    """Counters of one operator over all subtasks and epochs."""

    records_in: int = 0
    records_out: int = 0
    watermark: int | None = None
    counters: Counter[str] = field(default_factory=Counter)
    """What operators count under Flink's names, such as numLateRecordsDropped."""


@dataclass
class JobStatistics:
    """Grows with every committed epoch; read from any thread."""

    job: JobDefinition
    epochs: int = 0
    restarts: int = 0
    records_read: int = 0
    recent: deque[EpochTiming] = field(default_factory=lambda: deque(maxlen=RECENT_EPOCHS))
    operators: dict[OperatorUid, OperatorTotals] = field(default_factory=dict)
    metrics: dict[tuple[OperatorUid, int], Any] = field(default_factory=dict)
    waiting: int = 0
    """Elements that the last epoch left for the next one."""
    activity: tuple[str, float] = ("starting", 0.0)
    """What the loop does now, and since when by `time.monotonic`."""

    def now(self, activity: str) -> None:
        """The loop begins something; going on with the same is no beginning."""
        if self.activity[0] != activity:
            self.activity = (activity, time.monotonic())

    def records_written(self) -> int:
        """What has arrived at the job's sinks."""
        sinks = [node.uid for node in self.job.graph.nodes if node.is_sink]
        return sum(self.operators[uid].records_in for uid in sinks if uid in self.operators)

    def epoch_done(
        self, epoch: EpochId, reports: Sequence[SubtaskReport], total_ms: float, spark_ms: float
    ) -> None:
        self.epochs += 1
        read = sum(s.records for r in reports for n in r.nodes for s in n.splits)
        self.records_read += read
        self.waiting = sum(r.waiting for r in reports)
        busy_ms = sum(r.busy_ms for r in reports)
        warm = sum(r.warm for r in reports)
        self.recent.append(EpochTiming(epoch, total_ms, spark_ms, busy_ms, read, len(reports), warm))
        watermarks: dict[OperatorUid, int] = {}
        for report in reports:
            for node in report.nodes:
                totals = self.operators.setdefault(node.uid, OperatorTotals())
                totals.records_in += node.records_in
                totals.records_out += node.records_out
                watermarks[node.uid] = min(watermarks.get(node.uid, node.watermark), node.watermark)
                if node.metrics:
                    self.metrics[node.uid, report.subtask] = node.metrics
        for uid, watermark in watermarks.items():
            self.operators[uid].watermark = watermark
            self.operators[uid].counters = self._counters(uid)

    def _counters(self, uid: OperatorUid) -> Counter[str]:
        """An operator's counters over all subtasks; each subtask tells how far it has come in the whole job."""
        found: Counter[str] = Counter()
        for (owner, _), reported in self.metrics.items():
            if owner == uid:
                for name, metric in reported.get("metrics", {}).items():
                    if metric["type"] == "counter":
                        found[name] += metric["count"]
        return found

    @property
    def median_epoch_ms(self) -> float:
        return statistics.median(t.total_ms for t in self.recent) if self.recent else 0.0

    def accumulators(self) -> dict[str, Any]:
        """The user's accumulators, merged over operators and subtasks."""
        return merge_accumulators(m.get("accumulators", {}) for m in list(self.metrics.values()))
