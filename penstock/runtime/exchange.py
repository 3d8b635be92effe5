"""Moves elements between stages, over Spark's shuffle.

Everything that one subtask sends to another in an epoch, over one edge, is a *channel*: parcels numbered in
order. A parcel holds a batch of values (encoded by the edge's type), their timestamps, and marks: watermarks,
idleness and the end of the input, each with the position among the values at which it was sent. The first
parcel of a channel also tells what the channel's watermark was when the epoch began, so the receiver needs no
memory of its own. Marks go to every target, values to the one that the router picks.

A parcel is a plain tuple and Spark moves `(target partition, parcel)` pairs. Pickling in PySpark's serializer
copies the encoded bytes once; a format of our own around it would copy them once more.
"""

from __future__ import annotations

import array
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from penstock.common.codecs import Codec, compile_codec
from penstock.common.errors import InvariantError, TypeMismatchError
from penstock.common.ids import MIN_WATERMARK
from penstock.operators.time_box import TimeBox, cut
from penstock.runtime.routing import Timestamps, connects, make_router

if TYPE_CHECKING:
    from penstock.graph.stream_graph import StreamEdge, StreamGraph

# Values per parcel: large enough that the fixed cost of a parcel (about 40 µs) vanishes, small enough that a
# task of a big batch job streams its output instead of holding it.
PARCEL_VALUES = 20_000

WATERMARK, IDLE, END, LATENCY = 0, 1, 2, 3
_SHOWN = 200
L = TypeVar("L")


@dataclass(frozen=True)
class ChannelStatus:
    """What a channel's sender has said so far: its watermark, whether it is idle, whether it has ended.

    On the wire `run` says which of possibly several runs of the sender's task is speaking (`attempts.py`).
    """

    watermark: int = MIN_WATERMARK
    idle: bool = False
    ended: bool = False
    run: int = 0


class Mark(NamedTuple):
    """A watermark (value: time), idleness (value: 0 or 1) or the end, before value number `position`.

    Or a marker that measures how long its way is (`latency.py`); that one goes to one target only.
    """

    position: int
    kind: int
    value: int


class Parcel(NamedTuple):
    """What travels. `start` is set on the first parcel of a channel only."""

    edge: int
    channel: int
    sequence: int
    start: ChannelStatus | None
    size: int
    values: bytes
    timestamps: bytes | None
    marks: tuple[Mark, ...]


class ExchangeWriter:
    """The sending end of one edge in one subtask: routes, buffers, encodes."""

    def __init__(self, graph: StreamGraph, edge: StreamEdge, subtask: int, seed: int) -> None:
        source, target = graph.nodes[edge.source], graph.nodes[edge.target]
        self._edge = edge
        self._subtask = subtask
        self._sender = source.name
        self._codec = _edge_codec(edge)
        self._lanes = {
            t: _Lane()
            for t in range(target.parallelism)
            if connects(edge.partitioner, subtask, source.parallelism, t, target.parallelism)
        }
        self._ready: list[tuple[int, Parcel]] = []
        self.route = make_router(
            edge.partitioner,
            source_subtask=subtask,
            source_parallelism=source.parallelism,
            targets=target.parallelism,
            max_parallelism=target.max_parallelism,
            seed=seed,
            send=self._send,
        )

    def begin(self, status: ChannelStatus) -> None:
        for lane in self._lanes.values():
            lane.start = status

    def mark(self, kind: int, value: int = 0) -> None:
        for lane in self._lanes.values():
            lane.marks.append(Mark(len(lane.values), kind, value))

    def mark_one(self, kind: int, value: int) -> None:
        """Sends a mark to one target, by its value."""
        lane = one_of(self._lanes, value)
        lane.marks.append(Mark(len(lane.values), kind, value))

    def _send(self, target: int, values: list[Any], timestamps: Timestamps) -> None:
        lane = self._lanes[target]
        lane.add(values, timestamps)
        if len(lane.values) >= PARCEL_VALUES:
            self._ready.append((target, self._seal(lane)))

    def drain(self) -> Iterator[tuple[int, Parcel]]:
        """The parcels that are full, with their target subtasks."""
        ready, self._ready = self._ready, []
        yield from ready

    def finish(self) -> Iterator[tuple[int, Parcel]]:
        """The rest. Every channel gets at least one parcel: its status is news to the receiver."""
        yield from self.drain()
        for target, lane in self._lanes.items():
            if lane.values or lane.marks or lane.sequence == 0:
                yield target, self._seal(lane)

    def _encode(self, values: list[Any]) -> bytes:
        try:
            return self._codec.encode_batch(values)
        except TypeMismatchError as error:
            output = "output" if self._edge.tag_id is None else f"side output '{self._edge.tag_id}'"
            error.where = f"{output} of operator '{self._sender}', subtask {self._subtask + 1}; {error.where}"
            raise

    def _clock_bytes(self, timestamps: list[int], values: list[Any]) -> bytes:
        try:
            return array.array("q", timestamps).tobytes()
        except (OverflowError, TypeError):
            at = next(i for i, time in enumerate(timestamps) if not _is_time(time))
            element = repr(values[at])
            raise TypeMismatchError(
                f"the timestamp {timestamps[at]!r} of an element is not a whole number of 64 bits",
                where=f"output of operator '{self._sender}', subtask {self._subtask + 1}; element "
                + (element if len(element) <= _SHOWN else element[:_SHOWN] + "…"),
                do="assign milliseconds since 1970 as an int; one in a smaller unit, or computed from the indexes\n"
                "of an endless generator, soon leaves the range of -2^63 to 2^63 - 1",
            ) from None

    def _seal(self, lane: _Lane) -> Parcel:
        start = lane.start if lane.sequence == 0 else None
        parcel = Parcel(
            self._edge.id,
            self._subtask,
            lane.sequence,
            start,
            len(lane.values),
            self._encode(lane.values) if lane.values else b"",
            None if lane.timestamps is None else self._clock_bytes(lane.timestamps, lane.values),
            tuple(lane.marks),
        )
        lane.reset()
        return parcel


