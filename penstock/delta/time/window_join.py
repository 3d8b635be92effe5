"""Window join: rows of two inputs that are in the same window meet when the window ends.

Nothing is joined before, so the result only grows: a row is padded, or shown by an anti join, exactly if no
partner came in time.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.common.errors import ValidationError
from penstock.common.typeinfo import Types
from penstock.delta.base import INSERT, DeltaContext, Row
from penstock.delta.join import JoinType, Predicate
from penstock.delta.kept import WINDOW_ENDS, Kept, every_row
from penstock.delta.time.attached import AttachedWindowOperator, Window
from penstock.delta.time.windows import AttachedWindow
from penstock.state.descriptors import ListStateDescriptor


class WindowJoin(AttachedWindowOperator):
    """Input 0 is the left side, input 1 the right. Output row: left columns, right columns (not in semi, anti).

    Args:
        left_keys, right_keys: The columns that must be equal besides the window, pairwise.
        left_window, right_window: Where the rows have their windows, which must be equal.
        left_width, right_width: How many columns the inputs have, to pad with NULLs.
        null_safe: Per key column, whether NULL equals NULL; default: nowhere.
        residual: What else must hold for (left row, right row); picklable.
        zone: The session zone if the windows are over TIMESTAMP_LTZ.
    """

    input_count = 2

    def __init__(
        self,
        join_type: JoinType,
        left_keys: Sequence[int],
        right_keys: Sequence[int],
        left_window: AttachedWindow,
        right_window: AttachedWindow,
        *,
        left_width: int,
        right_width: int,
        null_safe: Sequence[bool] = (),
        residual: Predicate | None = None,
        zone: str | None = None,
    ) -> None:
        if len(left_keys) != len(right_keys):
            raise ValidationError(f"a join of {len(left_keys)} with {len(right_keys)} key columns")
        super().__init__((left_keys, right_keys), (left_window, right_window), zone)
        self._type = join_type
        self._pads = ((None,) * left_width, (None,) * right_width)
        safe = tuple(null_safe) or (False,) * len(left_keys)
        self._strict = tuple(index for index, is_safe in enumerate(safe) if not is_safe)
        self._residual = residual

    def kept(self) -> tuple[Kept, ...]:
        return every_row(2, until=(WINDOW_ENDS, WINDOW_ENDS))

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        pickled = Types.PICKLED_BYTE_ARRAY()
        self._rows = [
            context.keyed_state.get_partitioned_state(ListStateDescriptor(name, pickled), namespaced=True)
            for name in ("left", "right")
        ]

    def _collect(self, input_index: int, rows: list[Row]) -> None:
        self._rows[input_index].add_all(rows)

    def _fire(self, key: Row, window: Window, watermark: int) -> None:
        left, right = (state.get() for state in self._rows)
        for state in self._rows:
            state.clear()
        possible = not any(key[index] is None for index in self._strict)
        if self._type in (JoinType.SEMI, JoinType.ANTI):
            rows = self._tested(left, right if possible else [])
        else:
            rows = self._joined(left, right, possible)
        for row in rows:
            self.output.append(row, INSERT, watermark)

    def _tested(self, left: list[Row], right: list[Row]) -> list[Row]:
        wanted = self._type is JoinType.SEMI
        return [one for one in left if any(self._holds(one, other) for other in right) == wanted]

    def _joined(self, left: list[Row], right: list[Row], possible: bool) -> list[Row]:
        rows: list[Row] = []
        matched_right = [False] * len(right)
        for one in left:
            matched = False
            for index, other in enumerate(right) if possible else ():
                if self._holds(one, other):
                    matched = matched_right[index] = True
                    rows.append(one + other)
            if not matched and self._type in (JoinType.LEFT, JoinType.FULL):
                rows.append(one + self._pads[1])
        if self._type in (JoinType.RIGHT, JoinType.FULL):
            pad = self._pads[0]
            rows += [pad + other for other, hit in zip(right, matched_right, strict=True) if not hit]
        return rows

    def _holds(self, left: Row, right: Row) -> bool:
        return self._residual is None or self._residual(left, right) is True
