"""Temporal join: each left row meets the version of its key that was valid at the row's time.

    versions of a key   1.10          deleted        1.40            (right input: changes with a row time)
    time             ----8:00-----------9:00-----------11:00---->
    left rows             2 -> 1.10       4 -> none       6 -> 1.40

A left row waits until the watermark has passed its time, because a version valid then may still come. It sees the
versions that came before the watermark passed: a late version does not change what could have been answered
already, wherever the epochs were cut. Among versions of one time the last to come counts.

Of the versions at or before the watermark only the newest can still be asked for, and stays; the others go. So a
late left row finds a version only if that is still valid at the watermark. A deleted key stays as a mark, or a
late version from before would bring it back.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.common.errors import ValidationError
from penstock.common.typeinfo import Types
from penstock.delta.base import DELETE, UPDATE_BEFORE, Batch, DeltaContext, DeltaOperator, Row
from penstock.delta.join import JoinType, Predicate
from penstock.delta.kept import PASSED, Kept, every_row
from penstock.delta.rows import keys_of
from penstock.delta.time.clock import due_in_order, times_of, watermarks_of
from penstock.state.descriptors import MapStateDescriptor, ValueStateDescriptor

_LEFT, _RIGHT = 0, 1

Version = tuple[int, int, "Row | None"]
"""(time, watermark before it came, row or None if the key was deleted)."""


class EventTimeTemporalJoin(DeltaOperator):
    """FOR SYSTEM_TIME AS OF the left row time. Output row: left columns, right columns.

    Args:
        join_type: INNER or LEFT.
        left_keys, right_keys: The columns that must be equal, pairwise; the right ones hold its primary key.
        left_time, right_time: The row times; the right one says since when a version is valid.
        right_width: How many columns the right input has, to pad with NULLs.
        residual: What else must hold for (left row, right row); picklable.

    Attributes:
        watermark_delay_ms: How far the watermark of the result lags behind that of the inputs. The next
            operator has to be advanced to the watermark less this.
    """

    input_count = 2
    watermark_delay_ms = 1

    def __init__(
        self,
        join_type: JoinType,
        left_keys: Sequence[int],
        right_keys: Sequence[int],
        left_time: int,
        right_time: int,
        *,
        right_width: int,
        residual: Predicate | None = None,
    ) -> None:
        if join_type not in (JoinType.INNER, JoinType.LEFT):
            raise ValidationError(
                f"a temporal join cannot be a {join_type.value} join", do="use INNER JOIN or LEFT JOIN"
            )
        if len(left_keys) != len(right_keys):
            raise ValidationError(f"a join of {len(left_keys)} with {len(right_keys)} key columns")
        self._keys = (tuple(left_keys), tuple(right_keys))
        self._times = (left_time, right_time)
        self._pads = join_type is JoinType.LEFT
        self._pad = (None,) * right_width
        self._residual = residual

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._keys[input_index]

    def kept(self) -> tuple[Kept, ...]:
        [left] = every_row(until=(PASSED,))
        return left, Kept("the newest version", input_index=1)

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        backend, pickled = context.keyed_state, Types.PICKLED_BYTE_ARRAY()
        self._waiting = backend.get_partitioned_state(MapStateDescriptor("waiting", pickled, pickled))
        self._versions = backend.get_partitioned_state(ValueStateDescriptor("versions", pickled))

    # --- rows ---------------------------------------------------------------------------------------------

    def process(self, input_index: int, batch: Batch) -> None:
        take = self._take_left if input_index == _LEFT else self._take_right
        keys = keys_of(batch.rows, self._keys[input_index])
        times = times_of(batch, self._times[input_index])
        for row, kind, key, time_ms, watermark in zip(
            batch.rows, batch.kinds, keys, times, watermarks_of(batch), strict=True
        ):
            self.context.keyed_state.set_current_key(key)
            take(row, kind, time_ms, watermark)

    def _take_left(self, row: Row, kind: int, time_ms: int, watermark: int) -> None:
        as_of = max(time_ms, watermark)
        # Versions that come while the watermark is at `as_of` count: at the next millisecond all are here.
        fires_at = as_of + 1
        waiting = self._waiting.get(fires_at) or []
        waiting.append((row, kind, time_ms))
        self._waiting.put(fires_at, waiting)
        self.context.keyed_state.event_timers.register(fires_at, _LEFT)

    def _take_right(self, row: Row, kind: int, time_ms: int, watermark: int) -> None:
        if kind == UPDATE_BEFORE:
            return  # the version that follows says all
        versions: list[Version] = self._versions.value() or []
        versions.append((time_ms, watermark, None if kind == DELETE else row))
        self._versions.update(versions)
        self.context.keyed_state.event_timers.register(max(time_ms, watermark) + 1, _RIGHT)

    # --- time ---------------------------------------------------------------------------------------------

    def advance(self, watermark: int) -> None:
        for timer in due_in_order(self.context.keyed_state.event_timers, watermark):
            self.context.keyed_state.set_current_key(timer.key)
            if timer.namespace == _LEFT:
                self._answer(timer.key, timer.time_ms)
            else:
                self._drop_old_versions(timer.time_ms - 1)

    def _answer(self, key: Row, fires_at: int) -> None:
        as_of = fires_at - 1
        version = None if None in key else _newest(self._versions.value() or (), as_of)
        for row, kind, time_ms in self._waiting.get(fires_at) or ():
            # For a late row `as_of` is the watermark it came with, and the version may be too new.
            valid = version is not None and version[0] <= time_ms
            self._emit(row, kind, version[2] if version is not None and valid else None, as_of - 1)
        self._waiting.remove(fires_at)

    def _emit(self, row: Row, kind: int, partner: Row | None, watermark: int | None) -> None:
        if partner is not None and (self._residual is None or self._residual(row, partner) is True):
            self.output.append(row + partner, kind, watermark)
        elif self._pads:
            self.output.append(row + self._pad, kind, watermark)

    def _drop_old_versions(self, watermark: int) -> None:
        versions: list[Version] = self._versions.value() or []
        newest = _newest(versions, watermark)
        if newest is None:
            return
        kept = [v for v in versions if v is newest or v[0] > newest[0] or v[1] > watermark]
        if len(kept) < len(versions):
            self._versions.update(kept)


def _newest(versions: Sequence[Version], as_of: int) -> Version | None:
    """The newest version up to a time, of those that came before the watermark passed it."""
    found = None
    for version in versions:
        if version[0] <= as_of and version[1] <= as_of and (found is None or version[0] >= found[0]):
            found = version
    return found
