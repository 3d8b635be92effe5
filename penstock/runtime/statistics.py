"""What a job has done so far, for its result, the REST interface, metrics, the demo and the benchmarks.

Everything comes from the reports that end an epoch anyway: nothing is counted per record here. Totals are kept per
operator, per operator subtask and per stage subtask (a stage is what Flink calls a vertex); `history.py` has what
happened when, `rates.py` how fast totals move.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.common.config_values import parse_value
from penstock.common.ids import EpochId, OperatorUid
from penstock.common.options import option
from penstock.functions.accumulators import merge_accumulators
from penstock.graph.stages import Stage
from penstock.runtime.history import (
    CheckpointHistory,
    CheckpointRecord,
    ExceptionHistory,
    ExceptionRecord,
    Lifecycle,
    OperatorSize,
    RescaleHistory,
    SizeBook,
    now_ms,
    sizes_of,
)
from penstock.runtime.plan import JobDefinition, SubtaskReport
from penstock.runtime.rates import Rates

RECENT_EPOCHS = 500


@dataclass(frozen=True)
class EpochTiming:
    """How long an epoch took: all of it, and the Spark job alone.

    The whole is planning (asking sources, making plans), launching (what Spark needs around the tasks), working (the
    slowest task of each level, one after the other) and committing (metadata, and making output visible). `warm` of
    its `subtasks` had their state in the memory of the process they ran in.
    """

    epoch: EpochId
    total_ms: float
    spark_ms: float
    busy_ms: float
    records: int
    subtasks: int = 0
    warm: int = 0
    started_at_ms: int = 0
    planning_ms: float = 0.0
    launching_ms: float = 0.0
    working_ms: float = 0.0
    committing_ms: float = 0.0


@dataclass
class OperatorTotals:
    """Counters of one operator over all epochs: of all its subtasks, or of one."""

    records_in: int = 0
    records_out: int = 0
    watermark: int | None = None
    counters: Counter[str] = field(default_factory=Counter)
    """What operators count under Flink's names, such as numLateRecordsDropped."""


@dataclass
class SubtaskTotals:
    """Counters of one subtask of a stage over all epochs.

    Back-pressured is the time in which a subtask had nothing to do because something behind it could not keep up;
    what is neither that nor busy is idle.
    """

    records_in: int = 0
    records_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    busy_ms: float = 0.0
    held_back_ms: float = 0.0
    watermark: int | None = None
    waiting: int = 0
    ended_ms: int = -1

    def joined(self, other: SubtaskTotals) -> SubtaskTotals:
        """With what another subtask has counted; times stay this one's."""
        names = ("records_in", "records_out", "bytes_in", "bytes_out")
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in names})

    def numbers(self) -> tuple[float, ...]:
        """For rates, in the order of the fields."""
        return (
            self.records_in, self.records_out, self.bytes_in, self.bytes_out, self.busy_ms, self.held_back_ms,
        )  # fmt: skip


