"""Runs the epochs of a streaming query: one Spark job for each sink, made of SQL texts and Python stages.

The coordinator (`runtime/coordinator.py`) says what is committed and what to read; this runner builds the epoch's
relations bottom up as temporary views of a session of its own, lets each sink take its one, and turns what the
tasks reported into the coordinator's reports. It keeps nothing from epoch to epoch.

Event time: operators advance to the watermark that the sources had reported by the end of the epoch before; once
all input has been read (or is certain to be read in this epoch) they advance to the end of time, and the job ends.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from penstock.checkpoint.handles import OperatorSubtaskState
from penstock.common.datatypes import RowType
from penstock.common.errors import InvariantError, PenstockError
from penstock.common.ids import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.pickling import dumps, loads
from penstock.graph.stream_graph import StreamNode
from penstock.runtime.plan import JobDefinition, LevelPlan, NodePlan, NodeReport, SubtaskReport
from penstock.sql.algebra import DataFrameScan, walk_plan
from penstock.sql.batch import register_udfs, spark_error
from penstock.sql.functions.text import spark_type
from penstock.sql.spark_text import SparkWriter
from penstock.sql.streaming.epoch_time import PARAMETER
from penstock.sql.streaming.lookups import LookupTask
from penstock.sql.streaming.physical import (
    HIDDEN,
    DeltaNode,
    LookupNode,
    PhysicalNode,
    ScanNode,
    Stream,
    ValuesNode,
    WatermarkNode,
    ddl,
    hidden_constants,
)
from penstock.sql.streaming.scan_source import PartSplit, part_reader, reads_relation
from penstock.sql.streaming.tasks import DeltaTask, RouteTask, ScanTask, TaskReport, WatermarkTask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Reports = dict[tuple[str, int], TaskReport]
Committables = Mapping[str, tuple[Any, ...]]


class EpochSink(Protocol):
    """Takes the changes of an epoch; what it returns is committed with the epoch."""

    def take(self, spark: SparkSession, frame: DataFrame) -> tuple[Any, ...]: ...


@dataclass(frozen=True)
class Output:
    """A final relation and who takes it."""

    stream: Stream
    sink: EpochSink
    uid: str


@dataclass
class Query:
    """A physical plan: its nodes in topological order, and the outputs, which are committed together."""

    nodes: list[PhysicalNode]
    outputs: Sequence[Output]

    @cached_property
    def shared(self) -> frozenset[str]:
        """Views of the nodes with more than one reader: their rows are kept while the epoch runs."""
        streams = [o.stream for o in self.outputs] + [s for node in self.nodes for s in node.inputs]
        leaves = [p for s in streams for p in walk_plan(s.plan) if isinstance(p, DataFrameScan)]
        readers = {n.view: sum(n.view in leaf.relation for leaf in leaves) for n in self.nodes}
        return frozenset(view for view, count in readers.items() if count > 1)


@dataclass(frozen=True)
class _Epoch:
    """One epoch: the committed plan of every node and subtask."""

    plan: LevelPlan
    nodes: Mapping[str, Mapping[int, NodePlan]]
    watermarks: Mapping[str, int]
    final: bool

    def advanced(self, uid: str) -> int:
        """What an operator has been advanced to already."""
        states = [_runtime_state(plan) for plan in self.nodes[uid].values()]
        return max((s.get("advanced", MIN_WATERMARK) for s in states), default=MIN_WATERMARK)

    def target(self, node: PhysicalNode) -> int:
        """What an operator is advanced to in this epoch."""
        below = [self.watermarks[n.uid] for stream in node.inputs for n in stream.nodes]
        return min(below, default=MIN_WATERMARK)


class SqlEpochRunner:
    """An `EpochRunner` for a streaming query."""

    def __init__(self, job: JobDefinition, query: Query, spark: SparkSession, udf_text: Any) -> None:
        self._job = job
        self._query = query
        self._spark = spark
        self._udf_text = udf_text
        self._by_uid = {node.uid: node for node in query.nodes}
        self._graph = {node.uid: node for node in job.graph.nodes}
        self._group = f"penstock-sql-{uuid.uuid4().hex}"
        self._now_ms = 0
        self._kept: list[DataFrame] = []

    # -- EpochRunner ---------------------------------------------------------------------------------

    def run(self, plans: Sequence[LevelPlan]) -> list[SubtaskReport]:
        epoch = self._epoch(plans)
        self._now_ms = epoch.plan.processing_time_ms
        collector = _Collector(self._spark)
        self._spark.sparkContext.setJobGroup(self._group, self._job.job_name, True)
        try:
            for node in self._query.nodes:
                self._build(node, epoch, collector)
            committables = {
                output.uid: output.sink.take(self._spark, self._frame(output.stream))
                for output in self._query.outputs
            }
        except PenstockError:
            raise
        except Exception as error:
            raise spark_error(error) from error
        finally:
            self._drop_views()
        return self._reports(epoch, collector.reports(), committables)

    def cancel(self) -> None:
        self._spark.sparkContext.cancelJobGroup(self._group)

    def close(self) -> None:
        self._drop_views()

    def _drop_views(self) -> None:
        for node in self._query.nodes:
            self._spark.catalog.dropTempView(node.view)
        while self._kept:
            self._kept.pop().unpersist()

    # -- what the epoch is ---------------------------------------------------------------------------

    def _epoch(self, plans: Sequence[LevelPlan]) -> _Epoch:
        nodes: dict[str, dict[int, NodePlan]] = {}
        for level, plan in zip(self._job.stages.levels, plans, strict=True):
            at = 0
            for stage_id in level:
                stage = self._job.stages.stages[stage_id]
                for subtask in range(stage.parallelism):
                    for node_id, node_plan in plan.subtasks[at].nodes.items():
                        nodes.setdefault(self._job.graph.nodes[node_id].uid, {})[subtask] = node_plan
                    at += 1
        sources = [nodes[n.uid] for n in self._query.nodes if isinstance(n, (ScanNode, ValuesNode))]
        final = all(_reads_to_the_end(plan) for source in sources for plan in source.values())
        return _Epoch(plans[0], nodes, self._watermarks(nodes, final), final)

    def _watermarks(self, nodes: Mapping[str, Mapping[int, NodePlan]], final: bool) -> dict[str, int]:
        """Where each node's output stands as this epoch begins, by uid."""
        reached: dict[str, int] = {}
        for node in self._query.nodes:
            below = [reached[n.uid] for stream in node.inputs for n in stream.nodes]
            if final:
                reached[node.uid] = MAX_WATERMARK
            elif isinstance(node, WatermarkNode):
                reached[node.uid] = self._reported(nodes[node.uid])
                if min(below) == MAX_WATERMARK:
                    reached[node.uid] = MAX_WATERMARK
            elif isinstance(node, LookupNode):
                reached[node.uid] = min(below)
            elif isinstance(node, DeltaNode):
                delay: int = getattr(node.operator, "watermark_delay_ms", 0)
                lowest = min(below)
                reached[node.uid] = lowest if lowest in (MIN_WATERMARK, MAX_WATERMARK) else lowest - delay
            else:
                ended = all(_has_ended(plan) for plan in nodes[node.uid].values())
                reached[node.uid] = MAX_WATERMARK if ended else MIN_WATERMARK
        return reached

    @staticmethod
    def _reported(plans: Mapping[int, NodePlan]) -> int:
        """The least watermark of the subtasks that have seen a row."""
        known = [_runtime_state(plan) for plan in plans.values()]
        return min((state["watermark"] for state in known if state), default=MIN_WATERMARK)

    # -- relations -----------------------------------------------------------------------------------

    def _frame(self, stream: Stream) -> DataFrame:
        return self._sql(SparkWriter(_no_scan, self._udf_text).text(stream.plan))

    def _sql(self, text: str) -> DataFrame:
        register_udfs(self._spark, text)
        if PARAMETER in text:
            return self._spark.sql(text, args={PARAMETER: self._now_ms})
        return self._spark.sql(text)

    def _build(self, node: PhysicalNode, epoch: _Epoch, collector: _Collector) -> None:
        if isinstance(node, ValuesNode):
            frame = self._values(node, epoch, collector)
        elif isinstance(node, ScanNode):
            frame = self._scan(node, epoch, collector)
        elif isinstance(node, WatermarkNode):
            frame = self._watermark(node, epoch, collector)
        elif isinstance(node, LookupNode):
            frame = self._lookup(node)
        elif isinstance(node, DeltaNode):
            frame = self._delta(node, epoch, collector)
        else:
            raise InvariantError(f"no epoch of a {type(node).__name__}")
        if node.view in self._query.shared:
            self._kept.append(frame.persist())
        frame.createOrReplaceTempView(node.view)

    def _values(self, node: ValuesNode, epoch: _Epoch, collector: _Collector) -> DataFrame:
        assert node.values is not None
        text = SparkWriter(_no_scan, self._udf_text).text(node.values)
        return self._once(node, text, epoch, collector)

    def _once(self, node: PhysicalNode, text: str, epoch: _Epoch, collector: _Collector) -> DataFrame:
        """A relation that comes whole in the epoch that reads it."""
        reads = [r for plan in epoch.nodes[node.uid].values() if plan.source for r in plan.source.reads]
        collector.add_once(node.uid, reads)
        shown = [f"CAST(c{i} AS {spark_type(f.type)}) AS c{i}" for i, f in enumerate(node.fields)]
        writer = SparkWriter(_no_scan)
        constants = [
            f"{writer.rex(c, [])} AS {f.name}" for c, f in zip(hidden_constants(), HIDDEN, strict=True)
        ]
        where = "" if reads else " WHERE false"
        frame = self._sql(f"SELECT {', '.join([*shown, *constants])} FROM ({text}){where}")
        return frame.coalesce(1)

    def _scan(self, node: ScanNode, epoch: _Epoch, collector: _Collector) -> DataFrame:
        if reads_relation(node):
            return self._once(node, self._relation(node), epoch, collector)
        reads = {
            subtask: plan.source.reads
            for subtask, plan in epoch.nodes[node.uid].items()
            if plan.source is not None
        }
        task = ScanTask(node.uid, part_reader(node), node.row_type, reads, collector.accumulator)
        subtasks = self._spark.range(0, node.parallelism, 1, node.parallelism)
        return subtasks.mapInArrow(task.__call__, ddl(node.row_type))

    def _relation(self, node: ScanNode) -> str:
        assert node.connector is not None and node.scan is not None
        relation = node.connector.batch_relation(self._spark, node.scan.table, None)
        columns = ", ".join(f"`{f.name}` AS c{i}" for i, f in enumerate(node.fields))
        return f"SELECT {columns} FROM {relation}"

    def _watermark(self, node: WatermarkNode, epoch: _Epoch, collector: _Collector) -> DataFrame:
        former = {}
        for subtask, plan in epoch.nodes[node.uid].items():
            state = _runtime_state(plan)
            if state:
                former[subtask] = (state["current"], state["watermark"])
        task = WatermarkTask(node.uid, len(node.fields), node.interval_ms, former, collector.accumulator)
        return self._frame(node.inputs[0]).mapInArrow(task.__call__, ddl(node.row_type))

    def _lookup(self, node: LookupNode) -> DataFrame:
        stream = node.inputs[0]
        columns = [*_columns_type(stream).fields, *node.row_type.fields[-len(HIDDEN) :]]
        task = LookupTask(node.view, node.spec, RowType(columns, nullable=False), node.row_type)
        return self._frame(stream).mapInArrow(task.__call__, ddl(node.row_type))

    def _delta(self, node: DeltaNode, epoch: _Epoch, collector: _Collector) -> DataFrame:
        task = self._delta_task(node, epoch, collector)
        frames = [self._delta_input(node, index, task) for index in range(len(node.inputs))]
        frame = frames[0]
        for other in frames[1:]:
            frame = frame.unionAll(other)
        if node.parallelism == 1:
            frame = frame.coalesce(1)
        else:
            from pyspark.sql.functions import col

            frame = frame.unionAll(self._marks(node, frame)).repartitionById(
                node.parallelism, col("__subtask")
            )
        return frame.mapInArrow(task.__call__, ddl(node.row_type))

    def _delta_input(self, node: DeltaNode, index: int, task: DeltaTask) -> DataFrame:
        """One input in the shape all inputs of the operator share; see `DeltaTask`."""
        stream = node.inputs[index]
        text = SparkWriter(_no_scan, self._udf_text).text(stream.plan)
        width = stream.width
        columns = ["0 AS __subtask", f"{index} AS __input"]
        columns += [f"CAST(c{width + i} AS {spark_type(f.type)}) AS {f.name}" for i, f in enumerate(HIDDEN)]
        for at, other in enumerate(task.input_types):
            for i, field in enumerate(other.fields):
                value = f"c{i}" if at == index else "NULL"
                columns.append(f"CAST({value} AS {spark_type(field.data_type)}) AS i{at}_{i}")
        frame = self._sql(f"SELECT {', '.join(columns)} FROM ({text})")
        if node.parallelism == 1:
            return frame
        assert node.operator is not None
        start = 5 + sum(len(t.fields) for t in task.input_types[:index])
        keys = node.operator.key_columns(index)
        key_type = RowType([task.input_types[index].fields[k] for k in keys], nullable=False)
        route = RouteTask(tuple(start + k for k in keys), key_type, task.max_parallelism, node.parallelism)
        return frame.mapInArrow(route.__call__, frame.schema)

    def _marks(self, node: DeltaNode, like: DataFrame) -> DataFrame:
        """A row per subtask that tells it its number: a partition without rows could not know it."""
        columns = [f"CAST(id AS INT) AS {like.columns[0]}", f"-1 AS {like.columns[1]}"]
        columns += [
            f"CAST(NULL AS {field.dataType.simpleString()}) AS {field.name}"
            for field in like.schema.fields[2:]
        ]
        return self._spark.range(0, node.parallelism, 1, 1).selectExpr(*columns)

    def _delta_task(self, node: DeltaNode, epoch: _Epoch, collector: _Collector) -> DeltaTask:
        graph_node = self._graph[node.uid]  # type: ignore[index]
        restores = []
        for subtask in range(node.parallelism):
            keyed = epoch.nodes[node.uid][subtask].keyed
            if keyed is None:
                raise InvariantError(f"operator {node.uid} has no keyed state")
            restores.append(keyed)
        job = self._job
        return DeltaTask(
            uid=node.uid,
            operator=pickle.dumps(node.operator),
            input_types=tuple(_columns_type(stream) for stream in node.inputs),
            output_type=node.row_type,
            parallelism=node.parallelism,
            max_parallelism=graph_node.max_parallelism,
            restores=tuple(restores),
            epoch=epoch.plan.epoch,
            processing_time_ms=epoch.plan.processing_time_ms,
            former_watermark=epoch.advanced(node.uid),
            watermark=epoch.target(node),
            job_id=job.job_id,
            backend=job.backend,
            local_dir=job.local_dir,
            storage=job.storage,
            report=collector.accumulator,
        )

    # -- reports -------------------------------------------------------------------------------------

    def _reports(self, epoch: _Epoch, reports: Reports, committables: Committables) -> list[SubtaskReport]:
        made = []
        moved = self._moved(epoch, reports)
        for stage in self._job.stages.stages:
            for subtask in range(stage.parallelism):
                nodes = [self._job.graph.nodes[n] for n in stage.nodes]
                found = tuple(self._node_report(n, subtask, epoch, reports, committables) for n in nodes)
                wakeups = [r.next_wakeup_ms for n in nodes if (r := reports.get((n.uid, subtask)))]
                due = [w for w in wakeups if w is not None]
                if moved and not epoch.final:
                    due.append(epoch.plan.processing_time_ms)
                made.append(SubtaskReport(stage.id, subtask, "", found, min(due, default=None)))
        return made

    def _moved(self, epoch: _Epoch, reports: Reports) -> bool:
        """Whether a source's watermark moved: then another epoch follows at once."""
        for node in self._query.nodes:
            if not isinstance(node, WatermarkNode):
                continue
            after = [r.watermark for i in range(node.parallelism) if (r := reports.get((node.uid, i)))]
            if any(w is not None and w > epoch.watermarks[node.uid] for w in after):
                return True
        return False

    def _node_report(
        self,
        node: StreamNode,
        subtask: int,
        epoch: _Epoch,
        reports: Reports,
        committables: Committables,
    ) -> NodeReport:
        report = reports.get((node.uid, subtask))
        former = epoch.nodes[node.uid][subtask]
        runtime = dict(_runtime_state(former))
        if report is not None and report.watermark is not None:
            runtime.update(watermark=report.watermark, current=report.metrics["current"])
        if node.is_keyed:
            target = epoch.target(self._by_uid[node.uid])
            runtime["advanced"] = max(target, runtime.get("advanced", MIN_WATERMARK))
            if report is None:
                raise InvariantError(f"subtask {subtask} of '{node.name}' did not report")
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
            committables=committables.get(node.uid, ()) if subtask == 0 else (),
            records_in=report.records_in if report else 0,
            records_out=report.records_out if report else 0,
            watermark=runtime.get("watermark", MAX_WATERMARK if epoch.final else 0),
            ended=epoch.final,
        )