@dataclass
class _Lane:
    """What waits to be sent to one target."""

    start: ChannelStatus = ChannelStatus()
    sequence: int = 0
    values: list[Any] = field(default_factory=list)
    timestamps: list[int] | None = None
    marks: list[Mark] = field(default_factory=list)

    def add(self, values: list[Any], timestamps: Timestamps) -> None:
        if timestamps is not None and self.timestamps is None:
            self.timestamps = [MIN_WATERMARK] * len(self.values)
        if self.timestamps is not None:
            self.timestamps.extend(timestamps if timestamps is not None else [MIN_WATERMARK] * len(values))
        self.values.extend(values)

    def reset(self) -> None:
        self.sequence += 1
        self.values = []
        self.timestamps = None
        self.marks = []


def one_of(lanes: Mapping[int, L], value: int) -> L:
    """One of the targets, another one for another value."""
    # Fibonacci's multiplier: values that are a whole number of seconds apart do not meet the same target each time.
    return lanes[list(lanes)[((value * 0x9E3779B97F4A7C15) >> 40) % len(lanes)]]


def first_status(first: Parcel) -> ChannelStatus:
    """Where a channel stood when the epoch began."""
    if first.start is None:
        raise InvariantError(f"the first parcel of channel {first.channel} has number {first.sequence}")
    return first.start