@dataclass
class JobStatistics:
    """Grows with every committed epoch; read from any thread."""

    job: JobDefinition
    epochs: int = 0
    restarts: int = 0
    records_read: int = 0
    recent: deque[EpochTiming] = field(default_factory=lambda: deque(maxlen=RECENT_EPOCHS))
    operators: dict[OperatorUid, OperatorTotals] = field(default_factory=dict)
    operator_subtasks: dict[tuple[OperatorUid, int], OperatorTotals] = field(default_factory=dict)
    subtasks: dict[tuple[int, int], SubtaskTotals] = field(default_factory=dict)
    """By stage and subtask."""
    workers: dict[tuple[int, int], tuple[str, int]] = field(default_factory=dict)
    """Where each subtask ran in the last epoch: host and process."""
    metrics: dict[tuple[OperatorUid, int], Any] = field(default_factory=dict)
    waiting: int = 0
    """Elements that the last epoch left for the next one."""
    activity: tuple[str, float] = ("starting", 0.0)
    """What the loop does now, and since when by `time.monotonic`."""
    pending: dict[OperatorUid, Mapping[int, int]] = field(default_factory=dict)
    """Of sources that can tell: records that are known and unread, by subtask."""
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    rates: Rates = field(default_factory=Rates)

    def __post_init__(self) -> None:
        configuration = self.job.configuration if self.job is not None else {}
        self.checkpoints = CheckpointHistory(_configured(configuration, "web.checkpoints.history"))
        self.exceptions = ExceptionHistory(_configured(configuration, "web.exception-history-size"))
        self.rescales = RescaleHistory(
            _configured(configuration, "web.adaptive-scheduler.rescale-history.size")
        )
        self.least: dict[OperatorUid, int] = {}
        """The smallest parallelism that somebody has asked for, by operator; 1 if nobody has."""
        self._sizes = SizeBook()
        self._shape = _Shape(self.job) if self.job is not None else _Shape.of_nothing()

    def rescaled(self, job: JobDefinition) -> None:
        """The job goes on with other numbers.

        A stage is known by its operators, whatever its number is now. What subtasks had counted that are there no
        more is added to others, so that a vertex has what it had; how fast that goes is measured anew.
        """
        numbers = {_operators_of(job, stage): stage for stage in job.stages.stages}
        moved: dict[tuple[int, int], SubtaskTotals] = {}
        for stage in self.job.stages.stages:
            target = numbers.get(_operators_of(self.job, stage))
            for subtask in range(stage.parallelism if target is not None else 0):
                totals = self.subtasks.get((stage.id, subtask))
                if target is not None and totals is not None:
                    place = (target.id, subtask % target.parallelism)
                    moved[place] = moved[place].joined(totals) if place in moved else totals
        self.job, self.subtasks, self.workers = job, moved, {}
        self.rates, self._shape = Rates(), _Shape(job)

    def now(self, activity: str) -> None:
        """The loop begins something; going on with the same is no beginning."""
        if self.activity[0] != activity:
            self.activity = (activity, time.monotonic())

    def records_written(self) -> int:
        """What has arrived at the job's sinks."""
        sinks = [node.uid for node in self.job.graph.nodes if node.is_sink]
        return sum(self.operators[uid].records_in for uid in sinks if uid in self.operators)

    def epoch_done(
        self,
        epoch: EpochId,
        reports: Sequence[SubtaskReport],
        total_ms: float,
        spark_ms: float,
        *,
        planning_ms: float = 0.0,
        working_ms: float = 0.0,
        committing_ms: float = 0.0,
        path: str | None = None,
    ) -> None:
        self.epochs += 1
        ended_at = now_ms()
        started_at = ended_at - int(total_ms)
        read = sum(s.records for r in reports for n in r.nodes for s in n.splits)
        self.records_read += read
        self.waiting = sum(r.waiting for r in reports)
        busy_ms = sum(r.busy_ms for r in reports)
        warm = sum(r.warm for r in reports)
        self.recent.append(
            EpochTiming(
                epoch, total_ms, spark_ms, busy_ms, read, len(reports), warm, started_at, planning_ms,
                max(0.0, spark_ms - working_ms), working_ms, committing_ms,
            )
        )  # fmt: skip
        self._count_operators(reports)
        self._count_subtasks(reports, total_ms, ended_at)
        self._note_checkpoint(epoch, reports, started_at, ended_at, read, path)
        self.rates.observe(lambda: {key: totals.numbers() for key, totals in self.subtasks.items()})

    def _count_operators(self, reports: Sequence[SubtaskReport]) -> None:
        watermarks: dict[OperatorUid, int] = {}
        for report in reports:
            for node in report.nodes:
                own = self.operator_subtasks.setdefault((node.uid, report.subtask), OperatorTotals())
                for totals in (self.operators.setdefault(node.uid, OperatorTotals()), own):
                    totals.records_in += node.records_in
                    totals.records_out += node.records_out
                own.watermark = node.watermark
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

    def _count_subtasks(self, reports: Sequence[SubtaskReport], total_ms: float, ended_at: int) -> None:
        held_back = self._shape.before({key[0] for key, totals in self.subtasks.items() if totals.waiting})
        for report in reports:
            totals = self.subtasks.setdefault((report.stage, report.subtask), SubtaskTotals())
            entries, exits = self._shape.borders.get(report.stage, (frozenset(), frozenset()))
            for node in report.nodes:
                totals.records_in += node.records_in if node.uid in entries else 0
                totals.records_in += sum(split.records for split in node.splits)
                totals.records_out += node.records_out if node.uid in exits else 0
            totals.bytes_in += report.bytes_in
            totals.bytes_out += report.bytes_out
            totals.busy_ms += report.busy_ms
            totals.waiting = report.waiting
            self.workers[report.stage, report.subtask] = report.worker
            if report.nodes:
                totals.watermark = min(node.watermark for node in report.nodes)
            if report.stage in held_back:
                totals.held_back_ms += max(0.0, total_ms - report.busy_ms)
            if totals.ended_ms < 0 and report.nodes and all(node.ended for node in report.nodes):
                totals.ended_ms = ended_at

    def _note_checkpoint(
        self, epoch: EpochId, reports: Sequence[SubtaskReport], started_at: int, ended_at: int, read: int,
        path: str | None,
    ) -> None:  # fmt: skip
        measured = [
            (
                report.stage,
                report.subtask,
                OperatorSize(
                    node.uid, *self._sizes.measure(node.uid, report.subtask, node.state), node.state_ms
                ),
            )
            for report in reports
            for node in report.nodes
        ]
        sizes = sizes_of(measured, ended_at)
        self.checkpoints.add(
            CheckpointRecord(int(epoch), "COMPLETED", started_at, ended_at, sizes, path, records=read)
        )

    def epoch_failed(
        self, epoch: EpochId, error: BaseException, fatal: bool, started_ms: int | None = None
    ) -> None:
        """An epoch was given up; the job goes on from the one before it, unless that was `fatal`."""
        now = now_ms()
        self.exceptions.add(error, fatal)
        self.checkpoints.add(
            CheckpointRecord(int(epoch), "FAILED", started_ms or now, now, failure=str(error)[:1000])
        )

    def restarted_after(self, failure: ExceptionRecord) -> None:
        """The job ran elsewhere until this happened, and goes on here."""
        self.restarts += 1
        self.exceptions.remember(failure)

    def idle_ms(self, totals: SubtaskTotals) -> float:
        """What a subtask had nothing to do, of the time that the job has been running."""
        lived = (
            self.lifecycle.duration_ms() if totals.ended_ms < 0 else totals.ended_ms - self.lifecycle.start_ms
        )
        return max(0.0, lived - totals.busy_ms - totals.held_back_ms)

    @property
    def median_epoch_ms(self) -> float:
        lengths = [timing.total_ms for timing in list(self.recent)]  # a copy: the loop adds to it meanwhile
        return statistics.median(lengths) if lengths else 0.0

    def accumulators(self) -> dict[str, Any]:
        """The user's accumulators, merged over operators and subtasks."""
        return merge_accumulators(m.get("accumulators", {}) for m in list(self.metrics.values()))