class _Collector:
    """The reports of an epoch's tasks."""

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

    def add_once(self, uid: str, reads: Sequence[Any]) -> None:
        from penstock.runtime.plan import SplitProgress

        done = tuple(SplitProgress(r.split.split_id, (1, 0), True, 0) for r in reads)
        self._own.append(TaskReport(uid, 0, splits=done))

    def reports(self) -> Reports:
        return {(r.uid, r.subtask): r for r in self._all()}

    def _all(self) -> Iterator[TaskReport]:
        yield from self._own
        yield from self.accumulator.value


def _columns_type(stream: Stream) -> RowType:
    from penstock.common.datatypes import RowField

    return RowType(
        [RowField(f"c{i}", f.type.nullable()) for i, f in enumerate(stream.fields)], nullable=False
    )


def _runtime_state(plan: NodePlan) -> dict[str, Any]:
    if not plan.states or plan.states[0].runtime_state is None:
        return {}
    state = plan.states[0].runtime_state
    assert isinstance(state, bytes)
    loaded: dict[str, Any] = loads(state)
    return loaded


def _reads_to_the_end(plan: NodePlan) -> bool:
    source = plan.source
    if source is None or not source.last:
        return False
    sure = {read.split.split_id for read in source.reads if _is_small(read)}
    return source.assigned <= sure


def _has_ended(plan: NodePlan) -> bool:
    return plan.source is not None and plan.source.last and not plan.source.assigned


def _is_small(read: Any) -> bool:
    split, limit = read.split, read.limit
    assert isinstance(split, PartSplit)
    if limit.split_ends is False or split.at_most is None:
        return False
    return limit.max_records is None or split.at_most <= limit.max_records


def _no_scan(scan: Any) -> str:
    raise InvariantError("a table scan inside a Spark SQL segment")