class IncomingChannel:
    """The receiving end of one channel: the parcels of this epoch, and what waits from earlier ones.

    Attributes:
        status: Where the channel stands: when the epoch began at first, then behind what was handed over.
        parcels: What has not been handed over.
    """

    def __init__(self, codec: Codec, parcels: list[Parcel], start: ChannelStatus | None = None) -> None:
        self._codec = codec
        self.sender = parcels[0].channel
        self.status = self.start = start or first_status(parcels[0])
        self.parcels = parcels

    def go_on_from(self, status: ChannelStatus, parcels: Sequence[Parcel]) -> None:
        """Puts what was left of an earlier epoch in front."""
        self.status = self.start = status
        self.parcels = [*parcels, *self.parcels]

    def repeat_status(self) -> None:
        """What the sender has said before this epoch is said once more: who should have heard it may have changed."""
        told = [Mark(0, WATERMARK, self.start.watermark)]
        told += [Mark(0, IDLE, 1)] if self.start.idle else []
        told += [Mark(0, END, 0)] if self.start.ended else []
        repeated = self.parcels[0]._replace(size=0, values=b"", timestamps=None, marks=tuple(told))
        self.go_on_from(ChannelStatus(), [repeated])

    def items(self, box: TimeBox | None = None) -> Iterator[tuple[list[Any], Timestamps] | Mark]:
        """Batches and marks, in the order in which they were sent, as long as there is time."""
        while self.parcels:
            parcel = self.parcels[0]
            values, clock = self.opened(parcel)
            sent = 0
            for number, mark in enumerate((*parcel.marks, None)):
                end = len(values) if mark is None else mark.position
                while sent < end:
                    size = end - sent if box is None else box.portion(end - sent)
                    if size == 0:
                        self.parcels[0] = self.shortened(parcel, values, clock, sent, number)
                        return
                    yield cut(values, clock, sent, sent + size)
                    sent += size
                if mark is not None:
                    self.pass_mark(mark)
                    yield mark
            self.parcels.pop(0)

    def opened(self, parcel: Parcel) -> tuple[list[Any], Timestamps]:
        """A parcel's values and their timestamps."""
        return self._codec.decode_batch(parcel.values) if parcel.size else [], _clock(parcel)

    def pass_mark(self, mark: Mark) -> None:
        """The channel stands behind this mark now."""
        self.status = _after(self.status, mark)

    def shortened(self, parcel: Parcel, values: list[Any], clock: Timestamps, sent: int, mark: int) -> Parcel:
        """The parcel without its first values and marks."""
        if sent == 0 and mark == 0:
            return parcel
        left = len(values) - sent
        return parcel._replace(
            size=left,
            values=self._codec.encode_batch(values[sent:]) if left else b"",
            timestamps=None if clock is None else array.array("q", clock[sent:]).tobytes(),
            marks=tuple(m._replace(position=m.position - sent) for m in parcel.marks[mark:]),
        )


def _is_time(time: Any) -> bool:
    return hasattr(time, "__index__") and -(1 << 63) <= operator.index(time) < 1 << 63


def _clock(parcel: Parcel) -> Timestamps:
    if parcel.timestamps is None:
        return None
    raw = array.array("q")
    raw.frombytes(parcel.timestamps)
    return raw.tolist()


def _after(status: ChannelStatus, mark: Mark) -> ChannelStatus:
    if mark.kind == WATERMARK:
        return ChannelStatus(max(status.watermark, mark.value), status.idle, status.ended)
    if mark.kind == IDLE:
        return ChannelStatus(status.watermark, bool(mark.value), status.ended)
    if mark.kind == LATENCY:
        return status
    return ChannelStatus(status.watermark, status.idle, True)


def gather(
    graph: StreamGraph,
    edges: Iterable[int],
    subtask: int,
    parcels: Iterable[Parcel],
    open_channel: Callable[[StreamEdge, list[Parcel]], Any] | None = None,
) -> dict[int, list[Any]]:
    """Sorts a subtask's parcels into channels: edge id -> channels by sender, parcels by number.

    Raises:
        InvariantError: A channel or a parcel is missing: the books of the exchange do not balance.
    """
    sorted_in: dict[tuple[int, int], list[Parcel]] = {}
    for parcel in parcels:
        sorted_in.setdefault((parcel.edge, parcel.channel), []).append(parcel)
    result: dict[int, list[Any]] = {}
    open_channel = open_channel or element_channel
    for edge_id in edges:
        edge = graph.edges[edge_id]
        result[edge_id] = []
        senders, targets = graph.nodes[edge.source].parallelism, graph.nodes[edge.target].parallelism
        for sender in range(senders):
            if not connects(edge.partitioner, sender, senders, subtask, targets):
                continue
            channel = sorted(sorted_in.pop((edge_id, sender), ()), key=lambda p: p.sequence)
            if [p.sequence for p in channel] != list(range(len(channel))) or not channel:
                raise InvariantError(
                    f"edge {edge_id}, sender {sender}: got parcels {[p.sequence for p in channel]}"
                )
            result[edge_id].append(open_channel(edge, channel))
    return result


def element_channel(edge: StreamEdge, parcels: list[Parcel]) -> IncomingChannel:
    """The receiving end of a channel of elements."""
    return IncomingChannel(_edge_codec(edge), parcels)


def _edge_codec(edge: StreamEdge) -> Codec:
    return compile_codec(edge.element_type)
