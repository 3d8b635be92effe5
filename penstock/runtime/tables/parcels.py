"""Tables on the wire: which subtask owns which row, and parcels of Arrow bytes.

Channels, marks and the receiver's valve are those of the element engine (`runtime/exchange.py`); only the payload
of a parcel differs. Which subtask owns a key is computed on columns (`common/key_hashes.py`), or once per distinct
key of a table, always on the encoding under which the keyed state finds it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.common.codecs import compile_codec
from penstock.common.datatypes import RowType
from penstock.common.errors import InvariantError
from penstock.common.key_groups import subtask_for_key
from penstock.common.key_hashes import can_hash, key_groups, key_hashes
from penstock.common.table_type import TableTypeInfo
from penstock.formats.arrow_rows import RowReader
from penstock.graph.transformations import PartitionerKind
from penstock.runtime.exchange import ChannelStatus, Mark, Parcel, first_status, one_of
from penstock.runtime.routing import connects, rescale_targets

if TYPE_CHECKING:
    from penstock.graph.stream_graph import StreamEdge, StreamGraph

PARCEL_ROWS = 200_000
"""Rows that wait in a task before they are sent: large tables stream instead of being held."""


def carries_tables(edge: StreamEdge) -> bool:
    return isinstance(edge.element_type, TableTypeInfo)


def to_bytes(table: pa.Table) -> bytes:
    """The table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def from_bytes(data: bytes) -> pa.Table:
    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()


class KeyOwners:
    """Which subtask owns the key of each row."""

    def __init__(
        self, row_type: RowType, columns: Sequence[int], max_parallelism: int, parallelism: int
    ) -> None:
        self._columns = list(columns)
        self._max_parallelism = max_parallelism
        self._parallelism = parallelism
        self._reader = RowReader(RowType([row_type.fields[i] for i in columns], nullable=False))
        self._encode = compile_codec(None).encode_key

    def of(self, table: pa.Table) -> np.ndarray[Any, Any]:
        keys = table.select(self._columns)
        if all(map(can_hash, keys.schema.types)):
            groups = key_groups(key_hashes(keys.columns, table.num_rows), self._max_parallelism)
            owners: np.ndarray[Any, Any] = groups * self._parallelism // self._max_parallelism
            return owners
        keys = keys.combine_chunks()
        if keys.num_columns == 1 and not pa.types.is_nested(keys.column(0).type):
            codes = _only_chunk(keys.column(0)).dictionary_encode(null_encoding="encode")
            distinct = pa.RecordBatch.from_arrays([codes.dictionary], names=["k"])
            return self._owners([distinct])[np.asarray(codes.indices)]
        return self._owners(keys.to_batches())

    def _owners(self, batches: Sequence[pa.RecordBatch]) -> np.ndarray[Any, Any]:
        encode, most, width = self._encode, self._max_parallelism, self._parallelism
        found = [subtask_for_key(encode(key), most, width) for b in batches for key in self._reader.rows(b)]
        return np.array(found, np.int32)


def _only_chunk(column: pa.ChunkedArray) -> pa.Array:
    chunks: list[pa.Array] = column.chunks
    return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)