def _operators_of(job: JobDefinition, stage: Stage) -> tuple[OperatorUid, ...]:
    return tuple(job.graph.nodes[node].uid for node in stage.nodes)


class _Shape:
    """What statistics need to know of a job's graph, found once."""

    def __init__(self, job: JobDefinition) -> None:
        nodes, edges, stages = job.graph.nodes, job.graph.edges, job.stages
        exchanged = [edge for edge in edges if stages.stage_of[edge.source] != stages.stage_of[edge.target]]
        self.borders = {
            stage.id: (
                frozenset(nodes[e.target].uid for e in exchanged if stages.stage_of[e.target] == stage.id),
                frozenset(nodes[e.source].uid for e in exchanged if stages.stage_of[e.source] == stage.id),
            )
            for stage in stages.stages
        }
        """By stage: the operators that elements enter it at, and those they leave it from."""
        self._inputs: dict[int, set[int]] = {stage.id: set() for stage in stages.stages}
        for edge in exchanged:
            self._inputs[stages.stage_of[edge.target]].add(stages.stage_of[edge.source])

    @classmethod
    def of_nothing(cls) -> _Shape:
        shape = cls.__new__(cls)
        shape.borders, shape._inputs = {}, {}
        return shape

    def before(self, stages: set[int]) -> set[int]:
        """All stages from which elements reach one of these."""
        found: set[int] = set()
        left = list(stages)
        while left:
            for stage in self._inputs.get(left.pop(), ()):
                if stage not in found:
                    found.add(stage)
                    left.append(stage)
        return found


def _configured(configuration: Mapping[str, str], key: str) -> int:
    known = option(key)
    for name in (known.key, *known.fallback_keys):
        if name in configuration:
            return int(parse_value(name, configuration[name], known.kind, known.values))
    return int(known.default or 0)
