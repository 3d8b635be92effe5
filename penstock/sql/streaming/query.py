"""A streaming query as it is run: its nodes, its outputs, and which nodes have several readers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from penstock.sql.connectors.moments import Moment
from penstock.sql.plan.algebra import DataFrameScan, walk_plan
from penstock.sql.streaming.physical import PhysicalNode, Stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class EpochSink(Protocol):
    """Takes the changes of an epoch; what it returns is committed with the epoch."""

    def take(self, spark: SparkSession, frame: DataFrame) -> tuple[Any, ...]: ...


@dataclass(frozen=True)
class Taken:
    """What a sink leaves of an epoch.

    Attributes:
        committables: What is committed with the epoch.
        state: What the sink wants to know in the next epoch; part of the checkpoint.
        wake_ms: The processing time at which it wants an epoch even if there is nothing to read.
    """

    committables: tuple[Any, ...] = ()
    state: Any = None
    wake_ms: int | None = None


@runtime_checkable
class TimedSink(EpochSink, Protocol):
    """A sink that commits by time."""

    def at_end(self, committables: tuple[Any, ...], moment: Moment, state: Any) -> Taken:
        """Called in the driver after `take`, once for every try of an epoch, with the state of the epoch before."""


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
    def by_uid(self) -> dict[str, PhysicalNode]:
        return {node.uid: node for node in self.nodes}

    @cached_property
    def shared(self) -> frozenset[str]:
        """Views of the nodes with more than one reader: their rows are kept while the epoch runs."""
        streams = [o.stream for o in self.outputs] + [s for node in self.nodes for s in node.inputs]
        leaves = [p for s in streams for p in walk_plan(s.plan) if isinstance(p, DataFrameScan)]
        readers = Counter(leaf.source.view for leaf in leaves if leaf.source is not None)
        return frozenset(view for view, count in readers.items() if count > 1)