class TableWriter:
    """The sending end of one edge that carries tables, in one subtask."""

    def __init__(self, graph: StreamGraph, edge: StreamEdge, subtask: int, seed: int) -> None:
        source, target = graph.nodes[edge.source], graph.nodes[edge.target]
        assert isinstance(edge.element_type, TableTypeInfo)
        self._edge = edge
        self._subtask = subtask
        self._sources, self._targets = source.parallelism, target.parallelism
        self._turn = seed
        self._lanes = {
            t: _Lane()
            for t in range(self._targets)
            if connects(edge.partitioner, subtask, self._sources, t, self._targets)
        }
        self._ready: list[tuple[int, Parcel]] = []
        columns = edge.partitioner.key_columns or ()
        self._owners = KeyOwners(edge.element_type.row_type, columns, target.max_parallelism, self._targets)

    def begin(self, status: ChannelStatus) -> None:
        for lane in self._lanes.values():
            lane.start = status

    def mark(self, kind: int, value: int = 0) -> None:
        for lane in self._lanes.values():
            lane.marks.append(Mark(lane.rows, kind, value))

    def mark_one(self, kind: int, value: int) -> None:
        """Sends a mark to one target, by its value."""
        lane = one_of(self._lanes, value)
        lane.marks.append(Mark(lane.rows, kind, value))

    def route_table(self, table: pa.Table) -> None:
        for target, mine in self._parts(table):
            lane = self._lanes[target]
            lane.tables.append(mine)
            lane.rows += mine.num_rows
            if lane.rows >= PARCEL_ROWS:
                self._ready.append((target, self._seal(lane)))

    def route(self, values: list[Any], timestamps: list[int] | None) -> None:
        raise InvariantError("elements on an edge that carries tables")

    def _parts(self, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        kind = self._edge.partitioner.kind
        if kind in (PartitionerKind.FORWARD, PartitionerKind.CATALYST):
            yield self._subtask, table
        elif kind is PartitionerKind.BROADCAST:
            yield from ((target, table) for target in self._lanes)
        elif kind is PartitionerKind.HASH and self._edge.partitioner.key_columns and self._targets > 1:
            yield from _split(table, self._owners.of(table), self._targets)
        elif kind is PartitionerKind.RESCALE:
            yield rescale_targets(self._subtask, self._sources, self._targets)[0], table
        elif kind is PartitionerKind.REBALANCE:
            self._turn += 1
            yield self._turn % self._targets, table
        else:
            yield 0, table

    def drain(self) -> Iterator[tuple[int, Parcel]]:
        ready, self._ready = self._ready, []
        yield from ready

    def finish(self) -> Iterator[tuple[int, Parcel]]:
        """The rest. Every channel gets at least one parcel: its status is news to the receiver."""
        yield from self.drain()
        for target, lane in self._lanes.items():
            if lane.tables or lane.marks or lane.sequence == 0:
                yield target, self._seal(lane)

    def _seal(self, lane: _Lane) -> Parcel:
        data = to_bytes(pa.concat_tables(lane.tables)) if lane.tables else b""
        start = lane.start if lane.sequence == 0 else None
        edge, number = self._edge.id, lane.sequence
        parcel = Parcel(edge, self._subtask, number, start, lane.rows, data, None, tuple(lane.marks))
        lane.sequence += 1
        lane.tables, lane.marks, lane.rows = [], [], 0
        return parcel


@dataclass
class _Lane:
    """What waits to be sent to one target."""

    start: ChannelStatus = field(default_factory=ChannelStatus)
    sequence: int = 0
    rows: int = 0
    tables: list[pa.Table] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)


def _split(table: pa.Table, owners: np.ndarray[Any, Any], targets: int) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each target, in their order."""
    order = np.argsort(owners, kind="stable")
    bounds = np.searchsorted(owners[order], np.arange(targets + 1))
    for target in range(targets):
        start, end = int(bounds[target]), int(bounds[target + 1])
        if end - start == table.num_rows:
            yield target, table
        elif end > start:
            yield target, table.take(pa.array(order[start:end]))


@dataclass
class TableChannel:
    """The receiving end of one channel that carries tables."""

    parcels: list[Parcel] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sender = self.parcels[0].channel
        self.start = first_status(self.parcels[0])

    def items(self, box: Any = None) -> Iterator[pa.Table | Mark]:
        """Tables and marks, all of them. A mark comes behind the table in whose middle it was sent: operators over
        tables see the watermark before a row in the row itself."""
        parcels, self.parcels = self.parcels, []
        for parcel in parcels:
            if parcel.size:
                yield from_bytes(parcel.values)
            yield from parcel.marks
