"""Regular joins of two changing tables: inner, left, right, full, semi and anti.

Both sides are kept, per join key, as multisets of rows. The change of the result follows from the changes of
the sides, one after the other (dL and dR, L' is L after dL):

    d(L join R) = dL join R  +  L' join dR

What a side shows of rows that stand alone (padded with NULL in outer joins; themselves in semi and anti joins)
depends on whether they have a match. Without a residual predicate all rows of a key have the same matches, so
it is enough to see the other side become empty or not. With one, each row of such a side remembers how many
rows match it.

Inputs are held back until the end of the epoch and the changes of a key are summed up, so that a row that meets
its match in the same epoch was never padded. Changes are -D and +I, what goes before what comes.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from penstock.common.errors import ValidationError
from penstock.delta.base import INSERT, UNMATCHED_RETRACTIONS, Batch, DeltaContext, DeltaOperator, Row
from penstock.delta.kept import Kept, every_row
from penstock.delta.row_store import Record, RowStore
from penstock.delta.rows import (
    all_canonical_bytes,
    canonical_bytes,
    consolidate,
    emit_weights,
    group_by_key,
    identities,
)

Predicate = Callable[[Row, Row], "bool | None"]
Weighted = list[tuple[Any, Row, int]]


class JoinType(enum.Enum):
    """Which rows of which side are in the result without a partner."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"


class _Side:
    """One input: its rows of the current key. A record per row: its bytes -> (count, matches, *row)."""

    def __init__(self, rows: RowStore, context: DeltaContext) -> None:
        self.rows = rows
        self._context = context
        self.shows_alone = False
        """Whether rows of this side are in the result alone."""
        self.when_matched = False
        """If so, whether it is the matched ones (semi join) or the others."""

    def apply(self, delta: Weighted) -> Weighted:
        """Changes the counts; gives the delta back without rows that go but were not there."""
        state, applied = self.rows, []
        for ident, row, weight in delta:
            record = state.get(ident)
            if record is None:
                if weight < 0:
                    self._context.count(UNMATCHED_RETRACTIONS, -weight)
                    continue
                state.put(ident, (weight, 0, *row))
            else:
                count = record[0] + weight
                if count < 0:
                    self._context.count(UNMATCHED_RETRACTIONS, -count)
                    weight, count = -record[0], 0
                if count:
                    state.put(ident, (count, *record[1:]))
                else:
                    state.remove(ident)
            applied.append((ident, row, weight))
        return applied


