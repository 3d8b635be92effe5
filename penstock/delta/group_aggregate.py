"""GROUP BY: one result row per key, changed at most once per epoch.

State per key: the number of rows and the accumulators, in one value. Functions that remember every value
(MAX over rows that may go, DISTINCT) keep those in map state, a record per value, so that a group with
millions of them costs what an epoch touches.

    rows of a key     before -> after      changes
    appear            none -> r            +I r
    change            r -> s               -U r, +U s      nothing if r is s and state does not expire
    are all gone      r -> none            -D r

A row that goes although its group is empty is ignored and counted, as in Flink: its coming was lost, by an
expired state or a filter upstream.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from penstock.common.typeinfo import Types
from penstock.delta.aggregates import AggregateCall, AggSpec
from penstock.delta.aggregates.user import UserAggregate
from penstock.delta.aggregates.views import AccumulatorViews, view_places
from penstock.delta.base import (
    DELETE,
    INSERT,
    UNMATCHED_RETRACTIONS,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    Batch,
    DeltaContext,
    DeltaOperator,
    Row,
)
from penstock.delta.kept import Kept, results
from penstock.delta.rows import group_by_key, same_row, with_ttl
from penstock.state.descriptors import MapStateDescriptor, ValueStateDescriptor


class StateCounts:
    """Counted values in the map state of the current key (see `aggregates.Counts`)."""

    __slots__ = ("_state",)

    def __init__(self, state: Any) -> None:
        self._state = state

    def add(self, value: Any, weight: int) -> int:
        count: int = (self._state.get(value) or 0) + weight
        if count:
            self._state.put(value, count)
        else:
            self._state.remove(value)
        return count

    def items(self) -> Iterable[tuple[Any, int]]:
        return self._state.items()  # type: ignore[no-any-return]

    def clear(self) -> None:
        self._state.clear()


class GroupAggregate(DeltaOperator):
    """Output row: the key columns, then one column per aggregate.

    Args:
        key_columns: Grouping columns; none for a global aggregate, which has no row before the first input.
        aggregates: The calls; none for DISTINCT.
        input_retracts: Whether input rows may be taken back.
        emit_update_before: Whether a changed row is preceded by -U with the former one.
        state_ttl_ms: Groups that long without a change are forgotten; 0: never.
        row_count_column: With pre-aggregated input, the column that says how many rows a row stands for.
    """

    def __init__(
        self,
        key_columns: Sequence[int],
        aggregates: Sequence[AggSpec],
        *,
        input_retracts: bool = True,
        emit_update_before: bool = True,
        state_ttl_ms: int = 0,
        row_count_column: int | None = None,
    ) -> None:
        self._key_columns = tuple(key_columns)
        self._specs = tuple(aggregates)
        self._retracts = input_retracts
        self._emit_before = emit_update_before
        self._ttl_ms = state_ttl_ms
        self._row_count_column = row_count_column
        # As Flink does, so that state downstream does not expire. Without aggregates rows can only come and go.
        self._resend_unchanged = state_ttl_ms > 0 and bool(self._specs)
        self._calls: list[AggregateCall] = []
        self._make_calls()  # refuses what is not supported when the query is planned

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._key_columns

    def kept(self) -> tuple[Kept, ...]:
        calls = self._make_calls()
        small = results(spec.function for spec in self._specs)
        values = [
            Kept(f"every value for {spec.function}", "row", columns=spec.args, ttl_ms=self._ttl_ms)
            for spec, call in zip(self._specs, calls, strict=True)
            if call.uses_counts
        ]
        return (Kept(small, columns=(), ttl_ms=self._ttl_ms), *dict.fromkeys(values))

    def _make_calls(self) -> list[AggregateCall]:
        return [AggregateCall(spec, self._retracts) for spec in self._specs]

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        backend = context.keyed_state
        pickled = Types.PICKLED_BYTE_ARRAY()
        self._calls = self._make_calls()
        self._groups = backend.get_partitioned_state(
            with_ttl(ValueStateDescriptor("groups", pickled), self._ttl_ms)
        )
        self._counts: list[StateCounts | None] = []
        self._views: list[AccumulatorViews | None] = []
        for index, call in enumerate(self._calls):
            call.open(context.function_context)
            self._views.append(self._views_of(call, index))
            if not call.uses_counts:
                self._counts.append(None)
                continue
            descriptor = MapStateDescriptor(f"values-{index}", pickled, pickled)
            state = backend.get_partitioned_state(with_ttl(descriptor, self._ttl_ms))
            self._counts.append(StateCounts(state))

    def _views_of(self, call: AggregateCall, index: int) -> AccumulatorViews | None:
        """The lists and maps that a user's function wants to have in state."""
        places = view_places(call.create()) if isinstance(call.function, UserAggregate) else {}
        if not places:
            return None
        state = self.context.keyed_state.get_partitioned_state
        return AccumulatorViews(places, lambda d: state(with_ttl(d, self._ttl_ms)), f"views-{index}")

    def close(self) -> None:
        for call in self._calls:
            call.close()

    def process(self, input_index: int, batch: Batch) -> None:
        set_key = self.context.keyed_state.set_current_key
        for key, rows, weights in group_by_key(batch, self._key_columns):
            set_key(key)
            self._update_group(key, rows, weights)

    def _update_group(self, key: Row, rows: Sequence[Row], weights: Sequence[int] | None) -> None:
        state: list[Any] | None = self._groups.value()
        before = None if state is None else key + self._results(state)
        if weights is None:
            state = self._take(self._load(state), rows, None)
            state[0] += self._row_count(rows)
        else:
            state = self._take_in_order(state, rows, weights)
        after = None if state is None else key + self._results(state)
        if state is not None:
            self._store(state)
        elif before is not None:
            self._groups.clear()
        self._emit(before, after)

    def _emit(self, before: Row | None, after: Row | None) -> None:
        output = self.output
        if before is None:
            if after is not None:
                output.rows.append(after)
                output.kinds.append(INSERT)
        elif after is None:
            output.append(before, DELETE)
        elif self._resend_unchanged or not same_row(before, after):
            if self._emit_before:
                output.rows.append(before)
                output.kinds.append(UPDATE_BEFORE)
            output.rows.append(after)
            output.kinds.append(UPDATE_AFTER)

    # --- one group ----------------------------------------------------------------------------------------

    def _load(self, state: list[Any] | None) -> list[Any]:
        """The group's state to work on, [row count, accumulators...]; a new one if there is none."""
        if state is not None:
            return state
        new: list[Any] = [0]
        for call, counts, views in zip(self._calls, self._counts, self._views, strict=True):
            accumulator = call.create()
            if counts is not None:
                accumulator[1] = None  # the values are in map state
            if views is not None:
                views.adopt(accumulator)
            new.append(accumulator)
        return new

    def _take(self, state: list[Any], rows: Sequence[Row], weights: Sequence[int] | None) -> list[Any]:
        for index, call in enumerate(self._calls, 1):
            state[index] = call.update(self._attached(state[index], index - 1), rows, weights)
        return state

    def _attached(self, accumulator: Any, index: int) -> Any:
        """An accumulator with what it has in state of its own."""
        counts, views = self._counts[index], self._views[index]
        if counts is not None:
            accumulator[1] = counts
        if views is not None:
            views.attach(accumulator)
        return accumulator

    def _take_in_order(
        self, state: list[Any] | None, rows: Sequence[Row], weights: Sequence[int]
    ) -> list[Any] | None:
        """Rows that come and go. The group ends, and its accumulators with it, whenever it becomes empty."""
        at, end = 0, len(rows)
        while at < end:
            if state is None and weights[at] < 0:
                self.context.count(UNMATCHED_RETRACTIONS)
                at += 1
                continue
            state = self._load(state)
            count, start = state[0], at
            while at < end:
                count += weights[at]
                at += 1
                if count == 0:
                    break
            if count == 0:
                self._clear_counts()
                state = None
            else:
                state = self._take(state, rows[start:at], weights[start:at])
                state[0] = count
        return state

    def _row_count(self, rows: Sequence[Row]) -> int:
        column = self._row_count_column
        return len(rows) if column is None else sum(row[column] for row in rows)

    def _results(self, state: list[Any]) -> Row:
        results = []
        for index, call in enumerate(self._calls, 1):
            results.append(call.result(self._attached(state[index], index - 1)))
        return tuple(results)

    def _store(self, state: list[Any]) -> None:
        for index, counts in enumerate(self._counts, 1):
            views = self._views[index - 1]
            if counts is not None:
                state[index][1] = None
            if views is not None:
                views.detach(state[index])
        self._groups.update(state)

    def _clear_counts(self) -> None:
        for kept in (*self._counts, *self._views):
            if kept is not None:
                kept.clear()
