"""Pre-aggregation: one row per key (and slice of time) instead of many, with partial results.

Arrow's hash aggregation takes about 40 ns per row, a row that becomes Python objects and goes through an exchange
about 2 us, so this is what makes GROUP BY fast; it is what Flink calls the local phase of two-phase aggregation.

    k  v                    k  count  sum(v)  max(v)  rows
    a  1                    a  2      4       3       2
    b  2         ->         b  1      2       2       1
    a  3

Only sums that come out the same in whatever order they are added are taken: floating point numbers wait for the
operator unless the user asks for it (`table.optimizer.agg-phase-strategy` = TWO_PHASE).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import (
    BigIntType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
)
from penstock.common.ids import MIN_WATERMARK
from penstock.delta.aggregates import AggSpec
from penstock.delta.base import INSERT
from penstock.delta.columns import POSITION, WATERMARK, can_order, filled, millis, named
from penstock.delta.local.base import LocalStage
from penstock.delta.time.windows import WindowSpec

_ARROW_CALLS = {
    "COUNT": ("count",),
    "SUM": ("sum",),
    "$SUM0": ("sum",),
    "AVG": ("sum", "count"),
    "MIN": ("min",),
    "MAX": ("max",),
}
"""Arrow's aggregations for the partial columns of a call, in the order of `AggSpec.args` of a partial call."""
_SUMS = ("SUM", "$SUM0", "AVG")
_Call = tuple[str | tuple[()], str]
"""A column and what Arrow does with it."""
_ALL_ROWS: _Call = ((), "count_all")
_EXACT_DIGITS = 28
"""A sum of 10^10 decimals of so many digits fits into 38."""
_TIME = "__time"


def can_be_partial(spec: AggSpec, types: Sequence[DataType], floats: bool) -> bool:
    """Whether a call has a partial form with the same result; `floats` allows inexact sums."""
    if spec.distinct or spec.function not in _ARROW_CALLS or len(spec.args) > 1:
        return False
    if spec.function == "COUNT":
        return True
    kind = types[spec.args[0]]
    if spec.function in ("MIN", "MAX"):
        return can_order([kind])
    if isinstance(kind, DecimalType):
        return kind.precision <= _EXACT_DIGITS
    return isinstance(kind, IntegralType) or (floats and isinstance(kind, (DoubleType, FloatType)))


@dataclass(frozen=True)
class SliceTime:
    """Groups rows by slices of time too; rows that were late for their slice stay apart by their watermark.

    The time that comes out is the last millisecond of the slice, the watermark that of a late row or none.
    """

    column: int
    window: WindowSpec

    def cut(self, table: pa.Table) -> tuple[pa.Array, pa.Array]:
        """Per row the time that stands for its slice (in its column's type), and the watermark if it was late."""
        column = table.column(self.column).combine_chunks()
        last = self.window.slice_end(millis(column)) - 1
        watermarks = np.asarray(table.column(WATERMARK))
        late = np.where(last <= watermarks, watermarks, MIN_WATERMARK)
        return pa.array(last).cast(pa.timestamp("ms")).cast(column.type), pa.array(late)


