"""The input side of a stage: what came through its exchanges is handed to its operators, as long as its time lasts.

Input by input; channels of an input that carry elements are merged by time (`merging.py`). What is left when the time
is over waits for the next epoch (`waiting.py`). Tables are neither merged nor cut: operators over columns take an
epoch's tables together, and how many there are is the pacing's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.graph.stages import Stage
from penstock.graph.stream_graph import StreamEdge, StreamGraph
from penstock.graph.transformations import OperatorTransformation
from penstock.operators.time_box import TimeBox
from penstock.runtime.attempts import combined
from penstock.runtime.exchange import IncomingChannel, Mark, Parcel, element_channel, gather
from penstock.runtime.merging import merged_items
from penstock.runtime.node import NodeRuntime
from penstock.runtime.tables.parcels import TableChannel, carries_tables
from penstock.runtime.waiting import Waiting, owned, rest_of, resume

Incoming = dict[int, list[Any]]
"""The channels of each edge."""


class Feeding:
    """Feeds the operators of one act of a stage, for one subtask.

    Attributes:
        waiting: What the last epoch has left over; part of the subtask's state.
        heard: Which runs of its senders the input of this epoch comes from.
    """

    def __init__(
        self, graph: StreamGraph, stage: Stage, act: int, subtask: int, nodes: Mapping[int, NodeRuntime]
    ) -> None:
        self._graph = graph
        self._stage = stage
        self._act = act
        self._subtask = subtask
        self._nodes = nodes
        self._edges = [e for e in (*stage.exchanges_in, *stage.local_edges) if self._enters(e)]
        self.waiting: tuple[Waiting, ...] = ()
        self.heard: dict[int, int] = {}
        self._homeless: list[Waiting] = []
        self._box = TimeBox()

    def _enters(self, edge_id: int) -> bool:
        edge = self._graph.edges[edge_id]
        return edge.target in self._nodes and (
            edge.source not in self._nodes or edge_id in self._stage.exchanges_in
        )

    def gather(self, parcels: Iterable[Parcel]) -> Incoming:
        """The channels of the epoch, each behind what waits of it; valves are told where they stand."""
        incoming = gather(self._graph, self._edges, self._subtask, parcels, open_channel)
        self.heard = {
            edge_id: combined(channel.start.run for channel in channels)
            for edge_id, channels in incoming.items()
            if edge_id in self._stage.exchanges_in
        }
        self._homeless = resume(self._graph, incoming, self.waiting)
        self.waiting = ()
        return incoming

    def announce(self, incoming: Incoming) -> None:
        for edge_id, channels in incoming.items():
            edge = self._graph.edges[edge_id]
            node = self._nodes[edge.target]
            for channel in channels:
                node.register((edge_id, channel.sender), edge.input_index)
                node.announce((edge_id, channel.sender), channel.start)

    def feed(self, incoming: Incoming, tables: Sequence[pa.Table], limit_ms: float | None) -> Iterator[None]:
        """Hands over what is there; yields after every batch, so that output can leave meanwhile."""
        self._box.open(limit_ms)
        yield from self._feed_homeless()
        segment = self._stage.segments[self._act - 1] if self._act else None
        for edge_id in sorted(incoming, key=self._order):
            edge = self._graph.edges[edge_id]
            for table in tables if edge_id == segment else ():
                self._nodes[edge.target].receive_table(edge.input_index, table)
                yield
            channels = incoming[edge_id]
            if len(channels) > 1 and not carries_tables(edge):
                yield from self._feed_merged(edge, channels)
            else:
                for channel in channels:
                    yield from self._feed_channel(edge, channel)
            for channel in channels:
                if channel.parcels:
                    self.waiting += (rest_of(self._graph, edge, self._subtask, channel),)

    def _feed_merged(self, edge: StreamEdge, channels: Sequence[IncomingChannel]) -> Iterator[None]:
        node = self._nodes[edge.target]
        for channel, item in merged_items(channels, self._box):
            if isinstance(item, Mark):
                assert channel is not None
                node.receive_from((edge.id, channel.sender), item)
            else:
                node.receive(edge.input_index, item[0], item[1])
                yield

    def _feed_channel(self, edge: StreamEdge, channel: Any) -> Iterator[None]:
        node, name = self._nodes[edge.target], (edge.id, channel.sender)
        for item in channel.items(self._box):
            if isinstance(item, Mark):
                node.receive_from(name, item)
            elif isinstance(item, pa.Table):
                node.receive_table(edge.input_index, item)
                yield
            else:
                node.receive(edge.input_index, item[0], item[1])
                yield

    def _feed_homeless(self) -> Iterator[None]:
        """What waited in channels that a restore has removed; all of it, once."""
        for node_id, node in self._nodes.items():
            mine = [w for w in self._homeless if w.target_uid == node.operator.context.uid]
            for input_index, values, timestamps in owned(self._graph, node_id, self._subtask, mine):
                node.receive(input_index, values, timestamps)
                yield
        self._homeless = []

    def _order(self, edge_id: int) -> tuple[int, bool, int, int]:
        edge = self._graph.edges[edge_id]
        transformation = self._graph.nodes[edge.target].transformation
        first = None
        if isinstance(transformation, OperatorTransformation):
            first = transformation.requires_broadcast_first
        return edge.target, edge.input_index != first, edge.input_index, edge_id

    def waiting_for(self, uid: str) -> tuple[Waiting, ...]:
        """What waits for one operator."""
        return tuple(w for w in self.waiting if w.target_uid == uid)


def open_channel(edge: StreamEdge, parcels: list[Parcel]) -> Any:
    """The receiving end of a channel."""
    return TableChannel(parcels) if carries_tables(edge) else element_channel(edge, parcels)
