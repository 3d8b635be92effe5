"""From what the tasks of an epoch say to what the coordinator wants to hear."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.checkpoint.handles import OperatorSubtaskState
from penstock.common.errors import InvariantError
from penstock.common.ids import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.pickling import dumps
from penstock.graph.stream_graph import StreamNode
from penstock.runtime.plan import JobDefinition, NodeReport, SplitProgress, SplitRead, SubtaskReport
from penstock.sql.streaming.epoch import Epoch, runtime_state
from penstock.sql.streaming.physical import WatermarkNode
from penstock.sql.streaming.query import Query, Taken
from penstock.sql.streaming.task_report import TaskReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TaskReports = Mapping[tuple[str, int], TaskReport]
"""By uid of the node and subtask."""
TakenBy = Mapping[str, Taken]
"""What the sinks left of the epoch, by uid."""


class Collector:
    """Gathers the reports of an epoch's tasks."""

    def __init__(self, spark: SparkSession) -> None:
        from pyspark.accumulators import AccumulatorParam

        class Reported(AccumulatorParam):  # type: ignore[type-arg]
            def zero(self, value: list[Any]) -> list[Any]:
                return []

            def addInPlace(self, value1: list[Any], value2: list[Any]) -> list[Any]:
                value1.extend(value2)
                return value1

        self.accumulator: Any = spark.sparkContext.accumulator([], Reported())
        self._own: list[TaskReport] = []

    def add_once(self, uid: str, reads: Sequence[SplitRead]) -> None:
        """A relation that Spark reads itself, and whole: no task of ours reports it."""
        done = tuple(SplitProgress(r.split.split_id, (1, 0), True, 0) for r in reads)
        self._own.append(TaskReport(uid, 0, splits=done))

    def all(self) -> Iterator[TaskReport]:
        yield from self._own
        yield from self.accumulator.value

    def reports(self) -> TaskReports:
        return {(r.uid, r.subtask): r for r in self.all()}


def subtask_reports(
    job: JobDefinition, query: Query, epoch: Epoch, said: TaskReports, taken: TakenBy
) -> list[SubtaskReport]:
    """A report for every subtask of the job graph."""
    made = []
    again = not epoch.final and _moved(query, epoch, said)
    for stage in job.stages.stages:
        nodes = [job.graph.nodes[n] for n in stage.nodes]
        for subtask in range(stage.parallelism):
            found = tuple(_node_report(n, subtask, query, epoch, said, taken) for n in nodes)
            mine = [r for n in nodes if (r := said.get((n.uid, subtask)))]
            due = [r.next_wakeup_ms for r in mine if r.next_wakeup_ms is not None]
            due += [t.wake_ms for n in nodes if (t := taken.get(n.uid)) and t.wake_ms is not None]
            if again:
                due.append(epoch.plan.processing_time_ms)
            busy_ms = sum(r.busy_ms for r in mine)
            made.append(SubtaskReport(stage.id, subtask, "", found, min(due, default=None), busy_ms))
    return made


def _moved(query: Query, epoch: Epoch, said: TaskReports) -> bool:
    """Whether a source's watermark moved: then another epoch follows at once."""
    for node in query.nodes:
        if not isinstance(node, WatermarkNode):
            continue
        after = [r.watermark for i in range(node.parallelism) if (r := said.get((node.uid, i)))]
        if any(w is not None and w > epoch.watermarks[node.uid] for w in after):
            return True
    return False


def _node_report(
    node: StreamNode, subtask: int, query: Query, epoch: Epoch, said: TaskReports, taken: TakenBy
) -> NodeReport:
    mine = taken.get(node.uid, Taken()) if subtask == 0 else Taken()
    report = said.get((node.uid, subtask))
    former = epoch.nodes[node.uid][subtask]
    runtime = dict(runtime_state(former))
    if report is not None and report.watermark is not None:
        runtime.update(watermark=report.watermark, current=report.metrics["current"])
    if node.is_keyed:
        target = epoch.target(query.by_uid[node.uid])
        if report is None:
            raise InvariantError(f"subtask {subtask} of '{node.name}' did not report")
        reached = target if report.advanced is None else max(target, report.advanced)
        runtime["advanced"] = max(reached, runtime.get("advanced", MIN_WATERMARK))
    runtime.pop("sink", None)
    if mine.state is not None:
        runtime["sink"] = mine.state
    splits = report.splits if report else ()
    if former.source is not None and former.source.reads and not splits:
        raise InvariantError(f"subtask {subtask} of '{node.name}' was not read")
    if epoch.final and any(not s.finished for s in splits):
        raise InvariantError(f"'{node.name}' has more rows than its files have bytes")
    state = OperatorSubtaskState(
        keyed=report.keyed if report else None,
        runtime_state=dumps(runtime) if runtime else None,
        ended=epoch.final,
    )
    return NodeReport(
        uid=node.uid,
        state=state,
        splits=splits,
        committables=mine.committables,
        records_in=report.records_in if report else 0,
        records_out=report.records_out if report else 0,
        watermark=runtime.get("watermark", MAX_WATERMARK if epoch.final else 0),
        ended=epoch.final,
        metrics={"counters": report.metrics} if report and node.is_keyed else {},
    )
