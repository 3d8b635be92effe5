"""Results so far, row by row: what a key had, and what each of an epoch's rows adds to it.

    key   value      stored sum      running sum        state afterwards
    a     1          a: 10           11
    b     5                           5                 b: 5
    a     2                          13                 a: 13

Rows are put in order of their keys. Then either each key is accumulated by itself, or all keys take one step
together, whichever needs fewer calls of numpy: with n rows never more than the square root of n. Both add one value
after the other, so that sums of floating point numbers are what they are row by row.
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from functools import partial as bound

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.group_codes import group_codes
from penstock.delta.base import DeltaContext
from penstock.delta.columnar.hashed_log import PLACE, HashedLog, newest
from penstock.delta.columns import Ints
from penstock.delta.local.aggregate import PreAggregate

_DECIMALS = decimal.Context(prec=76)


class RunningResults:
    """The partial results of each key, in state.

    Args:
        context: Where the state is.
        name: Its name.
        key_columns: Columns of the input whose values have results of their own.
        partials: The calls, by the same key.
    """

    def __init__(
        self, context: DeltaContext, name: str, key_columns: Sequence[int], partials: PreAggregate
    ) -> None:
        self._keys = tuple(key_columns)
        self._partials = partials
        self._names = [f"c{i}" for i in range(len(self._keys))]
        names = context.names_of(0)
        columns = None if names is None else partials.stored_names(names)
        self._log = HashedLog(context, name, partials.key_types, self._names, columns, len(self._keys))

    def add(self, table: pa.Table) -> tuple[pa.Table, Ints]:
        """Takes rows in, in their order. Gives the partial results after each of them, and numbers of their keys."""
        columns = [table.column(key) for key in self._keys]
        codes = group_codes(columns, table.num_rows)
        order = np.argsort(codes, kind="stable")
        begins = np.flatnonzero(np.diff(codes[order], prepend=-1))
        keys = pa.table([c.take(pa.array(order[begins])) for c in columns], names=self._names)
        if not columns:
            keys = pa.table({PLACE: pa.array(begins)})  # a table without columns has no rows
        places = self._log.places(keys, self._log.key_groups(keys))
        known, before = self._log.newest_of(keys, places)
        each = self._partials.each_row(table).take(pa.array(order))
        found = [
            (name, _accumulated(each.column(name), call, begins, known, _stored(before, name, each)))
            for name, call in self._partials.adding()
        ]
        running = pa.table([column for _, column in found], names=[name for name, _ in found])
        self._remember(keys, places, running, begins)
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return running.take(pa.array(back)), codes

    def _remember(self, keys: pa.Table, places: Ints, running: pa.Table, begins: Ints) -> None:
        """The results after the last row of each key."""
        last = running.take(pa.array(np.append(begins[1:], running.num_rows) - 1))
        columns = [*(keys.column(name) for name in self._names), *last.columns, pa.array(places)]
        stored = pa.table(columns, names=[*self._names, *last.column_names, PLACE])
        self._log.append(
            stored.take(pa.array(np.argsort(places, kind="stable"))), bound(newest, names=self._names)
        )


def _stored(before: pa.Table, name: str, like: pa.Table) -> pa.ChunkedArray:
    """A stored column; an empty one if nothing was stored yet."""
    return before.column(name) if before.num_rows else like.column(name).slice(0, 0)


def _accumulated(
    values: pa.ChunkedArray, call: str, begins: Ints, known: Ints, before: pa.ChunkedArray
) -> pa.Array:
    """A partial result after each row; `before` are those of the keys `known`."""
    if call == "sum":
        return _sums(values, begins, known, before)
    return _extremes(values, call, begins, known, before)


def _sums(values: pa.ChunkedArray, begins: Ints, known: Ints, before: pa.ChunkedArray) -> pa.Array:
    kind = values.type
    exact = pa.types.is_decimal(kind)
    zero = pa.scalar(decimal.Decimal(0) if exact else 0, kind)
    first = (
        np.full(len(begins), decimal.Decimal(0)) if exact else np.zeros(len(begins), kind.to_pandas_dtype())
    )
    first[known] = _numpy(pc.fill_null(before, zero), exact)
    with decimal.localcontext(_DECIMALS):
        sums = accumulate(np.add, _numpy(pc.fill_null(values, zero), exact), begins, first)
    if not values.null_count and not before.null_count:
        return pa.array(sums, kind)
    any_before = np.zeros(len(begins), bool)
    any_before[known] = np.asarray(before.is_valid())
    some = accumulate(np.logical_or, np.asarray(values.is_valid()), begins, any_before)
    return pa.array(sums, kind, mask=~some)


def _numpy(column: pa.ChunkedArray, as_objects: bool) -> Ints:
    if not as_objects:
        return np.asarray(column)
    found = np.empty(len(column), object)
    found[:] = column.to_pylist()
    return found


def _extremes(
    values: pa.ChunkedArray, call: str, begins: Ints, known: Ints, before: pa.ChunkedArray
) -> pa.Array:
    """Least or greatest values, by their places in the order of all; NULL counts as none."""
    both = pa.chunked_array([*before.chunks, *values.chunks], values.type)
    places: Ints = np.asarray(pc.rank(both, sort_keys="ascending", tiebreaker="dense")).astype(np.int64)
    nothing = 0 if call == "max" else len(both) + 1
    if both.null_count:
        places[np.asarray(both.is_null())] = nothing
    first = np.full(len(begins), nothing, np.int64)
    first[known] = places[: len(before)]
    take = np.maximum if call == "max" else np.minimum
    found = accumulate(take, places[len(before) :], begins, first)
    row_with = np.zeros(len(both) + 2, np.int64)
    row_with[places] = np.arange(len(both))
    chosen = both.take(pa.array(row_with[found], mask=found == nothing))
    return chosen.combine_chunks()


def accumulate(operation: np.ufunc, values: Ints, begins: Ints, first: Ints) -> Ints:
    """Running results of values that lie in groups, each of which begins with a value of `first`.

    >>> accumulate(np.add, np.array([1, 2, 3, 4]), np.array([0, 3]), np.array([10, 0])).tolist()
    [11, 13, 16, 4]
    """
    found = values.copy()
    if not len(begins):
        return found
    found[begins] = operation(first, found[begins])
    ends = np.append(begins[1:], len(values))
    lengths = ends - begins
    if len(begins) <= lengths.max():
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            operation.accumulate(found[begin:end], out=found[begin:end])
        return found
    for step in range(1, int(lengths.max())):
        at = begins[lengths > step] + step
        found[at] = operation(found[at - 1], found[at])
    return found
