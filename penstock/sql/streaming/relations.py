"""The relations of one epoch, as Spark sees them: SQL texts over temporary views, and Python stages between.

`Relations` is made for an epoch and thrown away with it. From a plan it works downwards: a node that somebody reads
becomes a view, the plan above it a text. Where Spark has nothing to compute between a scan and the next exchange,
there is neither: scan, watermark, local work and routing are a *straight* chain in one Python process, and no row
goes to the JVM and back. What an operator's inputs look like is in `delta_frame.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.common.datatypes import RowType
from penstock.common.errors import InvariantError
from penstock.runtime.plan import JobDefinition
from penstock.sql.connectors.spark_types import spark_schema
from penstock.sql.functions.text import spark_type
from penstock.sql.plan.algebra import DataFrameScan, Plan, Project
from penstock.sql.plan.rex import InputRef
from penstock.sql.spark.batch import register_udfs
from penstock.sql.spark.text import SparkWriter
from penstock.sql.streaming.delta_frame import delta_frame, row_type_of
from penstock.sql.streaming.epoch import Epoch, runtime_state
from penstock.sql.streaming.epoch_reports import Collector
from penstock.sql.streaming.epoch_time import PARAMETER
from penstock.sql.streaming.exchange_task import Select
from penstock.sql.streaming.lookups import LookupTask
from penstock.sql.streaming.physical import (
    HIDDEN,
    DeltaNode,
    LookupNode,
    PhysicalNode,
    ScanNode,
    ValuesNode,
    WatermarkNode,
    hidden_constants,
)
from penstock.sql.streaming.query import Query
from penstock.sql.streaming.scan_source import part_reader, reads_relation
from penstock.sql.streaming.scan_task import ScanTask
from penstock.sql.streaming.task_report import Chain, Stage
from penstock.sql.streaming.watermark_task import WatermarkTask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Straight:
    """A scan, and the stages that follow it in the same Python process."""

    spark: SparkSession
    node: ScanNode
    scan: ScanTask
    after: tuple[Stage, ...] = ()
    watermark: WatermarkTask | None = None

    def then(self, *stages: Stage) -> Straight:
        watermark = next((s for s in stages if isinstance(s, WatermarkTask)), self.watermark)
        return Straight(self.spark, self.node, self.scan, (*self.after, *stages), watermark)

    def frame(self, schema: str) -> DataFrame:
        subtasks = self.spark.range(0, self.node.parallelism, 1, self.node.parallelism)
        return subtasks.mapInArrow(Chain((self.scan, *self.after)).__call__, schema)


class Relations:
    """Makes the data frames of one epoch; `close` drops what it left in the session."""

    def __init__(
        self,
        job: JobDefinition,
        query: Query,
        epoch: Epoch,
        spark: SparkSession,
        udf_text: Any,
        collector: Collector,
    ) -> None:
        self.job = job
        self.epoch = epoch
        self.spark = spark
        self.report = collector.accumulator
        self._query = query
        self._udf_text = udf_text
        self._collector = collector
        self._views: set[str] = set()
        self._kept: list[DataFrame] = []

    def frame(self, plan: Plan) -> DataFrame:
        """A plan's relation."""
        return self.sql(self.text(plan))

    def close(self) -> None:
        for view in self._views:
            self.spark.catalog.dropTempView(view)
        self._views = set()
        while self._kept:
            self._kept.pop().unpersist()

    def text(self, plan: Plan) -> str:
        """A plan as Spark SQL, whose views are there."""
        self._make_views(plan)
        return SparkWriter(_no_scan, self._udf_text).text(plan)

    def sql(self, text: str) -> DataFrame:
        register_udfs(self.spark, text)
        if PARAMETER in text:
            return self.spark.sql(text, args={PARAMETER: self.epoch.plan.processing_time_ms})
        return self.spark.sql(text)

    def straight(self, plan: Plan) -> Straight | None:
        """The stages from a scan to this plan, if Spark has nothing to compute on the way."""
        if isinstance(plan, Project):
            columns = tuple(rex.index for rex in plan.exprs if isinstance(rex, InputRef))
            if len(columns) < len(plan.exprs):
                return None
            below = self.straight(plan.input)
            return below and below.then(Select(columns))
        node = plan.source if isinstance(plan, DataFrameScan) else None
        if node is not None and node.view in self._query.shared:
            return None  # computed once for all its readers
        if isinstance(node, ScanNode) and not reads_relation(node):
            return self._scanned(node)
        if isinstance(node, WatermarkNode):
            below = self.straight(node.inputs[0].plan)
            return below and below.then(self._watermark_task(node))
        return None

    # -- nodes ---------------------------------------------------------------------------------------

    def _make_views(self, plan: Plan) -> None:
        node = plan.source if isinstance(plan, DataFrameScan) else None
        if node is not None and node.view not in self._views:
            frame = self._node_frame(node)
            if node.view in self._query.shared:
                self._kept.append(frame.persist())
            frame.createOrReplaceTempView(node.view)
            self._views.add(node.view)
        for below in plan.inputs:
            self._make_views(below)

    def _node_frame(self, node: PhysicalNode) -> DataFrame:
        if isinstance(node, ValuesNode):
            assert node.values is not None
            return self._once(node, SparkWriter(_no_scan, self._udf_text).text(node.values))
        if isinstance(node, ScanNode):
            if reads_relation(node):
                return self._once(node, self._relation(node))
            return self._scanned(node).frame(spark_schema(node.row_type))
        if isinstance(node, WatermarkNode):
            return self._watermark(node)
        if isinstance(node, LookupNode):
            return self._lookup(node)
        if isinstance(node, DeltaNode):
            return delta_frame(self, node)
        raise InvariantError(f"no epoch of a {type(node).__name__}")

    def _once(self, node: PhysicalNode, text: str) -> DataFrame:
        """A relation that comes whole in the epoch that reads it."""
        plans = self.epoch.nodes[node.uid].values()
        reads = [r for plan in plans if plan.source for r in plan.source.reads]
        self._collector.add_once(node.uid, reads)
        shown = [f"CAST(c{i} AS {spark_type(f.type)}) AS c{i}" for i, f in enumerate(node.fields)]
        writer = SparkWriter(_no_scan)
        constants = [
            f"{writer.rex(c, [])} AS {f.name}" for c, f in zip(hidden_constants(), HIDDEN, strict=True)
        ]
        where = "" if reads else " WHERE false"
        frame = self.sql(f"SELECT {', '.join([*shown, *constants])} FROM ({text}){where}")
        return frame.coalesce(1)

    def _relation(self, node: ScanNode) -> str:
        assert node.connector is not None and node.scan is not None
        relation = node.connector.batch_relation(self.spark, node.scan.table, None)
        columns = ", ".join(f"`{f.name}` AS c{i}" for i, f in enumerate(node.fields))
        return f"SELECT {columns} FROM {relation}"

    def _scanned(self, node: ScanNode) -> Straight:
        plans = self.epoch.nodes[node.uid]
        reads = {i: plan.source.reads for i, plan in plans.items() if plan.source is not None}
        task = ScanTask(node.uid, part_reader(node), reads, self.report)
        return Straight(self.spark, node, task)

    def _watermark(self, node: WatermarkNode) -> DataFrame:
        below = self.straight(node.inputs[0].plan)
        task, schema = self._watermark_task(node), spark_schema(node.row_type)
        if below is not None:
            return below.then(task).frame(schema)
        return self.frame(node.inputs[0].plan).mapInArrow(task.__call__, schema)

    def _watermark_task(self, node: WatermarkNode) -> WatermarkTask:
        former = {}
        for subtask, plan in self.epoch.nodes[node.uid].items():
            state = runtime_state(plan)
            if state:
                former[subtask] = (state["current"], state["watermark"])
        return WatermarkTask(
            node.uid,
            len(node.fields),
            node.interval_ms,
            former,
            self.report,
            node.time_column,
            node.delay_ms,
        )

    def _lookup(self, node: LookupNode) -> DataFrame:
        stream = node.inputs[0]
        columns = [
            *row_type_of([f.type for f in stream.fields]).fields,
            *node.row_type.fields[-len(HIDDEN) :],
        ]
        task = LookupTask(node.view, node.spec, RowType(columns, nullable=False), node.row_type)
        return self.frame(stream.plan).mapInArrow(task.__call__, spark_schema(node.row_type))


def _no_scan(scan: Any) -> str:
    raise InvariantError("a table scan inside a Spark SQL segment")
