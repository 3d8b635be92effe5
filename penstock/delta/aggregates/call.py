"""An aggregate call bound to the columns of its input: takes rows, a batch of one group at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.delta.aggregates.base import AggregateLogic
from penstock.delta.aggregates.registry import make_aggregate
from penstock.delta.aggregates.spec import AggSpec
from penstock.delta.base import Row
from penstock.delta.rows import columns_getter


class AggregateCall:
    """One call of a query. The same `create`, `merge` and `result` as its function; rows instead of values."""

    def __init__(self, spec: AggSpec, retracts: bool) -> None:
        self.spec = spec
        self.function: AggregateLogic = make_aggregate(spec, retracts)
        self.uses_counts = self.function.uses_counts
        self.open = self.function.open
        self.close = self.function.close
        self.create = self.function.create
        self.merge = self.function.merge
        self.result = self.function.result
        self._filter = spec.filter
        self._args = spec.args
        self._skip = self.function.skips_nulls and bool(spec.args)
        # COUNT leaves out a row if any argument is NULL, the others look at the first.
        self._all_count = spec.function.upper() == "COUNT"
        self._partial = columns_getter(spec.args)
        plain = len(spec.args) == 1 and spec.filter is None and not spec.partial
        self._only: int | None = spec.args[0] if plain else None
        """The column of a call that takes nothing but the values of one."""

    def update(self, acc: Any, rows: Sequence[Row], weights: Sequence[int] | None) -> Any:
        """Takes rows of one group in, in order; `weights` None means that all of them came."""
        if self.spec.partial:
            return self._merge_partials(acc, rows)
        if self._filter is not None:
            rows, weights = self._filtered(rows, weights)
        if weights is None:
            values: Sequence[Any] = self._values(rows) if self._args else rows
            return self.function.accumulate_many(acc, values)
        return self._update_in_order(acc, rows, weights)

    def update_one(self, acc: Any, row: Row) -> Any:
        """`update` with one row that came, without lists: conditions of patterns add a row at a time."""
        if self._only is None:
            return self.update(acc, (row,), None)
        value = row[self._only]
        return acc if value is None and self._skip else self.function.accumulate(acc, value)

    def _update_in_order(self, acc: Any, rows: Sequence[Row], weights: Sequence[int]) -> Any:
        accumulate, retract = self.function.accumulate, self.function.retract
        if len(self._args) == 1:
            only, skip = self._args[0], self._skip
            for row, weight in zip(rows, weights, strict=True):
                value = row[only]
                if value is not None or not skip:
                    acc = accumulate(acc, value) if weight > 0 else retract(acc, value)
            return acc
        for row, weight in zip(rows, weights, strict=True):
            found = self._values((row,))
            if found:
                acc = accumulate(acc, found[0]) if weight > 0 else retract(acc, found[0])
        return acc

    def _values(self, rows: Sequence[Row]) -> list[Any]:
        args = self._args
        if len(args) == 1:
            only = args[0]
            if self._skip:
                return [value for row in rows if (value := row[only]) is not None]
            return [row[only] for row in rows]
        if not args:
            return [None] * len(rows)
        values = [tuple([row[arg] for arg in args]) for row in rows]
        if not self._skip:
            return values
        if self._all_count:
            return [value for value in values if None not in value]
        return [value for value in values if value[0] is not None]

    def _filtered(
        self, rows: Sequence[Row], weights: Sequence[int] | None
    ) -> tuple[Sequence[Row], Sequence[int] | None]:
        where = self._filter
        assert where is not None
        if weights is None:
            return [row for row in rows if row[where] is True], None
        kept = [pair for pair in zip(rows, weights, strict=True) if pair[0][where] is True]
        return [row for row, _ in kept], [weight for _, weight in kept]

    def _merge_partials(self, acc: Any, rows: Sequence[Row]) -> Any:
        merge, from_partial, columns = self.function.merge, self.function.from_partial, self._partial
        for row in rows:
            acc = merge(acc, from_partial(columns(row)))
        return acc
