"""OVER ... ORDER BY something that is not time: a row that comes changes the results of those behind it.

Only frames from UNBOUNDED PRECEDING to the current row have a streaming form. State per key is its rows in order,
with their results. An epoch's changes of a key are applied together, the results computed again, and the
differences told.

    before   10.50 -> 100   10.75 -> 150                comes: (10.25, vol 25)
    after    10.25 -> 25    10.50 -> 125   10.75 -> 175          +I, -U +U, -U +U
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from penstock.common.errors import NotSupportedError
from penstock.common.typeinfo import Types
from penstock.delta.base import DELETE, Batch, DeltaContext, DeltaOperator, Row
from penstock.delta.emit import emit_change
from penstock.delta.rows import group_by_key, identity, sort_key
from penstock.delta.time.over_functions import Frame, FrameFunctions, OverSpec
from penstock.state.descriptors import ValueStateDescriptor

UNMATCHED_RETRACTIONS = "numRetractionsWithoutRow"

_Entry = tuple[Row, "Row | None"]
"""A row and its results; None if it is new."""


class UpdatingOver(DeltaOperator):
    """Output row: the input row, then one column per function. Among equals the earlier row is first.

    Args:
        key_columns: PARTITION BY.
        order: (column, ascending) pairs.
        frame: ROWS or RANGE, unbounded.
        functions: Aggregates and order functions; see `over_functions.py`.
        emit_update_before: Whether a changed row is preceded by -U with the former one.
    """

    def __init__(
        self,
        key_columns: Sequence[int],
        order: Sequence[tuple[int, bool]],
        frame: Frame,
        functions: Sequence[OverSpec],
        *,
        emit_update_before: bool = True,
    ) -> None:
        if frame.preceding is not None:
            raise NotSupportedError(
                "a bounded OVER frame ordered by a column that is not a time attribute",
                "in a stream only UNBOUNDED PRECEDING can be kept up to date there",
            )
        self._key_columns = tuple(key_columns)
        self._order = tuple(order)
        self._frame = frame
        self._specs = tuple(functions)
        self._emit_before = emit_update_before
        FrameFunctions(self._specs, bounded=False)  # refuses what is not supported when the query is planned

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._key_columns

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        self._functions = FrameFunctions(self._specs, bounded=False)
        self._sort_key = sort_key(self._order)
        self._rows = context.keyed_state.get_partitioned_state(
            ValueStateDescriptor("rows", Types.PICKLED_BYTE_ARRAY())
        )

    def process(self, input_index: int, batch: Batch) -> None:
        for key, rows, weights in group_by_key(batch, self._key_columns):
            self.context.keyed_state.set_current_key(key)
            entries: list[_Entry] = self._rows.value() or []
            entries = self._apply(entries, rows, weights or [1] * len(rows))
            entries = self._answer(entries)
            if entries:
                self._rows.update(entries)
            else:
                self._rows.clear()

    def _apply(self, entries: list[_Entry], rows: Sequence[Row], weights: Sequence[int]) -> list[_Entry]:
        """Brings rows in and takes rows out; what had a result and goes is told at once."""
        entries = list(entries)
        places = [self._sort_key(row) for row, _ in entries]
        for row, weight in zip(rows, weights, strict=True):
            place = self._sort_key(row)
            at = bisect_right(places, place)
            if weight > 0:
                entries.insert(at, (row, None))
                places.insert(at, place)
                continue
            found = self._find(entries, bisect_left(places, place), at, row)
            if found is None:
                self.context.count(UNMATCHED_RETRACTIONS)
                continue
            _, results = entries.pop(found)
            del places[found]
            if results is not None:
                self.output.append(row + results, DELETE)
        return entries

    def _find(self, entries: list[_Entry], start: int, end: int, row: Row) -> int | None:
        wanted = identity(row)
        for index in range(start, end):
            if identity(entries[index][0]) == wanted:
                return index
        return None

    def _answer(self, entries: list[_Entry]) -> list[_Entry]:
        """The entries with new results, of which the differences are told."""
        answered: list[_Entry] = []
        for (row, before), results in zip(entries, self._results(entries), strict=True):
            emit_change(
                self.output, None if before is None else row + before, row + results, self._emit_before
            )
            answered.append((row, results))
        return answered

    def _results(self, entries: list[_Entry]) -> list[Row]:
        accs: list[Any] = self._functions.create()
        rows = [row for row, _ in entries]
        if self._frame.rows:
            return [self._functions.add_row(accs, row, self._sort_key(row)) for row in rows]
        results: list[Row] = []
        for place, peers in groupby(rows, key=self._sort_key):
            results.extend(self._functions.add_peers(accs, list(peers), place))
        return results
