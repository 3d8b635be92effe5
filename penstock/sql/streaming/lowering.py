"""From the physical plan to transformations of the engine: the graph that the coordinator runs.

    ScanNode        a source of the connector, read in columns
    ValuesNode      a source of its own
    WatermarkNode   ┐
    LookupNode      │ operators of `runtime/tables`, in the order in which the plan has them
    DeltaNode       ┘ its inputs come through an exchange by key
    Stream          the linear steps between two nodes (`linear.py`)
    an INSERT       the connector's sink

A node that several queries read becomes one transformation, so its rows are computed once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.common.datatypes import RowType
from penstock.common.pickling import ship
from penstock.connectors.sink import Sink
from penstock.connectors.source import Source
from penstock.delta.local.base import LocalStage
from penstock.delta.local.top_n import LocalTopN
from penstock.formats.arrow_rows import columns_type
from penstock.graph.transformations import (
    OperatorTransformation,
    Partitioner,
    PartitionerKind,
    PartitionTransformation,
    SinkTransformation,
    SourceTransformation,
    Transformation,
    UnionTransformation,
)
from penstock.runtime.tables.delta import DeltaTableOperator
from penstock.runtime.tables.local import LocalTableOperator
from penstock.runtime.tables.lookup import LookupTableOperator
from penstock.runtime.tables.split_watermark import SplitWatermarkTableOperator
from penstock.runtime.tables.watermark import WatermarkTableOperator
from penstock.sql.plan.algebra import Fields, Plan
from penstock.sql.streaming.distribution import is_in_place
from penstock.sql.streaming.linear import Linear, linear_parts, table_type
from penstock.sql.streaming.physical import (
    HIDDEN,
    DeltaNode,
    LookupNode,
    PhysicalNode,
    ScanNode,
    Stream,
    StreamNode,
    ValuesNode,
    WatermarkNode,
)
from penstock.sql.streaming.state_text import column_names
from penstock.sql.streaming.values import ValuesSource, values_source


@dataclass
class Lowering:
    """Makes the transformations of one job."""

    linear: Linear
    _made: dict[int, Transformation] = field(default_factory=dict)

    # -- streams ---------------------------------------------------------------------------------------

    def stream(self, stream: Stream, parallelism: int | None = None, evenly: bool = False) -> Transformation:
        """The rows of a stream for an operator without a key.

        They stay where they are made if the operator has as many subtasks, unless they are to be spread `evenly`.
        """
        wanted = parallelism or self.parallelism(stream)
        parts = [
            part if node.parallelism == wanted and not evenly else _spread(part, stream)
            for part, (node, _) in zip(self._parts(stream), linear_parts(stream.plan), strict=True)
        ]
        return _together(parts)

    def _parts(self, stream: Stream) -> list[Transformation]:
        return [
            self.linear.over(self.node(node), (*node.fields, *HIDDEN), steps, node.parallelism)
            for node, steps in linear_parts(stream.plan)
        ]

    def parallelism(self, stream: Stream) -> int:
        """How many subtasks make the rows of a stream, at most."""
        return max((node.parallelism for node in stream.nodes), default=1)

    # -- nodes -----------------------------------------------------------------------------------------

    def node(self, node: PhysicalNode) -> Transformation:
        """What computes a node; the same one for everybody who reads it."""
        if id(node) not in self._made:
            self._made[id(node)] = _NODES[type(node)](self, node)
        return self._made[id(node)]

    def _scan(self, node: ScanNode) -> Transformation:
        assert node.connector is not None and node.scan is not None
        return SourceTransformation(
            node.name,
            output_type=table_type((*node.fields, *HIDDEN)),
            parallelism=node.parallelism,
            uid=node.uid,
            source=node.connector.source(node.scan.table, list(node.columns)),
            changelog=node.connector.changelog_mode(node.scan.table) == "changelog",
            tags_splits=node.tags_splits,
        )

    def _values(self, node: ValuesNode) -> Transformation:
        if node.local is not None:
            made: Source = ValuesSource(node.local.table)
            fields: Fields = (*node.fields, *HIDDEN)
            steps: list[Plan] = []
        else:
            assert node.values is not None
            made, fields, steps = values_source(node.values, self.linear.zone)
        source = SourceTransformation(
            node.name, output_type=table_type(fields), parallelism=1, uid=node.uid, source=made
        )
        return self.linear.over(source, fields, steps, 1)

    def _stream_node(self, node: StreamNode) -> Transformation:
        """Rows of a DataStream: the border operator is made by whoever knows its types."""
        return node.make(node)

    def _watermark(self, node: WatermarkNode) -> Transformation:
        width, interval, column, delay = len(node.fields), node.interval_ms, node.time_column, node.delay_ms
        if node.by_split:
            idle_ms = node.idle_ms
            return self._operator(
                node, lambda: SplitWatermarkTableOperator(width, interval, column, delay, idle_ms)
            )
        return self._operator(node, lambda: WatermarkTableOperator(width, interval, column, delay))

    def _lookup(self, node: LookupNode) -> Transformation:
        stream = node.inputs[0]
        spec, width = node.spec, stream.width
        input_type = columns_type([f.type for f in stream.fields])
        output_type = columns_type([f.type for f in node.fields])
        node.parallelism = self.parallelism(stream)
        return self._operator(node, lambda: LookupTableOperator(spec, input_type, output_type, width))

    def _operator(self, node: PhysicalNode, factory: Callable[[], Any]) -> Transformation:
        return OperatorTransformation(
            node.name,
            [self.stream(node.inputs[0], node.parallelism)],
            output_type=table_type((*node.fields, *HIDDEN)),
            parallelism=node.parallelism,
            uid=node.uid,
            operator_factory=factory,
        )

    def _delta(self, node: DeltaNode) -> Transformation:
        operator = node.operator
        assert operator is not None
        locals_: Sequence[LocalStage | None] = node.local or (None,) * len(node.inputs)
        keys = [operator.key_columns(i) for i in range(len(node.inputs))]
        inputs = [
            self._exchanged(node, stream, local, key)
            for stream, local, key in zip(node.inputs, locals_, keys, strict=True)
        ]
        types = [_arriving(s, local) for s, local in zip(node.inputs, locals_, strict=True)]
        output, shipped = node.row_type, ship(operator)
        names = [column_names(stream) for stream in node.inputs]
        return OperatorTransformation(
            node.name,
            inputs,
            output_type=table_type((*node.fields, *HIDDEN)),
            parallelism=node.parallelism,
            uid=node.uid,
            operator_factory=lambda: DeltaTableOperator(
                shipped, types, output, locals_, node.detail_of_changes, names
            ),
            key_selectors=(None,) * len(inputs),
            key_columns=keys,
        )

    def _exchanged(
        self, target: DeltaNode, stream: Stream, local: LocalStage | None, key: tuple[int, ...]
    ) -> Transformation:
        """An input of a stateful operator: local work, then an exchange by key, unless rows are in place already."""
        arrived = []
        below = linear_parts(stream.plan)
        for part, (node, steps) in zip(self._parts(stream), below, strict=True):
            keeps = local is None or isinstance(local, LocalTopN)
            if keeps and len(below) == 1 and is_in_place(node, steps, key, target):
                return self._local(part, local, node, target)
            arrived.append(by_key(self._local(part, local, node, target), key))
        return _together(arrived)

    def _local(
        self, part: Transformation, local: LocalStage | None, node: PhysicalNode, target: DeltaNode
    ) -> Transformation:
        """What is done to rows of a node before they are sent to the target."""
        if local is None:
            return part
        return OperatorTransformation(
            f"Local{type(local).__name__}",
            [part],
            output_type=table_type_of(local),
            parallelism=node.parallelism,
            operator_factory=functools.partial(LocalTableOperator, local, target.detail_of_changes),
        )

    # -- ends ------------------------------------------------------------------------------------------

    def sink(
        self,
        stream: Stream,
        sink: Sink,
        name: str,
        uid: str,
        parallelism: int | None = None,
        partition_by: tuple[int, ...] | None = None,
        changelog: bool = True,
    ) -> SinkTransformation:
        """The end of a query. With `partition_by` equal rows of these columns come to one writer, in order."""
        wanted = parallelism or self.parallelism(stream)
        if partition_by:
            source = _together([by_key(part, partition_by) for part in self._parts(stream)])
        else:
            source = self.stream(stream, wanted, evenly=partition_by is not None)
        return SinkTransformation(name, [source], parallelism=wanted, uid=uid, sink=sink, changelog=changelog)


def _together(parts: Sequence[Transformation]) -> Transformation:
    return parts[0] if len(parts) == 1 else UnionTransformation("Union", parts)


def _spread(part: Transformation, stream: Stream) -> Transformation:
    """Evenly; but rows that are taken back must not overtake themselves, so a subtask's changes all go to one."""
    kind = PartitionerKind.RESCALE if stream.retracts else PartitionerKind.REBALANCE
    return PartitionTransformation("exchange", [part], partitioner=Partitioner(kind))


def by_key(source: Transformation, columns: tuple[int, ...]) -> Transformation:
    """Rows with equal values in these columns at one subtask; without columns all rows at one."""
    partitioner = Partitioner(PartitionerKind.HASH, key_columns=columns)
    return PartitionTransformation("exchange", [source], partitioner=partitioner)


def table_type_of(local: LocalStage) -> Any:
    from penstock.common.table_type import TableTypeInfo

    return TableTypeInfo(columns_type(local.output_types()))


def _arriving(stream: Stream, local: LocalStage | None) -> RowType:
    """The columns of an input as they reach the operator."""
    types = [f.type for f in stream.fields] if local is None else local.output_types()
    return columns_type(types)


_L = Lowering
_NODES: dict[type, Callable[[Lowering, Any], Transformation]] = {
    ScanNode: _L._scan,
    ValuesNode: _L._values,
    StreamNode: _L._stream_node,
    WatermarkNode: _L._watermark,
    LookupNode: _L._lookup,
    DeltaNode: _L._delta,
}
