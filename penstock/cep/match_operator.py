"""MATCH_RECOGNIZE as an operator over rows: the partition columns and the leaves of each match come out.

Rows only come. A row at or behind the watermark is late and dropped; in batch mode no row is late.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

from penstock.cep.match_rows import Leaf, MatchRows, Variable, build_pattern
from penstock.cep.matcher import KeyedMatcher
from penstock.cep.nfa.compiler import compile_pattern
from penstock.cep.nfa.found import FoundMatch, TimedOut
from penstock.cep.nfa.nfa import NFA
from penstock.common.errors import ValidationError
from penstock.delta.base import INSERT, WEIGHT, Batch, DeltaContext, DeltaOperator
from penstock.delta.kept import Kept
from penstock.delta.rows import columns_getter, consolidate, identities, keys_of, sort_key
from penstock.delta.time.clock import LATE_RECORDS_DROPPED, times_of, watermarks_of


class MatchRecognizeOperator(DeltaOperator):
    """Looks for a row pattern in each partition.

    Args:
        partition: Columns of the input; () for one partition.
        time_column: The row time; None: rows are matched as they come, by processing time.
        order: Further (column, ascending) pairs, for rows of the same time.
        variables: The pattern.
        skip: PAST LAST ROW, TO NEXT ROW, TO FIRST or TO LAST, and the variable of the latter two.
        within_ms: Limit from the first to the last row of a match; 0: none.
        outputs: What a match gives behind the partition columns.
        drops_late: Whether rows can be late.
    """

    def __init__(
        self,
        partition: Sequence[int],
        time_column: int | None,
        order: Sequence[tuple[int, bool]],
        variables: Sequence[Variable],
        skip: tuple[str, str | None],
        within_ms: int,
        outputs: Sequence[Leaf],
        *,
        drops_late: bool = True,
    ) -> None:
        self._partition = tuple(partition)
        self._time_column = time_column
        self._order = tuple(order)
        self._variables = tuple(variables)
        self._skip = skip
        self._within_ms = within_ms
        self._outputs = tuple(outputs)
        self._drops_late = drops_late
        if compile_pattern(self._pattern()).can_match_nothing():
            raise ValidationError(
                "Patterns that can produce empty matches are not supported. There must be at least one non-optional "
                "state."
            )

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._partition

    def kept(self) -> tuple[Kept, ...]:
        until = "until the match ends" if not self._within_ms else f"for {self._within_ms} ms at most"
        return (Kept("rows of partial matches", each="row", until=until),)

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        backend: Any = context.keyed_state
        self._matcher = KeyedMatcher(
            NFA(self._pattern()),
            backend,
            backend.get_partitioned_state,
            columns_getter(self._partition),
            emit=self._emit,
            emit_timeouts=_ignore,
            count=context.count,
            order=sort_key(self._order) if self._order else None,
            in_processing_time=self._time_column is None,
        )
        for leaf in self._leaves():
            leaf.open(context.function_context)

    def close(self) -> None:
        for leaf in self._leaves():
            leaf.close()

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._matcher.begin_epoch()
        backend, now_ms = self.context.keyed_state, self.context.processing_time_ms
        for timer in backend.processing_timers.pop_due(now_ms - 1):
            backend.set_current_key(timer.key)
            self._matcher.on_processing_timer(now_ms)

    def process(self, input_index: int, batch: Batch) -> None:
        if any(batch.kinds):  # only in batch mode: what is taken back in the epoch was never there
            batch = _net(batch)
        keys = keys_of(batch.rows, self._partition)
        if self._time_column is None:
            set_key, now_ms = self.context.keyed_state.set_current_key, self.context.processing_time_ms
            for key, row in zip(keys, batch.rows, strict=True):
                set_key(key)
                self._matcher.take(row, now_ms)
            return
        times_ms = times_of(batch, self._time_column)
        in_time = [
            t > mark or not self._drops_late for t, mark in zip(times_ms, watermarks_of(batch), strict=True)
        ]
        if all(in_time):
            self._matcher.let_wait(keys, times_ms, batch.rows)
            return
        self.context.count(LATE_RECORDS_DROPPED, in_time.count(False))
        kept_keys, kept_times = compress(keys, in_time), compress(times_ms, in_time)
        self._matcher.let_wait(kept_keys, kept_times, compress(batch.rows, in_time))

    def advance(self, watermark: int) -> None:
        if self._time_column is not None:
            self._matcher.advance(watermark, self.context.processing_time_ms)

    def end_epoch(self) -> None:
        self._matcher.end_epoch()

    def _pattern(self) -> Any:
        return build_pattern(self._variables, self._skip, self._within_ms)

    def _leaves(self) -> list[Leaf]:
        return [*self._outputs, *(leaf for variable in self._variables for leaf in variable.leaves)]

    def _emit(self, found: list[FoundMatch], time_ms: int) -> None:
        names = [variable.name for variable in self._variables]
        for match in found:
            rows = MatchRows(match, names)
            some = next(iter(match.values()))[0]
            key = tuple([some[column] for column in self._partition])
            values = tuple([leaf.value(rows, time_ms) for leaf in self._outputs])
            self.output.append((*key, *values), INSERT, self.context.watermark)


def _net(batch: Batch) -> Batch:
    net = Batch()
    weights = [WEIGHT[kind] for kind in batch.kinds]
    for _, row, weight in consolidate(identities(batch.rows), batch.rows, weights):
        for _ in range(weight):
            net.append(row, INSERT)
    return net


def _ignore(timed_out: list[TimedOut]) -> None:
    """SQL has no word for what ran out of time."""
