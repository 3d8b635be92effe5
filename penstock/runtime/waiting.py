"""What a subtask has received and not processed yet: part of its state between two epochs (`operators/time_box.py`).

    epoch n      channel  a b c d W e │ f g END        the time is over behind e
    epoch n+1    channel              │ f g END, then what the sender sends now (nothing: it has ended)

A channel goes on where it was: its watermark is that of the elements that were processed, whatever the sender has
said since. After a change of parallelism or of the program there are no such channels any more. Then elements that
wait are handed to the subtasks that own them now, before anything else, and then the channels that there are now
repeat where they stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.common.codecs import compile_codec
from penstock.runtime.exchange import ChannelStatus, IncomingChannel, Mark, Parcel
from penstock.runtime.routing import Timestamps, make_router

if TYPE_CHECKING:
    from penstock.graph.stream_graph import StreamEdge, StreamGraph


@dataclass(frozen=True)
class Waiting:
    """The rest of one channel.

    Attributes:
        status: Where the channel stands before `parcels`.
        exchange: Everything that has to be as before for the channel to go on (`target_uid` is part of it).
        element_type: By which the values are encoded.
    """

    edge: int
    sender: int
    target: int
    status: ChannelStatus
    parcels: tuple[Parcel, ...]
    exchange: tuple[Any, ...]
    input_index: int
    element_type: Any

    @property
    def target_uid(self) -> str:
        return str(self.exchange[2])

    @property
    def values(self) -> int:
        return sum(parcel.size for parcel in self.parcels)


def rest_of(graph: StreamGraph, edge: StreamEdge, subtask: int, channel: IncomingChannel) -> Waiting:
    """What a channel has not handed over."""
    return Waiting(
        edge.id,
        channel.sender,
        subtask,
        channel.status,
        tuple(channel.parcels),
        _identity(graph, edge),
        edge.input_index,
        edge.element_type,
    )


def resume(graph: StreamGraph, incoming: dict[int, list[Any]], waiting: Iterable[Waiting]) -> list[Waiting]:
    """Puts what waits in front of its channel; answers what has no such channel any more."""
    homeless = []
    for rest in waiting:
        edge = graph.edges[rest.edge] if rest.edge < len(graph.edges) else None
        same = edge is not None and rest.edge in incoming and _identity(graph, edge) == rest.exchange
        channels = [c for c in incoming.get(rest.edge, ()) if c.sender == rest.sender] if same else []
        if channels:
            channels[0].go_on_from(rest.status, rest.parcels)
        else:
            homeless.append(rest)
    for channel in (c for channels in incoming.values() for c in channels) if homeless else ():
        if isinstance(channel, IncomingChannel):
            channel.repeat_status()
    return homeless


def owned(
    graph: StreamGraph, node_id: int, subtask: int, homeless: Sequence[Waiting]
) -> Iterator[tuple[int, list[Any], Timestamps]]:
    """Of elements that wait and whose channels are gone, those of this subtask: input, values, timestamps."""
    for rest in homeless:
        edge = next((e for e in graph.inputs_of(node_id) if e.input_index == rest.input_index), None)
        if edge is None:
            continue
        channel = IncomingChannel(compile_codec(rest.element_type), list(rest.parcels), rest.status)
        for item in channel.items():
            if isinstance(item, Mark):
                continue
            yield from ((rest.input_index, v, t) for v, t in _mine(graph, edge, subtask, rest, item))


def _mine(
    graph: StreamGraph, edge: StreamEdge, subtask: int, rest: Waiting, batch: Any
) -> list[tuple[list[Any], Timestamps]]:
    """The part of a batch that this subtask owns: by key, else where the old subtask went."""
    target = graph.nodes[edge.target]
    if edge.partitioner.key_selector is None:
        return [batch] if rest.target % target.parallelism == subtask else []
    found: list[tuple[list[Any], Timestamps]] = []

    def send(to: int, values: list[Any], timestamps: Timestamps) -> None:
        if to == subtask:
            found.append((values, timestamps))

    route = make_router(
        edge.partitioner,
        source_subtask=0,
        source_parallelism=1,
        targets=target.parallelism,
        max_parallelism=target.max_parallelism,
        seed=0,
        send=send,
    )
    route(*batch)
    return found


def _identity(graph: StreamGraph, edge: StreamEdge) -> tuple[Any, ...]:
    source, target = graph.nodes[edge.source], graph.nodes[edge.target]
    return source.uid, source.parallelism, target.uid, target.parallelism, edge.input_index, edge.tag_id
