"""The program as operators and edges: unions, partitionings and side outputs are resolved away.

    transformations      source ── partition(hash) ── process ── sideOutput('late') ── sink
    stream graph         source ──HASH──▶ process ──FORWARD, tag 'late'──▶ sink

Nothing here knows Spark. Parallelism is decided, every operator has a uid, and what cannot work is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import xxhash

from penstock.common.errors import ValidationError
from penstock.common.ids import OperatorUid
from penstock.common.key_groups import default_max_parallelism
from penstock.graph.transformations import (
    OperatorTransformation,
    Partitioner,
    PartitionerKind,
    PartitionTransformation,
    SideOutputTransformation,
    SinkTransformation,
    SourceTransformation,
    Transformation,
    UnionTransformation,
)

if TYPE_CHECKING:
    from penstock.common.typeinfo import TypeInformation

FORWARD = Partitioner(PartitionerKind.FORWARD)
REBALANCE = Partitioner(PartitionerKind.REBALANCE)
_STAYS = (PartitionerKind.FORWARD, PartitionerKind.CATALYST)


@dataclass(frozen=True)
class GraphSettings:
    """What `execute()` decides for operators that did not say it themselves."""

    parallelism: int = 1
    max_parallelism: int | None = None
    batch_mode: bool = False
    of_uids: Mapping[OperatorUid, int] = field(default_factory=dict)
    """The parallelism of single operators, whatever the program says: of a job that is rescaled."""
    max_of_uids: Mapping[OperatorUid, int] = field(default_factory=dict)


@dataclass(frozen=True)
class StreamNode:
    """One operator with its parallelism. `id` is its position in topological order."""

    id: int
    uid: OperatorUid
    name: str
    transformation: Transformation
    parallelism: int
    max_parallelism: int

    @property
    def is_source(self) -> bool:
        return isinstance(self.transformation, SourceTransformation)

    @property
    def is_sink(self) -> bool:
        return isinstance(self.transformation, SinkTransformation)

    @property
    def output_type(self) -> TypeInformation | None:
        return self.transformation.output_type

    @property
    def key_selectors(self) -> Sequence[Callable[[Any], Any] | None]:
        t = self.transformation
        return t.key_selectors if isinstance(t, OperatorTransformation) else (None,)

    @property
    def is_keyed(self) -> bool:
        t = self.transformation
        return isinstance(t, OperatorTransformation) and t.is_keyed

    @property
    def sorts_by_key(self) -> bool:
        """Whether BATCH mode hands it elements key by key; operators over tables bring keys together themselves."""
        return any(selector is not None for selector in self.key_selectors)

    @property
    def key_type(self) -> TypeInformation | None:
        t = self.transformation
        return t.key_type if isinstance(t, OperatorTransformation) else None


@dataclass(frozen=True)
class StreamEdge:
    """How elements get from one operator to an input of another."""

    id: int
    source: int
    target: int
    input_index: int
    partitioner: Partitioner
    tag_id: str | None
    element_type: TypeInformation | None


@dataclass
class StreamGraph:
    """Operators in topological order, and the edges between them."""

    settings: GraphSettings
    nodes: list[StreamNode] = field(default_factory=list)
    edges: list[StreamEdge] = field(default_factory=list)

    def inputs_of(self, node_id: int) -> list[StreamEdge]:
        return [edge for edge in self.edges if edge.target == node_id]

    def is_local(self, edge: StreamEdge) -> bool:
        """True if element i stays with subtask i: such an edge needs no exchange."""
        same = self.nodes[edge.source].parallelism == self.nodes[edge.target].parallelism
        return same and edge.partitioner.kind in _STAYS


def build_stream_graph(sinks: Sequence[Transformation], settings: GraphSettings) -> StreamGraph:
    """Resolves the transformations that the given ones depend on.

    Raises:
        ValidationError: No operator, a uid used twice, or a forward partitioning that changes parallelism.
    """
    if not sinks:
        raise ValidationError(
            "the job has no operators",
            do="add a sink (print(), sink_to(...)) before execute(), or use execute_and_collect()",
        )
    return _Builder(settings).build(sinks)


@dataclass(frozen=True)
class _Upstream:
    """A physical node seen through virtual ones."""

    node: StreamNode
    partitioner: Partitioner | None
    tag_id: str | None
    element_type: TypeInformation | None


class _Builder:
    """Walks from the sinks to the sources; a node is added after all its inputs."""

    def __init__(self, settings: GraphSettings) -> None:
        self._graph = StreamGraph(settings)
        self._resolved: dict[int, list[_Upstream]] = {}
        self._uids: dict[str, StreamNode] = {}

    def build(self, sinks: Sequence[Transformation]) -> StreamGraph:
        for sink in sinks:
            self._walk(sink)
        return self._graph

    def _walk(self, root: Transformation) -> None:
        # An explicit stack: a program of a thousand chained maps must not hit Python's recursion limit.
        stack: list[tuple[Transformation, bool]] = [(root, False)]
        while stack:
            transformation, inputs_done = stack.pop()
            if transformation.id in self._resolved:
                continue
            if inputs_done:
                self._resolved[transformation.id] = self._resolve(transformation)
                continue
            stack.append((transformation, True))
            stack.extend((t, False) for t in reversed(transformation.inputs))

    def _resolve(self, t: Transformation) -> list[_Upstream]:
        upstream = [self._resolved[i.id] for i in t.inputs]
        if isinstance(t, UnionTransformation):
            return [u for group in upstream for u in group]
        if isinstance(t, PartitionTransformation):
            return [_Upstream(u.node, t.partitioner, u.tag_id, u.element_type) for u in upstream[0]]
        if isinstance(t, SideOutputTransformation):
            return [_Upstream(u.node, u.partitioner, t.tag_id, t.output_type) for u in upstream[0]]
        node = self._add_node(t, upstream)
        for input_index, group in enumerate(upstream):
            for u in group:
                self._add_edge(u, node, input_index)
        return [_Upstream(node, None, None, t.output_type)]

    def _add_node(self, t: Transformation, upstream: list[list[_Upstream]]) -> StreamNode:
        settings = self._graph.settings
        uid = OperatorUid(t.uid or t.uid_hash or _generated_uid(len(self._graph.nodes), t, upstream))
        parallelism = settings.of_uids.get(uid) or t.parallelism or settings.parallelism
        max_parallelism = (
            settings.max_of_uids.get(uid)
            or t.max_parallelism
            or settings.max_parallelism
            or default_max_parallelism(parallelism)
        )
        if parallelism > max_parallelism:
            raise ValidationError(
                f"the parallelism {parallelism} of '{t.name}' is above its max parallelism {max_parallelism}",
                where=t.call_site,
                do="raise set_max_parallelism(...) or lower set_parallelism(...)",
            )
        node = StreamNode(len(self._graph.nodes), uid, t.name, t, parallelism, max_parallelism)
        if uid in self._uids:
            raise ValidationError(
                f"the uid '{uid}' is used by two operators: '{self._uids[uid].name}' and '{t.name}'",
                where=t.call_site,
                do="give every operator a uid of its own: state is kept under it",
            )
        self._uids[uid] = node
        self._graph.nodes.append(node)
        return node

    def _add_edge(self, u: _Upstream, target: StreamNode, input_index: int) -> None:
        same_parallelism = u.node.parallelism == target.parallelism
        partitioner = u.partitioner or (FORWARD if same_parallelism else REBALANCE)
        if partitioner.kind in _STAYS and not same_parallelism:
            raise ValidationError(
                f"forward partitioning from '{u.node.name}' (parallelism {u.node.parallelism}) to "
                f"'{target.name}' (parallelism {target.parallelism}) would have to change the parallelism",
                where=target.transformation.call_site,
                do="give both operators the same parallelism, or use rebalance() or rescale()",
            )
        self._graph.edges.append(
            StreamEdge(
                len(self._graph.edges),
                u.node.id,
                target.id,
                input_index,
                partitioner,
                u.tag_id,
                u.element_type,
            )
        )


def _generated_uid(position: int, t: Transformation, upstream: list[list[_Upstream]]) -> str:
    """The same program gets the same uids: position, name and inputs decide, nothing random."""
    parts = [str(position), t.name, *(u.node.uid for group in upstream for u in group)]
    return xxhash.xxh3_128_hexdigest("\x00".join(parts).encode())
