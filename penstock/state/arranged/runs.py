"""A run: rows sorted by the place of their key, never changed.

    place    key group (16 bits) · the first 48 bits of the key's hash
    row      64 bits that tell the rows of a key apart                     } only if rows may go
    weight   how many of the row come, or go if it is negative             }

Runs add up: a row is there as often as its weights sum up to. A row that goes is known by its place and `row`, so its
other columns are NULL. Because key groups come first, the rows of a range of key groups are a slice.

Different keys may share a place. Whoever looks rows up by place compares the keys as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

PLACE, ROW, WEIGHT = "__place", "__row", "__weight"
GROUP_SHIFT = np.uint64(48)
CHUNK_ROWS = 1 << 17
"""Rows of a chunk: what is in memory at once while runs are merged."""

Numbers: TypeAlias = "np.ndarray[Any, Any]"


def places_of(hashes: Numbers, groups: Numbers) -> Numbers:
    """Where keys are, from their hashes and key groups."""
    return (groups.astype(np.uint64) << GROUP_SHIFT) | (hashes >> np.uint64(16))


def distinct(places: Numbers, without: Numbers | None = None) -> Numbers:
    """The places in order, each once, without those of another such array."""
    # np.unique hashes, which takes ten times as long for 64-bit hashes.
    places = np.sort(places)
    kept = np.ones(len(places), bool)
    kept[1:] = places[1:] != places[:-1]
    if without is not None and len(without):
        at = np.minimum(np.searchsorted(without, places), len(without) - 1)
        kept &= without[at] != places
    return places[kept]


def start_of(group: int) -> np.uint64:
    """The least place of a key group."""
    return np.uint64(group << 48)


@dataclass(frozen=True)
class Chunk:
    """Part of a run: a table that lies in one piece."""

    table: pa.Table

    @cached_property
    def places(self) -> Numbers:
        return _numbers(self.table, PLACE)

    @property
    def is_weighted(self) -> bool:
        return WEIGHT in self.table.schema.names

    @cached_property
    def rows(self) -> Numbers:
        return _numbers(self.table, ROW)

    @cached_property
    def weights(self) -> Numbers:
        return _numbers(self.table, WEIGHT)

    def slice(self, low: np.uint64, high: np.uint64 | None) -> Chunk:
        """Rows from a place on, up to another one (exclusive)."""
        start = int(np.searchsorted(self.places, low))
        end = len(self.places) if high is None else int(np.searchsorted(self.places, high))
        return Chunk(self.table.slice(start, end - start))


def _numbers(table: pa.Table, name: str) -> Numbers:
    column = table.column(name)
    return column.chunk(0).to_numpy() if column.num_chunks == 1 else column.to_numpy()


@dataclass(frozen=True)
class Run:
    """Chunks one behind the other. `name` tells of what files and records it was made."""

    name: str
    chunks: tuple[Chunk, ...]

    @cached_property
    def row_count(self) -> int:
        return sum(chunk.table.num_rows for chunk in self.chunks)

    @property
    def schema(self) -> pa.Schema:
        return self.chunks[0].table.schema

    def within(self, first_group: int, last_group: int) -> Run:
        """The part that lies in a range of key groups, inclusive."""
        low, high = start_of(first_group), start_of(last_group + 1)
        kept = [chunk.slice(low, high) for chunk in self.chunks]
        return Run(self.name, _filled(kept))


def _filled(chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
    return tuple(chunk for chunk in chunks if chunk.table.num_rows)


def sorted_run(name: str, table: pa.Table) -> Run:
    """A run of rows in any order, whose weights are summed up already."""
    order = np.argsort(Chunk(table).places, kind="stable")
    return Run(name, (Chunk(table.take(pa.array(order)).combine_chunks()),))


def merged_chunks(runs: Sequence[Run]) -> Iterator[Chunk]:
    """What some runs amount to, in order; needs about `CHUNK_ROWS` rows in memory, more where many share a place."""
    chunks = [chunk for run in runs for chunk in run.chunks]
    for low, high in _cuts(chunks):
        parts = _filled([chunk.slice(low, high) for chunk in chunks])
        if parts:
            merged = _merged(parts)
            if merged.table.num_rows:
                yield merged


def _cuts(chunks: Sequence[Chunk]) -> Iterator[tuple[np.uint64, np.uint64 | None]]:
    """Bounds of ranges with few enough rows. Places are hashes, so equal steps hold about equally many rows."""
    total = sum(len(chunk.places) for chunk in chunks)
    count = -(-total // CHUNK_ROWS)
    first = min(int(chunk.places[0]) for chunk in chunks)
    last = max(int(chunk.places[-1]) for chunk in chunks)
    bounds = [first + (last - first) * i // count for i in range(count)]
    bounds = sorted(set(bounds))
    for low, high in zip(bounds, [*bounds[1:], None], strict=True):
        yield np.uint64(low), None if high is None else np.uint64(high)


def _merged(parts: Sequence[Chunk]) -> Chunk:
    places = np.concatenate([part.places for part in parts])
    table = pa.concat_tables([part.table for part in parts]).combine_chunks()
    if not parts[0].is_weighted:
        # Sorting runs one behind the other is a merge for this algorithm.
        return Chunk(table.take(pa.array(np.argsort(places, kind="stable"))))
    rows = np.concatenate([part.rows for part in parts])
    weights = np.concatenate([part.weights for part in parts])
    kept, sums = summed(places, rows, weights)
    taken = table.take(pa.array(kept))
    at = taken.schema.get_field_index(WEIGHT)
    return Chunk(taken.set_column(at, WEIGHT, pa.array(sums, pa.int32())))


def summed(places: Numbers, rows: Numbers, weights: Numbers) -> tuple[Numbers, Numbers]:
    """Sums the weights of the same rows: the number of one of them, and the sum, in order of place; none zero.

    If the sum is positive, it is one that comes, which has all its columns.
    """
    order = np.lexsort((-weights, rows, places))
    places, rows, weights = places[order], rows[order], weights[order]
    begins = np.empty(len(order), bool)
    begins[:1] = True
    begins[1:] = (places[1:] != places[:-1]) | (rows[1:] != rows[:-1])
    starts = np.flatnonzero(begins)
    sums = np.add.reduceat(weights, starts) if len(starts) else weights
    kept = sums != 0
    return order[starts[kept]], sums[kept]
