"""Rows as multisets see them: identity, grouping, order, and the weights of an epoch.

Two rows are the same row when SQL says so: NaN equals NaN, 0.0 differs from -0.0, NULL equals NULL, and lists
and maps compare by content. A Python dict disagrees about floats and refuses lists, so such rows are known by
their *canonical bytes*. Rows of other types are compared as they are, which is what makes a batch of them
cheap: one look at the types of the whole batch decides (`identities`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from itertools import chain, repeat
from operator import itemgetter
from typing import Any

import msgspec

from penstock.common import canonical
from penstock.common.time import Duration
from penstock.delta.base import DELETE, INSERT, WEIGHT, Batch, Row
from penstock.state.descriptors import StateDescriptor, StateTtlConfig

_EXACT = frozenset({str, int, bool, bytes, type(None), Decimal, dt.date, dt.datetime, dt.time, dt.timedelta})
"""Types of which equal values, within one column, are the same value."""

_encode = msgspec.msgpack.Encoder(order="deterministic").encode


def canonical_bytes(value: Any) -> bytes:
    """Bytes that are equal for the same values of one column (or rows of one schema), and only for them."""
    try:
        return _encode(value)
    except (TypeError, OverflowError, UnicodeEncodeError, RecursionError):
        return canonical.encode_untyped_key(value)


def all_canonical_bytes(rows: Sequence[Row]) -> list[bytes]:
    """The same for each row."""
    try:
        return list(map(_encode, rows))
    except (TypeError, OverflowError, UnicodeEncodeError, RecursionError):
        return [canonical_bytes(row) for row in rows]


def identities(rows: Sequence[Row]) -> Sequence[Any]:
    """For each row something hashable that is equal for the same rows: the rows themselves if possible."""
    if _EXACT.issuperset(map(type, chain.from_iterable(rows))):
        return rows
    return all_canonical_bytes(rows)


def identity(value: Any) -> Any:
    """The same for one value of a column."""
    return value if type(value) in _EXACT else canonical_bytes(value)


def same_row(left: Row, right: Row) -> bool:
    """Whether two rows are the same row, so that a change from one to the other is no change."""
    if _EXACT.issuperset(map(type, left)) and _EXACT.issuperset(map(type, right)):
        return left == right
    return canonical_bytes(left) == canonical_bytes(right)


def columns_getter(columns: Sequence[int]) -> Callable[[Row], Row]:
    """A function that takes some columns out of a row, always as a tuple."""
    if not columns:
        return lambda row: ()
    if len(columns) == 1:
        only = columns[0]
        return lambda row: (row[only],)
    return itemgetter(*columns)


def keys_of(rows: Sequence[Row], columns: Sequence[int]) -> list[Row]:
    """The key tuples of a batch."""
    if len(columns) == 1:
        only = columns[0]
        return [(row[only],) for row in rows]
    if not columns:
        return [()] * len(rows)
    return list(map(itemgetter(*columns), rows))


def group_by_key(batch: Batch, columns: Sequence[int]) -> list[tuple[Row, list[Row], list[int] | None]]:
    """The batch by key, keys in order of first appearance: (key, rows, weights); weights None means all +1."""
    keys = keys_of(batch.rows, columns)
    found = identities(keys)
    groups: dict[Any, tuple[Row, list[Row], list[int] | None]] = {}
    if not _retracts(batch.kinds):
        for ident, key, row in zip(found, keys, batch.rows, strict=True):
            group = groups.get(ident)
            if group is None:
                groups[ident] = (key, [row], None)
            else:
                group[1].append(row)
        return list(groups.values())
    weighted: dict[Any, tuple[Row, list[Row], list[int]]] = {}
    for ident, key, row, kind in zip(found, keys, batch.rows, batch.kinds, strict=True):
        known = weighted.get(ident)
        if known is None:
            weighted[ident] = (key, [row], [WEIGHT[kind]])
        else:
            known[1].append(row)
            known[2].append(WEIGHT[kind])
    return [(key, rows, None if -1 not in weights else weights) for key, rows, weights in weighted.values()]


def _retracts(kinds: list[int]) -> bool:
    return 1 in kinds or 3 in kinds


def consolidate(
    idents: Sequence[Any], rows: Sequence[Row], weights: Sequence[int] | None
) -> list[tuple[Any, Row, int]]:
    """Sums the weights of the same rows: (identity, row, weight), in order of first appearance, none zero."""
    if len(rows) == 1:
        return [(idents[0], rows[0], 1 if weights is None else weights[0])]
    if weights is None and len(set(idents)) == len(idents):
        return list(zip(idents, rows, repeat(1)))
    sums: dict[Any, list[Any]] = {}
    for ident, row, weight in zip(idents, rows, weights or repeat(1)):  # noqa: B905
        known = sums.get(ident)
        if known is None:
            sums[ident] = [ident, row, weight]
        else:
            known[2] += weight
    return [(ident, row, weight) for ident, row, weight in sums.values() if weight]


def emit_weights(output: Batch, changes: Iterable[tuple[Row, int]]) -> None:
    """Appends rows with weights as -D and +I: what goes before what comes."""
    coming = []
    for row, weight in changes:
        if weight > 0:
            coming.append((row, weight))
        for _ in range(-weight):
            output.append(row, DELETE)
    for row, weight in coming:
        for _ in range(weight):
            output.append(row, INSERT)


# --- order ----------------------------------------------------------------------------------------------


class _Descending:
    """Turns the order of a value around."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _Descending) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Descending) and self.value == other.value


def _ascending_key(value: Any) -> Any:
    """A value that sorts as SQL does: NULL first, NaN last."""
    if value is None:
        return (0,)
    if type(value) is float and value != value:
        return (2,)
    if type(value) is tuple or type(value) is list:
        return (1, tuple(_ascending_key(item) for item in value))
    return (1, value)


def sort_key(order: Sequence[tuple[int, bool]]) -> Callable[[Row], Any]:
    """A key for `sorted` from (column, ascending) pairs. NULL is the smallest value of every type."""
    if len(order) == 1:
        column, ascending = order[0]
        if ascending:
            return lambda row: _ascending_key(row[column])
        return lambda row: _Descending(_ascending_key(row[column]))

    def key(row: Row) -> Any:
        return tuple(
            _ascending_key(row[column]) if ascending else _Descending(_ascending_key(row[column]))
            for column, ascending in order
        )

    return key


def value_sort_key(value: Any) -> Any:
    """`_ascending_key` for a single value."""
    return _ascending_key(value)


# --- state ----------------------------------------------------------------------------------------------


def with_ttl(descriptor: Any, state_ttl_ms: int) -> Any:
    """The descriptor, whose state expires after that long without a write; 0 means never."""
    if state_ttl_ms > 0:
        config = StateTtlConfig.new_builder(Duration.of_millis(state_ttl_ms)).build()
        assert isinstance(descriptor, StateDescriptor)
        descriptor.enable_time_to_live(config)
    return descriptor