class RegularJoin(DeltaOperator):
    """Input 0 is the left side, input 1 the right. Output row: left columns, right columns (not in semi, anti).

    Args:
        left_keys, right_keys: The columns that must be equal, pairwise; none for cross and theta joins.
        left_width, right_width: How many columns the inputs have, to pad with NULLs.
        null_safe: Per key column, whether NULL equals NULL (IS NOT DISTINCT FROM); default: nowhere.
        residual: What else must hold for (left row, right row); picklable.
        null_aware: For NOT IN: a residual that is unknown counts as a match. Put the compared columns into
            the residual, not into the keys.
        left_state_ttl_ms, right_state_ttl_ms: Rows that long without a change are forgotten; 0: never.
    """

    input_count = 2

    def __init__(
        self,
        join_type: JoinType,
        left_keys: Sequence[int],
        right_keys: Sequence[int],
        *,
        left_width: int,
        right_width: int,
        null_safe: Sequence[bool] = (),
        residual: Predicate | None = None,
        null_aware: bool = False,
        left_state_ttl_ms: int = 0,
        right_state_ttl_ms: int = 0,
    ) -> None:
        if len(left_keys) != len(right_keys):
            raise ValidationError(f"a join of {len(left_keys)} with {len(right_keys)} key columns")
        self._type = join_type
        self._keys = (tuple(left_keys), tuple(right_keys))
        self._widths = (left_width, right_width)
        self._null_safe = tuple(null_safe) or (False,) * len(left_keys)
        self._residual = residual
        self._null_aware = null_aware
        self._ttl_ms = (left_state_ttl_ms, right_state_ttl_ms)

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._keys[input_index]

    def kept(self) -> tuple[Kept, ...]:
        return every_row(2, self._ttl_ms)

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        left = _Side(RowStore(context.keyed_state, "left", self._ttl_ms[0]), context)
        right = _Side(RowStore(context.keyed_state, "right", self._ttl_ms[1]), context)
        self._sides = (left, right)
        left.shows_alone = self._type not in (JoinType.INNER, JoinType.RIGHT)
        left.when_matched = self._type is JoinType.SEMI
        right.shows_alone = self._type in (JoinType.RIGHT, JoinType.FULL)
        self._pairs = self._type not in (JoinType.SEMI, JoinType.ANTI)
        self._pads = ((None,) * self._widths[1], (None,) * self._widths[0])
        self._changed: list[Row] = []
        self._weights: list[int] = []
        self._strict = [index for index, safe in enumerate(self._null_safe) if not safe]

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._pending: tuple[Batch, Batch] = (Batch(), Batch())

    def process(self, input_index: int, batch: Batch) -> None:
        pending = self._pending[input_index]
        pending.rows.extend(batch.rows)
        pending.kinds.extend(batch.kinds)

    def end_epoch(self) -> None:
        deltas: dict[Any, list[Any]] = {}
        for index in (0, 1):
            groups = group_by_key(self._pending[index], self._keys[index])
            for ident, group in zip(identities([group[0] for group in groups]), groups, strict=True):
                entry = deltas.setdefault(_as_bytes_or_key(ident), [group[0], None, None])
                entry[1 + index] = group
        self._pending = (Batch(), Batch())
        set_key = self.context.keyed_state.set_current_key
        for key, left, right in deltas.values():
            if self._never_matches(key):
                self._alone(0, left)
                self._alone(1, right)
            else:
                set_key(key)
                self._join_key(left, right)
            self._flush()

    # --- one key ------------------------------------------------------------------------------------------

    def _never_matches(self, key: Row) -> bool:
        return None in key and any(key[index] is None for index in self._strict)

    def _join_key(self, left: Any, right: Any) -> None:
        for side in self._sides:
            side.rows.load()
        self._phase(0, left)
        self._phase(1, right)
        for side in self._sides:
            side.rows.save()

    def _alone(self, index: int, group: Any) -> None:
        """Rows with NULL in the key have no match, so they need no state."""
        side = self._sides[index]
        if group is None or not side.shows_alone or side.when_matched:
            return
        _, rows, weights = group
        for at, row in enumerate(rows):
            self._show(index, row, 1 if weights is None else weights[at])

    def _phase(self, index: int, group: Any) -> None:
        """The changes of one side, against the other as it is now."""
        if group is None:
            return
        _, rows, weights = group
        delta = consolidate(all_canonical_bytes(rows), rows, weights)
        if self._residual is None:
            self._phase_by_key(index, delta)
        else:
            self._phase_by_row(index, delta)

    def _phase_by_key(self, index: int, delta: Weighted) -> None:
        own, other = self._sides[index], self._sides[1 - index]
        was_empty = other.shows_alone and own.rows.is_empty()
        delta = own.apply(delta)
        flips = other.shows_alone and was_empty != own.rows.is_empty()
        partners: list[tuple[Row, int]] = []
        if self._pairs or flips:
            partners = [(record[2:], record[0]) for _, record in other.rows.items()]
        if self._pairs and partners:
            self._pair_all(index, delta, partners)
        if own.shows_alone and other.rows.is_empty() != own.when_matched:
            for _, row, weight in delta:
                self._show(index, row, weight)
        if flips:
            sign = 1 if was_empty == other.when_matched else -1
            for row, count in partners:
                self._show(1 - index, row, sign * count)

    def _pair_all(self, index: int, delta: Weighted, partners: list[tuple[Row, int]]) -> None:
        changed, weights = self._changed, self._weights
        for _, row, weight in delta:
            if index == 0:
                changed.extend([row + partner for partner, _ in partners])
            else:
                changed.extend([partner + row for partner, _ in partners])
            weights.extend([weight * count for _, count in partners])

    def _phase_by_row(self, index: int, delta: Weighted) -> None:
        own, other = self._sides[index], self._sides[1 - index]
        delta = own.apply(delta)
        if not delta:
            return
        partners = list(other.rows.items())
        moved: dict[int, int] = {}
        for ident, row, weight in delta:
            matches = 0
            for at, (_, record) in enumerate(partners):
                if not self._holds(index, row, record[2:]):
                    continue
                matches += record[0]
                moved[at] = moved.get(at, 0) + weight
                if self._pairs:
                    self._pair(index, row, record[2:], weight * record[0])
            if own.shows_alone:
                self._remember(own, ident, matches)
                if (matches > 0) == own.when_matched:
                    self._show(index, row, weight)
        if other.shows_alone:
            for at, change in moved.items():
                self._move_matches(1 - index, partners[at], change)

    def _remember(self, side: _Side, ident: Any, matches: int) -> None:
        record = side.rows.get(ident)
        if record is not None and record[1] != matches:
            side.rows.put(ident, (record[0], matches, *record[2:]))

    def _move_matches(self, index: int, partner: tuple[bytes, Record], change: int) -> None:
        """A row of the other side got or lost matches; it may appear or vanish alone."""
        if not change:
            return
        side, (ident, record) = self._sides[index], partner
        matches = record[1] + change
        side.rows.put(ident, (record[0], matches, *record[2:]))
        if (record[1] > 0) != (matches > 0):
            sign = 1 if (matches > 0) == side.when_matched else -1
            self._show(index, record[2:], sign * record[0])

    def _holds(self, index: int, own: Row, other: Row) -> bool:
        assert self._residual is not None
        result = self._residual(own, other) if index == 0 else self._residual(other, own)
        return result is True or (self._null_aware and result is None)

    # --- output -------------------------------------------------------------------------------------------

    def _pair(self, index: int, own: Row, other: Row, weight: int) -> None:
        self._changed.append(own + other if index == 0 else other + own)
        self._weights.append(weight)

    def _show(self, index: int, row: Row, weight: int) -> None:
        if self._pairs:
            row = row + self._pads[0] if index == 0 else self._pads[1] + row
        self._changed.append(row)
        self._weights.append(weight)

    def _flush(self) -> None:
        """Sends the changes of a key. Their lists are filled again for the next one."""
        rows, weights = self._changed, self._weights
        if not rows:
            return
        if min(weights) == 1 == max(weights):  # by far the most frequent case
            self.output.rows.extend(rows)
            self.output.kinds.extend([INSERT] * len(rows))
        elif len(rows) > 1 and min(weights) < 0:
            merged = consolidate(identities(rows), rows, weights)
            emit_weights(self.output, [(row, weight) for _, row, weight in merged])
        else:
            emit_weights(self.output, zip(rows, weights, strict=True))
        rows.clear()
        weights.clear()


def _as_bytes_or_key(ident: Any) -> Any:
    """Group identities of two batches are comparable: one batch may have needed bytes, the other not."""
    return ident if type(ident) is bytes else canonical_bytes(ident)
