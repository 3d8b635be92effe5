"""What an operator holds of an arrangement: the rows to look up, and the change of the epoch to leave.

Runs are merged when some of similar size have come together, so there are few of them, and each row is copied only a
few times however large the state becomes:

    runs    ######################  #####  #####  #####  ##  #  #  #        oldest first
                                                             └──────┘ four small ones become one

Keys of an epoch find their rows by binary search in each run. Measured over 1 M rows of 15 columns, 4 runs of a size
are a good choice: with 2 each row is copied twice as often, with 8 there are twice as many runs to search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.common.errors import StateMigrationError
from penstock.state.arranged.runs import (
    PLACE,
    ROW,
    WEIGHT,
    Chunk,
    Numbers,
    Run,
    merged_chunks,
    sorted_run,
    summed,
)

FANOUT = 4
_SMALL_ROWS = 1024
_HIDDEN = (PLACE, ROW, WEIGHT)


@dataclass(frozen=True)
class Found:
    """Rows that were looked up: `table` has the columns that were asked for, the arrays an element per row.

    Without weights, `rows` is empty and every weight 1.
    """

    table: pa.Table
    places: Numbers
    rows: Numbers
    weights: Numbers


class Arrangement:
    """Rows of one input by the place of their key. Made by the backend; valid across epochs.

    Args:
        name: Unique in the operator.
        weighted: Whether rows may go again.
    """

    def __init__(self, name: str, weighted: bool) -> None:
        self.name = name
        self.weighted = weighted
        self.runs: tuple[Run, ...] = ()
        self.change: Run | None = None

    @property
    def schema(self) -> pa.Schema | None:
        """The columns of the rows; None before there are any."""
        runs = self.runs or ((self.change,) if self.change else ())
        return pa.schema([f for f in runs[0].schema if f.name not in _HIDDEN]) if runs else None

    def check(self, schema: pa.Schema) -> None:
        """StateMigrationError unless rows with these columns can join those that are there."""
        known = self.schema
        if known is not None and known.types != schema.types:
            raise StateMigrationError(
                f"state {self.name!r} was written with columns {known.types}, the program now has {schema.types}",
                do="start without the state, or run the former program",
            )

    def add(
        self, table: pa.Table, places: Numbers, rows: Numbers | None = None, weights: Numbers | None = None
    ) -> None:
        """More of the epoch's change. With weights, those of a row are summed up; rows that go need no values."""
        if not table.num_rows:
            return
        columns = [*table.columns, pa.array(places, pa.uint64())]
        names = [*(f"c{i}" for i in range(table.num_columns)), PLACE]
        if self.weighted:
            assert rows is not None and weights is not None
            columns += [pa.array(rows, pa.uint64()), pa.array(weights, pa.int32())]
            names += [ROW, WEIGHT]
        run = sorted_run("", pa.table(columns, names=names))
        if self.change is not None:
            run = Run("", tuple(merged_chunks([self.change, run])))
        self.change = run if run.chunks else None

    def find(self, places: Numbers, columns: Sequence[int] | None = None) -> Found:
        """The rows at some places, committed or added in this epoch, weights summed up.

        Args:
            places: Sorted, no two equal.
            columns: Those that are needed; None: all.
        """
        runs = self.runs if self.change is None else (*self.runs, self.change)
        parts = [part for run in runs for chunk in run.chunks if (part := _pick(chunk, places, columns))]
        if not parts:
            empty = np.empty(0, np.uint64)
            return Found(self._empty(columns), empty, empty, np.empty(0, np.int64))
        table = pa.concat_tables([part.table for part in parts])
        found = np.concatenate([part.places for part in parts])
        if not self.weighted:
            return Found(table, found, np.empty(0, np.uint64), np.ones(len(found), np.int64))
        rows = np.concatenate([part.rows for part in parts])
        weights = np.concatenate([part.weights for part in parts])
        if len(parts) == 1 and weights.min() > 0:
            return Found(table, found, rows, weights)
        kept, sums = summed(found, rows, weights)
        return Found(table.take(pa.array(kept)), found[kept], rows[kept], sums)

    def _empty(self, columns: Sequence[int] | None) -> pa.Table:
        schema = self.schema or pa.schema([])
        if columns is not None and len(schema):
            schema = pa.schema([schema.field(i) for i in columns])
        return schema.empty_table()


def _pick(chunk: Chunk, places: Numbers, columns: Sequence[int] | None) -> Found | None:
    first, last = chunk.places[0], chunk.places[-1]
    places = places[np.searchsorted(places, first) : np.searchsorted(places, last, "right")]
    at = _matches(chunk.places, places) if len(places) else places
    if not len(at):
        return None
    width = chunk.table.num_columns - (3 if chunk.is_weighted else 1)
    wanted = chunk.table.select(list(range(width)) if columns is None else list(columns))
    nothing = np.empty(0, np.uint64)
    return Found(
        wanted.take(pa.array(at)) if wanted.num_columns else wanted,
        chunk.places[at],
        chunk.rows[at] if chunk.is_weighted else nothing,
        chunk.weights[at].astype(np.int64) if chunk.is_weighted else np.ones(len(at), np.int64),
    )


def _matches(stored: Numbers, places: Numbers) -> Numbers:
    """Numbers of the stored rows whose place is among those wanted; both sorted."""
    if len(places) > len(stored):  # fewer searches from the other side
        at = np.searchsorted(places, stored)
        return np.flatnonzero(places[np.minimum(at, len(places) - 1)] == stored)
    starts = np.searchsorted(stored, places, "left")
    hit = starts < len(stored)
    hit[hit] = stored[starts[hit]] == places[hit]
    starts = starts[hit]
    counts = np.searchsorted(stored, places[hit], "right") - starts
    if not len(counts):
        return counts
    ends = np.cumsum(counts)
    return np.arange(ends[-1]) + np.repeat(starts - (ends - counts), counts)


def to_merge(sizes: Sequence[int]) -> int:
    """How many of the newest runs should become one; 0 if none.

    >>> to_merge([100_000, 900, 800, 1000]), to_merge([100_000, 900, 900, 800, 1000]), to_merge([5000, 4900, 10])
    (0, 4, 0)
    """
    if not sizes:
        return 0
    level, count = _level(sizes[-1]), 0
    for size in reversed(sizes):
        if _level(size) > level:
            break
        count += 1
    return count if count >= FANOUT else 0


def _level(size: int) -> int:
    level = 0
    while size > _SMALL_ROWS:
        size //= FANOUT
        level += 1
    return level