class PreAggregate(LocalStage):
    """Output: the keys, the slice's time if there is one, the partial columns of each call, the number of rows.

    Args:
        key_columns: Columns to group by.
        specs: The calls, over the same input.
        types: The types of the input's columns.
        slices: How time is cut, for window aggregates.
    """

    def __init__(
        self,
        key_columns: Sequence[int],
        specs: Sequence[AggSpec],
        types: Sequence[DataType],
        slices: SliceTime | None = None,
    ) -> None:
        self._keys = tuple(key_columns)
        self._specs = tuple(specs)
        self._types = tuple(types)
        self._slices = slices

    def came_from(self, column: int) -> int:
        return self._keys[column]

    def output_types(self) -> list[DataType]:
        found = self.key_types
        if self._slices is not None:
            found.append(self._types[self._slices.column])
        for spec in self._specs:
            found += _partial_types(spec, self._types)
        return [*found, BigIntType(False)]

    def stored_names(self, names: Sequence[str]) -> list[str]:
        """What readers of state call keys, partial columns and the number of rows; `names` are the input's."""
        found = [names[key] for key in self._keys]
        for spec in self._specs:
            of = names[spec.args[0]] if spec.args else ""
            found += [call_name(call, of) for call in _ARROW_CALLS[spec.function]]
        return [*found, "rows"]

    def partial_specs(self) -> list[AggSpec]:
        """The calls over the output."""
        at = self._group_width
        made = []
        for spec in self._specs:
            width = len(_ARROW_CALLS[spec.function])
            made.append(replace(spec, args=tuple(range(at, at + width)), filter=None, partial=True))
            at += width
        return made

    @property
    def row_count_column(self) -> int:
        return len(self.output_types()) - 1

    @property
    def time_column(self) -> int:
        return len(self._keys)

    @property
    def _group_width(self) -> int:
        return len(self._keys) + (self._slices is not None)

    def __call__(self, table: pa.Table) -> pa.Table:
        inputs = {f"c{i}": table.column(key) for i, key in enumerate(self._keys)}
        inputs[POSITION] = table.column(POSITION)
        if self._slices is not None:
            inputs[f"c{self.time_column}"], inputs[WATERMARK] = self._slices.cut(table)
        calls: list[_Call] = []
        for number, spec in enumerate(self._specs):
            column = self._argument(spec, table)
            if column is None:
                calls.append(_ALL_ROWS)
                continue
            inputs[f"a{number}"] = column
            calls += [(f"a{number}", call) for call in _ARROW_CALLS[spec.function]]
        return self._grouped(pa.table(inputs), [*calls, _ALL_ROWS])

    def each_row(self, table: pa.Table) -> pa.Table:
        """The partial columns and the number of rows, of each row by itself."""
        ones = filled(1, table.num_rows)
        columns = []
        for spec in self._specs:
            column = self._argument(spec, table)
            for call in _ARROW_CALLS[spec.function]:
                counts = call == "count"
                valid = ones if column is None or not counts else pc.is_valid(column).cast(pa.int64())
                columns.append(valid if counts else column)
        return pa.table([*columns, ones], names=[name for name, _ in self.adding()])

    def apart(self, table: pa.Table) -> pa.Table:
        columns = [table.column(key) for key in self._keys]
        marks = filled(MIN_WATERMARK, table.num_rows)
        if self._slices is not None:
            time, marks = self._slices.cut(table)
            columns.append(time)
        kinds = filled(INSERT, table.num_rows, np.int8)
        return named([*columns, *self.each_row(table).columns, kinds, marks, table.column(POSITION)])

    def combine(self, table: pa.Table) -> pa.Table:
        """Partial results of the same key (and slice) added up."""
        return self._grouped(table, self.adding())

    def adding(self) -> list[tuple[str, str]]:
        """The partial columns of the output and the number of rows, each with what adds two of them up."""
        partial = [call for spec in self._specs for call in _ARROW_CALLS[spec.function]]
        calls = ["sum" if call == "count" else call for call in [*partial, "count"]]
        return [(f"c{i}", call) for i, call in enumerate(calls, self._group_width)]

    @property
    def key_types(self) -> list[DataType]:
        return [self._types[k] for k in self._keys]

    def _argument(self, spec: AggSpec, table: pa.Table) -> Any:
        """The column a call aggregates; None if it only counts rows."""
        condition = None if spec.filter is None else pc.fill_null(table.column(spec.filter), False)
        if not spec.args:
            return None if condition is None else pc.if_else(condition, 1, None)
        column = table.column(spec.args[0])
        if condition is not None:
            column = pc.if_else(condition, column, pa.scalar(None, column.type))
        return column.cast(_sum_arrow(self._types[spec.args[0]])) if spec.function in _SUMS else column

    def _grouped(self, table: pa.Table, calls: Sequence[_Call]) -> pa.Table:
        """A row per group: its columns, the calls, the hidden columns."""
        group = [f"c{i}" for i in range(self._group_width)]
        by = group if self._slices is None else [*group, WATERMARK]
        wanted = list(dict.fromkeys([*calls, (POSITION, "min")]))
        found = pa.TableGroupBy(table, by, use_threads=False).aggregate(wanted)
        columns = [found.column(name) for name in group]
        columns += [found.column(f"{name}_{call}" if name else call) for name, call in calls]
        rows = found.num_rows
        marks = filled(MIN_WATERMARK, rows) if self._slices is None else found.column(WATERMARK)
        return named([*columns, filled(INSERT, rows, np.int8), marks, found.column(f"{POSITION}_min")])


def call_name(call: str, column: str) -> str:
    """What a partial result is called.

    >>> call_name("sum", "price"), call_name("sum", "price * 2")
    ('sum_price', 'sum')
    """
    return f"{call}_{column}" if column.isidentifier() else call


def _partial_types(spec: AggSpec, types: Sequence[DataType]) -> list[DataType]:
    """The types of a call's partial columns."""
    if spec.function == "COUNT":
        return [BigIntType()]
    kind = types[spec.args[0]]
    if spec.function in ("MIN", "MAX"):
        return [kind.nullable()]
    sums: DataType = BigIntType()
    if isinstance(kind, DecimalType):
        sums = DecimalType(38, kind.scale)
    elif not isinstance(kind, IntegralType):
        sums = DoubleType()
    return [sums, BigIntType()] if spec.function == "AVG" else [sums]


def _sum_arrow(kind: DataType) -> pa.DataType:
    if isinstance(kind, DecimalType):
        return pa.decimal128(38, kind.scale)
    return pa.int64() if isinstance(kind, IntegralType) else pa.float64()
