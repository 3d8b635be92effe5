"""Accumulators of one slice or session: `[row count, accumulator of each call...]`, plain and picklable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from penstock.delta.aggregates import AggregateCall, AggSpec
from penstock.delta.base import Row

Slice = list[Any]


class SliceFunctions:
    """The aggregate calls of an operator, applied to slices."""

    def __init__(self, specs: Sequence[AggSpec], retracts: bool, row_count_column: int | None = None) -> None:
        self._calls = [AggregateCall(spec, retracts) for spec in specs]
        self._row_count_column = row_count_column

    def open(self, function_context: Any) -> None:
        """Opens the functions of users, before anything else is asked of them."""
        for call in self._calls:
            call.open(function_context)

    def close(self) -> None:
        for call in self._calls:
            call.close()

    def create(self) -> Slice:
        return [0, *[call.create() for call in self._calls]]

    def update(self, piece: Slice | None, rows: Sequence[Row], weights: Sequence[int] | None) -> Slice:
        """Takes rows in; may change `piece`, returns the one to keep."""
        if piece is None:
            piece = self.create()
        if weights is not None:
            piece[0] += sum(weights)
        elif self._row_count_column is not None:
            piece[0] += sum(row[self._row_count_column] for row in rows)
        else:
            piece[0] += len(rows)
        for index, call in enumerate(self._calls, 1):
            piece[index] = call.update(piece[index], rows, weights)
        return piece

    def merge(self, pieces: Iterable[Slice]) -> Slice:
        """All of them as one, which may share parts with `pieces` but changes none of them."""
        merged = self.create()
        for piece in pieces:
            merged[0] += piece[0]
            for index, call in enumerate(self._calls, 1):
                merged[index] = call.merge(merged[index], piece[index])
        return merged

    def results(self, piece: Slice) -> Row:
        return tuple([call.result(acc) for call, acc in zip(self._calls, piece[1:], strict=True)])
