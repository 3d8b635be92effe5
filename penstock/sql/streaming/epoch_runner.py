"""Runs the epochs of a streaming query: one Spark job for each sink, made of SQL texts and Python stages.

The coordinator (`runtime/coordinator.py`) says what is committed and what to read; this runner builds the epoch's
relations bottom up as temporary views of a session of its own, lets each sink take its one, and turns what the
tasks reported into the coordinator's reports. It keeps nothing from epoch to epoch.

Event time: operators advance to the watermark that the sources had reported by the end of the epoch before; once
all input has been read (or is certain to be read in this epoch) they advance to the end of time, and the job ends.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from penstock.checkpoint.handles import OperatorSubtaskState
from penstock.common.datatypes import DataType, RowField, RowType
from penstock.common.errors import InvariantError, PenstockError
from penstock.common.ids import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.pickling import dumps, loads, ship
from penstock.graph.stream_graph import StreamNode
from penstock.runtime.plan import JobDefinition, LevelPlan, NodePlan, NodeReport, SubtaskReport
from penstock.sql.algebra import DataFrameScan, Plan, Project, SetOp, walk_plan
from penstock.sql.batch import register_udfs, spark_error
from penstock.sql.functions.text import spark_type
from penstock.sql.rex import InputRef
from penstock.sql.spark_text import SparkWriter
from penstock.sql.streaming.delta_task import DeltaTask
from penstock.sql.streaming.epoch_time import PARAMETER
from penstock.sql.streaming.exchange_task import LocalTask, MarkTask, Select, ShapeTask, shape_names
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
from penstock.sql.streaming.scan_task import ScanTask
from penstock.sql.streaming.task_report import Chain, Stage, TaskReport
from penstock.sql.streaming.watermark_task import WatermarkTask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Reports = dict[tuple[str, int], TaskReport]
Straight = tuple[ScanNode, tuple[Stage, ...]]
"""A scan and the stages that follow it in one Python process."""
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
        self._built: set[str] = set()

    # -- EpochRunner ---------------------------------------------------------------------------------

    def run(self, plans: Sequence[LevelPlan]) -> list[SubtaskReport]:
        epoch = self._epoch(plans)
        self._now_ms = epoch.plan.processing_time_ms
        collector = _Collector(self._spark)
        self._built = set()
        self._spark.sparkContext.setJobGroup(self._group, self._job.job_name, True)
        try:
            committables = {
                output.uid: output.sink.take(
                    self._spark, self._sql(self._text(output.stream.plan, epoch, collector))
                )
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
        for view in self._built:
            self._spark.catalog.dropTempView(view)
        self._built = set()
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

    def _text(self, plan: Plan, epoch: _Epoch, collector: _Collector) -> str:
        """A plan as Spark SQL, whose views are there."""
        self._build_views(plan, epoch, collector)
        return SparkWriter(_no_scan, self._udf_text).text(plan)

    def _build_views(self, plan: Plan, epoch: _Epoch, collector: _Collector) -> None:
        node = plan.source if isinstance(plan, DataFrameScan) else None
        if node is not None and node.view not in self._built:
            self._build(node, epoch, collector)
        for below in plan.inputs:
            self._build_views(below, epoch, collector)

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
            frame = self._lookup(node, epoch, collector)
        elif isinstance(node, DeltaNode):
            frame = self._delta(node, epoch, collector)
        else:
            raise InvariantError(f"no epoch of a {type(node).__name__}")
        if node.view in self._query.shared:
            self._kept.append(frame.persist())
        frame.createOrReplaceTempView(node.view)
        self._built.add(node.view)

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
        return self._read(node, (self._scan_task(node, epoch, collector),), ddl(node.row_type))

    def _read(self, node: ScanNode, stages: tuple[Stage, ...], schema: str) -> DataFrame:
        """A scan and what follows it in the same Python process."""
        subtasks = self._spark.range(0, node.parallelism, 1, node.parallelism)
        return subtasks.mapInArrow(Chain(stages).__call__, schema)

    def _scan_task(self, node: ScanNode, epoch: _Epoch, collector: _Collector) -> ScanTask:
        reads = {
            subtask: plan.source.reads
            for subtask, plan in epoch.nodes[node.uid].items()
            if plan.source is not None
        }
        return ScanTask(node.uid, part_reader(node), node.row_type, reads, collector.accumulator)

    def _relation(self, node: ScanNode) -> str:
        assert node.connector is not None and node.scan is not None
        relation = node.connector.batch_relation(self._spark, node.scan.table, None)
        columns = ", ".join(f"`{f.name}` AS c{i}" for i, f in enumerate(node.fields))
        return f"SELECT {columns} FROM {relation}"

    def _watermark(self, node: WatermarkNode, epoch: _Epoch, collector: _Collector) -> DataFrame:
        found = self._straight(node.inputs[0].plan, epoch, collector)
        task = self._watermark_task(node, epoch, collector)
        if found is not None:
            return self._read(found[0], (*found[1], task), ddl(node.row_type))
        frame = self._sql(self._text(node.inputs[0].plan, epoch, collector))
        return frame.mapInArrow(task.__call__, ddl(node.row_type))

    def _watermark_task(self, node: WatermarkNode, epoch: _Epoch, collector: _Collector) -> WatermarkTask:
        former = {}
        for subtask, plan in epoch.nodes[node.uid].items():
            state = _runtime_state(plan)
            if state:
                former[subtask] = (state["current"], state["watermark"])
        return WatermarkTask(
            node.uid,
            len(node.fields),
            node.interval_ms,
            former,
            collector.accumulator,
            node.time_column,
            node.delay_ms,
        )

    def _straight(self, plan: Plan, epoch: _Epoch, collector: _Collector) -> Straight | None:
        """The stages from a scan to this plan, if Spark has nothing to compute on the way.

        Then they run in one Python process, and no row goes to the JVM and back.
        """
        if isinstance(plan, Project):
            columns = tuple(rex.index for rex in plan.exprs if isinstance(rex, InputRef))
            if len(columns) < len(plan.exprs):
                return None
            below = self._straight(plan.input, epoch, collector)
            return below and (below[0], (*below[1], Select(columns)))
        node = plan.source if isinstance(plan, DataFrameScan) else None
        if node is not None and node.view in self._query.shared:
            return None  # computed once for all its readers
        if isinstance(node, ScanNode) and not reads_relation(node):
            return node, (self._scan_task(node, epoch, collector),)
        if isinstance(node, WatermarkNode):
            below = self._straight(node.inputs[0].plan, epoch, collector)
            return below and (below[0], (*below[1], self._watermark_task(node, epoch, collector)))
        return None

    def _lookup(self, node: LookupNode, epoch: _Epoch, collector: _Collector) -> DataFrame:
        stream = node.inputs[0]
        columns = [*_row_type([f.type for f in stream.fields]).fields, *node.row_type.fields[-len(HIDDEN) :]]
        task = LookupTask(node.view, node.spec, RowType(columns, nullable=False), node.row_type)
        frame = self._sql(self._text(stream.plan, epoch, collector))
        return frame.mapInArrow(task.__call__, ddl(node.row_type))

    def _delta(self, node: DeltaNode, epoch: _Epoch, collector: _Collector) -> DataFrame:
        task = self._delta_task(node, epoch, collector)
        parts = [(index, plan) for index, stream in enumerate(node.inputs) for plan in branches(stream.plan)]
        found = [self._straight(plan, epoch, collector) for _, plan in parts]
        if all(straight is not None and _watermark_of(straight[1]) for straight in found):
            task = replace(
                task, marks={i: straight[0].parallelism for i, straight in enumerate(found) if straight}
            )
        frames = [
            self._branch(number, index, plan, straight, node, task, epoch, collector)
            for number, ((index, plan), straight) in enumerate(zip(parts, found, strict=True))
        ]
        if node.parallelism > 1:
            frames.append(self._marks(node, task))
        frame = frames[0]
        for other in frames[1:]:
            frame = frame.unionAll(other)
        if node.parallelism == 1:
            frame = frame.coalesce(1)
        else:
            from pyspark.sql.functions import col

            frame = frame.repartitionById(node.parallelism, col("__subtask"))
        return frame.mapInArrow(task.__call__, ddl(node.row_type))

    def _branch(
        self,
        number: int,
        index: int,
        plan: Plan,
        found: Straight | None,
        node: DeltaNode,
        task: DeltaTask,
        epoch: _Epoch,
        collector: _Collector,
    ) -> DataFrame:
        """One input, or one part of its UNION ALL, in the shape all inputs of the operator share."""
        local = node.local[index] if node.local else None
        assert node.operator is not None
        shape = ShapeTask(
            index, task.input_types, node.operator.key_columns(index), task.max_parallelism, node.parallelism
        )
        stages: tuple[Stage, ...] = (shape,) if local is None else (LocalTask(local), shape)
        schema = _shape_ddl(task)
        if found is not None:
            watermark = _watermark_of(found[1])
            if task.marks and watermark is not None:
                scan = found[1][0]
                assert isinstance(scan, ScanTask)
                stages = (*stages, MarkTask(scan, watermark, number, task.input_types, node.parallelism))
            return self._read(found[0], (*found[1], *stages), schema)
        if local is None and node.parallelism == 1:
            return self._shaped(self._text(plan, epoch, collector), index, task)
        columns = [f"CAST(c{i} AS {spark_type(f.type)}) AS c{i}" for i, f in enumerate(plan.fields)]
        typed = self._sql(f"SELECT {', '.join(columns)} FROM ({self._text(plan, epoch, collector)})")
        return typed.mapInArrow(Chain(stages).__call__, schema)

    def _shaped(self, text: str, index: int, task: DeltaTask) -> DataFrame:
        """The shape made by Spark, where no Python stage is needed."""
        width = len(task.input_types[index].fields)
        columns = ["0 AS __subtask", f"{index} AS __input"]
        columns += [f"CAST(c{width + i} AS {spark_type(f.type)}) AS {f.name}" for i, f in enumerate(HIDDEN)]
        for at, other in enumerate(task.input_types):
            for i, field in enumerate(other.fields):
                value = f"c{i}" if at == index else "NULL"
                columns.append(f"CAST({value} AS {spark_type(field.data_type)}) AS i{at}_{i}")
        return self._sql(f"SELECT {', '.join(columns)} FROM ({text})")

    def _marks(self, node: DeltaNode, task: DeltaTask) -> DataFrame:
        """A row per subtask that tells it its number: a partition without rows could not know it."""
        columns = ["CAST(id AS INT) AS __subtask", "-1 AS __input"]
        types = _shape_types(task)[2:]
        columns += [f"CAST(NULL AS {t}) AS {name}" for name, t in types]
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
            operator=ship(node.operator),
            input_types=tuple(_columns_type(node, index) for index in range(len(node.inputs))),
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
            local=node.local,
        )

    # -- reports -------------------------------------------------------------------------------------

    def _reports(self, epoch: _Epoch, reports: Reports, committables: Committables) -> list[SubtaskReport]:
        made = []
        moved = self._moved(epoch, reports)
        for stage in self._job.stages.stages:
            for subtask in range(stage.parallelism):
                nodes = [self._job.graph.nodes[n] for n in stage.nodes]
                found = tuple(self._node_report(n, subtask, epoch, reports, committables) for n in nodes)
                said = [r for n in nodes if (r := reports.get((n.uid, subtask)))]
                due = [r.next_wakeup_ms for r in said if r.next_wakeup_ms is not None]
                busy_ms = sum(r.busy_ms for r in said)
                if moved and not epoch.final:
                    due.append(epoch.plan.processing_time_ms)
                made.append(SubtaskReport(stage.id, subtask, "", found, min(due, default=None), busy_ms))
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
            if report is None:
                raise InvariantError(f"subtask {subtask} of '{node.name}' did not report")
            reached = target if report.advanced is None else max(target, report.advanced)
            runtime["advanced"] = max(reached, runtime.get("advanced", MIN_WATERMARK))
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
            metrics={"counters": report.metrics} if report and node.is_keyed else {},
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


def _columns_type(node: DeltaNode, index: int) -> RowType:
    """The columns of an input as they reach the operator."""
    local = node.local[index] if node.local else None
    types = [f.type for f in node.inputs[index].fields] if local is None else local.output_types()
    return _row_type(types)


def _row_type(types: Sequence[DataType]) -> RowType:
    return RowType([RowField(f"c{i}", t.nullable()) for i, t in enumerate(types)], nullable=False)


def _shape_types(task: DeltaTask) -> list[tuple[str, str]]:
    types = ["INT", "INT", *(spark_type(f.type) for f in HIDDEN)]
    types += [spark_type(f.data_type) for t in task.input_types for f in t.fields]
    return list(zip(shape_names(task.input_types), types, strict=True))


def _shape_ddl(task: DeltaTask) -> str:
    return ", ".join(f"{name} {data_type}" for name, data_type in _shape_types(task))


def _watermark_of(stages: tuple[Stage, ...]) -> WatermarkTask | None:
    return next((stage for stage in stages if isinstance(stage, WatermarkTask)), None)


def branches(plan: Plan) -> list[Plan]:
    """The parts of a UNION ALL, with the projections above it moved into them."""
    if isinstance(plan, SetOp) and plan.kind == "UNION" and plan.all:
        return [*branches(plan.left), *branches(plan.right)]
    if isinstance(plan, Project):
        return [replace(plan, input=below) for below in branches(plan.input)]
    return [plan]


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
    """Whether the epoch is certain to read the split to its end."""
    split, limit = read.split, read.limit
    assert isinstance(split, PartSplit)
    left = split.rows_left(read.position)
    if limit.split_ends is False or left is None:
        return False
    return limit.max_records is None or left < limit.max_records


def _no_scan(scan: Any) -> str:
    raise InvariantError("a table scan inside a Spark SQL segment")
