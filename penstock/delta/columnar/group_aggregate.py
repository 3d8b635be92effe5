"""GROUP BY on columns: an epoch's partial results meet the stored ones of their keys by binary search.

    epoch      rows -> one row of partial results per key (also COUNT(DISTINCT x): how many values are new)
    find       the stored rows of these keys, in a few searches over all of them
    change     -U with the result of the stored row, +U with that of both together; +I if there was none
    state      the new rows are one batch of a log; the newest row of a key counts

What comes out is what `delta/group_aggregate.py` gives, for rows that only come and state that does not expire.

The values of COUNT(DISTINCT x) are a log too: a row per key and value, with a bit for each call that has seen it, so
that calls over the same column with different FILTERs share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial as bound

import numpy as np
import pyarrow as pa

from penstock.common.datatypes import DataType
from penstock.common.group_codes import group_codes
from penstock.common.ids import MIN_WATERMARK
from penstock.delta.aggregates import AggSpec
from penstock.delta.base import INSERT, UPDATE_AFTER, UPDATE_BEFORE, DeltaContext
from penstock.delta.columnar.base import ColumnarOperator
from penstock.delta.columnar.hashed_log import PLACE, HashedLog, newest, same_values
from penstock.delta.columnar.members import MOST_CALLS, ColumnMembers
from penstock.delta.columnar.results import added_up, columnar_result, has_columnar_result
from penstock.delta.columns import Ints, can_group, filled, named
from penstock.delta.kept import Kept, results
from penstock.delta.local.aggregate import PreAggregate, call_name, can_be_partial

_ROW = "__row"


@dataclass(frozen=True)
class Split:
    """The calls of a query: those with partial results, and COUNT(DISTINCT x) by the column of x."""

    plain: tuple[AggSpec, ...]
    distinct: tuple[tuple[int, tuple[AggSpec, ...]], ...]

    @property
    def order(self) -> list[AggSpec]:
        return [*self.plain, *(spec for _, specs in self.distinct for spec in specs)]


def split_calls(specs: Sequence[AggSpec], types: Sequence[DataType], floats: bool) -> Split | None:
    """The calls by how they are computed on columns; None if one of them needs Python."""
    plain, distinct = [], dict[int, list[AggSpec]]()
    for spec in specs:
        if spec.distinct and spec.function == "COUNT" and len(spec.args) == 1:
            if not can_group([types[spec.args[0]]]):
                return None
            distinct.setdefault(spec.args[0], []).append(spec)
            if len(distinct[spec.args[0]]) > MOST_CALLS:
                return None
        elif can_be_partial(spec, types, floats) and has_columnar_result(spec):
            plain.append(spec)
        else:
            return None
    return Split(tuple(plain), tuple((arg, tuple(calls)) for arg, calls in distinct.items()))


class ColumnarGroupAggregate(ColumnarOperator):
    """Output row: the key columns, then one column per aggregate, in the order of `specs`.

    Args:
        key_columns: Grouping columns of the input.
        specs: The calls.
        types: The types of the input's columns.
        split: The same calls, as `split_calls` has them.
        pre_aggregated: Whether the input is what a `PreAggregate` of these calls sends, none of them DISTINCT.
    """

    def __init__(
        self,
        key_columns: Sequence[int],
        specs: Sequence[AggSpec],
        types: Sequence[DataType],
        split: Split,
        *,
        pre_aggregated: bool,
    ) -> None:
        self._partials = PreAggregate(key_columns, split.plain, types)
        self._pre_aggregated = pre_aggregated
        width = len(key_columns)
        self._keys = tuple(range(width)) if pre_aggregated else tuple(key_columns)
        self._key_types = [types[k] for k in key_columns]
        self._names = [f"c{i}" for i in range(width)]
        self._distinct = split.distinct
        made = [*self._partials.partial_specs(), *self._distinct_specs(split)]
        self._specs = [made[split.order.index(spec)] for spec in specs]
        counted = [(f"c{spec.args[0]}", "sum") for spec in made[len(split.plain) :]]
        self._adding = [*self._partials.adding(), *counted]

    def _distinct_specs(self, split: Split) -> list[AggSpec]:
        """Counts of values as partial counts, in columns behind the partial results."""
        first = self._partials.row_count_column + 1
        calls = [spec for _, specs in split.distinct for spec in specs]
        return [
            replace(spec, args=(first + i,), filter=None, distinct=False, partial=True)
            for i, spec in enumerate(calls)
        ]

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._keys

    @property
    def retention_ms(self) -> tuple[int, ...]:
        return (0,) if self._keys else ()

    def kept(self) -> tuple[Kept, ...]:
        small = Kept(results(spec.function for spec in self._specs), columns=(), ttl_ms=0)
        values = [Kept("every value", "row", columns=(arg,), ttl_ms=0) for arg, _ in self._distinct]
        return (small, *values)

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        names = context.names_of(0)
        columns = None if names is None else self._columns(names)
        key_names = None if columns is None else columns[: len(self._names)]
        self._groups = HashedLog(
            context, "groups", self._key_types, self._names, columns, newest_by=len(self._names)
        )
        self._values = [
            ColumnMembers(
                context, f"values-{arg}", self._key_types, arg, [spec.filter for spec in specs], key_names
            )
            for arg, specs in self._distinct
        ]

    def _columns(self, names: Sequence[str]) -> list[str]:
        """What the columns of the stored rows are called."""
        counts = [call_name("count_distinct", names[arg]) for arg, specs in self._distinct for _ in specs]
        return [*self._partials.stored_names(names), *counts]

    # --- an epoch -----------------------------------------------------------------------------------------

    def process_table(self, input_index: int, table: pa.Table) -> None:
        news = self._news(table)
        groups = self._groups.key_groups(news)
        news = self._with_new_values(table, news, groups)
        places = self._groups.places(news, groups)
        known, before = self._groups.newest_of(news, places)
        now = self._together(news, known, before)
        self._put_out(before, known, now)
        stored = now.append_column(PLACE, pa.array(places))
        order = pa.array(np.argsort(places, kind="stable"))
        self._groups.append(stored.take(order), bound(newest, names=self._names))

    def _news(self, table: pa.Table) -> pa.Table:
        """A row per key: what the epoch adds to its partial results."""
        made = table if self._pre_aggregated else self._partials(table)
        return made.select([*self._names, *(name for name, _ in self._partials.adding())])

    def _with_new_values(self, table: pa.Table, news: pa.Table, groups: Ints) -> pa.Table:
        """The same with the numbers of values that calls had not seen, and no values that they had."""
        if not self._values:
            return news
        rows, keys = table.num_rows, len(news)
        columns = [
            pa.chunked_array([*news.column(name).chunks, *table.column(key).chunks])
            for name, key in zip(self._names, self._keys, strict=True)
        ]
        codes = group_codes(columns, rows + keys)
        row_of = np.empty(int(codes.max(initial=0)) + 1, np.int64)
        row_of[codes[:keys]] = np.arange(keys)
        of_key = row_of[codes[keys:]]
        at = self._partials.row_count_column + 1
        for values in self._values:
            for count in values.new_values(table, news.select(self._names), of_key, groups):
                news = news.append_column(f"c{at}", pa.array(count))
                at += 1
        return news

    def _together(self, news: pa.Table, known: Ints, before: pa.Table) -> pa.Table:
        """A row per key, in the order of `news`: what is known of it now."""
        if not len(known):
            return news
        added = [*(name for name, _ in self._adding)]
        mine = news.select(added).append_column(_ROW, pa.array(np.arange(len(news))))
        theirs = before.select(added).append_column(_ROW, pa.array(known))
        found = added_up(pa.concat_tables([mine, theirs]), [_ROW], self._adding)
        columns = [*(news.column(name) for name in self._names), *(found.column(name) for name in added)]
        return pa.table(columns, names=[*self._names, *added])

    # --- output -------------------------------------------------------------------------------------------

    def _put_out(self, before: pa.Table, known: Ints, now: pa.Table) -> None:
        """+I of keys that are new, -U and +U of those whose result is another than it was."""
        after = self._results(now)
        rows = np.arange(now.num_rows)
        is_new = np.ones(len(rows), bool)
        is_new[known] = False
        former = self._results(before)
        changed = np.zeros(len(known), bool)
        for one, other in zip(former, after, strict=True):
            changed |= ~same_values(one, other.take(pa.array(known)))
        gone, come = np.flatnonzero(changed), np.concatenate([rows[is_new], known[changed]])
        order = np.argsort(np.concatenate([known[changed] * 2, come * 2 + 1]))
        kinds = np.concatenate([
            np.full(len(gone), UPDATE_BEFORE, np.int8),
            np.full(int(is_new.sum()), INSERT, np.int8),
            np.full(len(gone), UPDATE_AFTER, np.int8),
        ])  # fmt: skip
        columns = []
        for one, other in zip(former, after, strict=True):
            both = pa.chunked_array(
                [*one.take(pa.array(gone)).chunks, *other.take(pa.array(come)).chunks], other.type
            )
            columns.append(both.take(pa.array(order)))
        count = len(order)
        hidden = [pa.array(kinds[order]), filled(MIN_WATERMARK, count), filled(0, count)]
        self.output_tables.append(named([*columns, *hidden]))

    def _results(self, table: pa.Table) -> list[pa.ChunkedArray]:
        results = [columnar_result(spec, table) for spec in self._specs]
        return [*(table.column(name) for name in self._names), *map(_chunked, results)]


def _chunked(column: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
