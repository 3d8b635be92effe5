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
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    LocalZonedTimestampType,
    TimestampType,
    VarBinaryType,
    VarCharType,
)
from penstock.common.ids import MIN_WATERMARK
from penstock.delta.aggregates import AggSpec
from penstock.delta.base import INSERT
from penstock.delta.local.base import HIDDEN_COUNT, KIND, POSITION, WATERMARK, LocalStage
from penstock.delta.time.windows import WindowSpec

_KEYS = (
    IntegralType, BooleanType, CharType, VarCharType, BinaryType, VarBinaryType, DateType, DecimalType,
    TimestampType, LocalZonedTimestampType,
)  # fmt: skip
_ORDERED = (IntegralType, DateType, DecimalType, TimestampType, LocalZonedTimestampType)
_EXACT_DIGITS = 28
"""A sum of 10^10 decimals of so many digits fits into 38."""
_TIME = "__time"
_MICROS = 1000


def can_group(key_types: Sequence[DataType]) -> bool:
    """Whether Arrow tells these keys apart as the operator does."""
    return all(isinstance(t, _KEYS) for t in key_types)


def can_be_partial(spec: AggSpec, types: Sequence[DataType], floats: bool) -> bool:
    """Whether a call has a partial form with the same result; `floats` allows inexact sums."""
    if spec.distinct or spec.user_function is not None or len(spec.args) > 1:
        return False
    if spec.function == "COUNT":
        return True
    if len(spec.args) != 1:
        return False
    kind = types[spec.args[0]]
    if spec.function in ("MIN", "MAX"):
        return isinstance(kind, _ORDERED)
    if spec.function not in ("SUM", "$SUM0", "AVG"):
        return False
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
        micros = np.asarray(column.cast(pa.timestamp("us")).cast(pa.int64()))
        times, window = micros // _MICROS, self.window
        last = times - (times - window.offset_ms) % window.step_ms + window.step_ms - 1
        watermarks = np.asarray(table.column(WATERMARK).combine_chunks())
        late = np.where(last <= watermarks, watermarks, MIN_WATERMARK)
        return pa.array(last * _MICROS).cast(pa.timestamp("us")).cast(column.type), pa.array(late)


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

    def output_types(self) -> list[DataType]:
        found = [self._types[k] for k in self._keys]
        if self._slices is not None:
            found.append(self._types[self._slices.column])
        for spec in self._specs:
            found += _partial_types(spec, self._types)
        return [*found, BigIntType(False)]

    def partial_specs(self) -> list[AggSpec]:
        """The calls over the output."""
        at = len(self._keys) + (self._slices is not None)
        made = []
        for spec in self._specs:
            width = len(_partial_types(spec, self._types))
            made.append(replace(spec, args=tuple(range(at, at + width)), filter=None, partial=True))
            at += width
        return made

    @property
    def row_count_column(self) -> int:
        return len(self.output_types()) - 1

    @property
    def time_column(self) -> int:
        return len(self._keys)

    def __call__(self, table: pa.Table) -> pa.Table:
        grouped, names = self._group_columns(table)
        calls: list[tuple[Any, ...]] = [([], "count_all"), (POSITION, "min")]
        for number, spec in enumerate(self._specs):
            calls += self._inputs(number, spec, table, grouped)
        keys = [*names, *([_TIME, WATERMARK] if self._slices is not None else [])]
        return self._arranged(pa.TableGroupBy(pa.table(grouped), keys, use_threads=False).aggregate(calls))

    def combine(self, table: pa.Table) -> pa.Table:
        """Partial results of the same key (and slice) added up."""
        keys = [f"c{i}" for i in range(len(self._keys) + (self._slices is not None))]
        if self._slices is not None:
            keys.append(WATERMARK)
        calls = [
            (f"c{i}", call)
            for i, call in enumerate(self._combining(), len(self._keys) + (self._slices is not None))
        ]
        found = pa.TableGroupBy(table, keys, use_threads=False).aggregate([*calls, (POSITION, "min")])
        columns = [found.column(name) for name in keys if name != WATERMARK]
        columns += [found.column(f"{name}_{call}") for name, call in calls]
        return self._with_hidden(columns, found)

    def _combining(self) -> list[str]:
        """What adds up each partial column, the number of rows last."""
        made = []
        for spec in self._specs:
            made += (
                [spec.function.lower()]
                if spec.function in ("MIN", "MAX")
                else ["sum"] * len(_ARROW_CALLS[spec.function])
            )
        return [*made, "sum"]

    def _group_columns(self, table: pa.Table) -> tuple[dict[str, Any], list[str]]:
        names = [f"k{i}" for i in range(len(self._keys))]
        columns = {name: table.column(k) for name, k in zip(names, self._keys, strict=True)}
        columns[POSITION] = table.column(POSITION)
        if self._slices is not None:
            columns[_TIME], columns[WATERMARK] = self._slices.cut(table)
        return columns, names

    def _inputs(
        self, number: int, spec: AggSpec, table: pa.Table, into: dict[str, Any]
    ) -> list[tuple[Any, ...]]:
        """The Arrow aggregations of a call; puts their input columns into `into`."""
        condition = None if spec.filter is None else table.column(spec.filter)
        name = f"a{number}"
        if not spec.args:
            if condition is None:
                return []
            into[name] = pc.if_else(pc.fill_null(condition, False), 1, None)
            return [(name, "count")]
        column = table.column(spec.args[0])
        if condition is not None:
            column = pc.if_else(pc.fill_null(condition, False), column, pa.scalar(None, column.type))
        if spec.function in ("SUM", "$SUM0", "AVG"):
            column = column.cast(_sum_arrow(self._types[spec.args[0]]))
        into[name] = column
        return [(name, function) for function in _ARROW_CALLS[spec.function]]

    def _arranged(self, found: pa.Table) -> pa.Table:
        """The columns in order, then the hidden ones."""
        columns: list[Any] = [found.column(f"k{i}") for i in range(len(self._keys))]
        if self._slices is not None:
            columns.append(found.column(_TIME))
        for number, spec in enumerate(self._specs):
            columns += self._partials(number, spec, found)
        columns.append(found.column("count_all"))
        return self._with_hidden(columns, found)

    def _with_hidden(self, columns: list[Any], found: pa.Table) -> pa.Table:
        rows = found.num_rows
        watermarks = found.column(WATERMARK) if self._slices is not None else _filled(MIN_WATERMARK, rows)
        columns += [pa.array(np.full(rows, INSERT, np.int8)), watermarks, found.column(f"{POSITION}_min")]
        names = [f"c{i}" for i in range(len(columns) - HIDDEN_COUNT)]
        return pa.table(columns, names=[*names, KIND, WATERMARK, POSITION])

    @staticmethod
    def _partials(number: int, spec: AggSpec, found: pa.Table) -> list[Any]:
        if spec.function == "COUNT" and not spec.args and spec.filter is None:
            return [found.column("count_all")]
        return [found.column(f"a{number}_{function}") for function in _ARROW_CALLS[spec.function]]


_ARROW_CALLS = {
    "COUNT": ("count",),
    "SUM": ("sum",),
    "$SUM0": ("sum",),
    "AVG": ("sum", "count"),
    "MIN": ("min",),
    "MAX": ("max",),
}


def _filled(value: int, rows: int) -> pa.Array:
    return pa.array(np.full(rows, value, np.int64))


def _partial_types(spec: AggSpec, types: Sequence[DataType]) -> list[DataType]:
    """The types of a call's partial columns, in the order of `AggSpec.args` of a partial call."""
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
