"""Results of aggregate calls from columns of partial results, where Arrow computes exactly what the aggregates do."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import DecimalType, IntegralType
from penstock.delta.aggregates import AggSpec

_INTEGERS = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
"""By bits."""


def has_columnar_result(spec: AggSpec) -> bool:
    """Whether Arrow computes the result of a partial call exactly as the aggregate does."""
    if spec.function in ("COUNT", "MIN", "MAX") or isinstance(spec.result_type, IntegralType):
        return True
    # A decimal sum as wide as the partial one needs no fitting.
    return (
        spec.function != "AVG"
        and isinstance(spec.result_type, DecimalType)
        and spec.result_type.precision == 38
    )


def columnar_result(spec: AggSpec, table: pa.Table) -> pa.ChunkedArray:
    """The result of a partial call for each row; its arguments are the columns c0.. of the table."""
    partial = [table.column(f"c{arg}") for arg in spec.args]
    value = partial[0]
    if spec.function in ("MIN", "MAX"):
        return value
    if spec.function in ("COUNT", "$SUM0"):
        value = pc.fill_null(value, pa.scalar(0, value.type))
    if spec.function == "AVG":
        counts = partial[1]
        value = pc.divide(value, pc.if_else(pc.equal(counts, 0), pa.scalar(None, counts.type), counts))
    if isinstance(spec.result_type, IntegralType):
        return value.cast(_INTEGERS[spec.result_type.bits], safe=False)  # wraps, as Java does
    return value


def added_up(table: pa.Table, by: Sequence[str], calls: Sequence[tuple[str, str]]) -> pa.Table:
    """A row per group: the columns `by`, then those of `calls`, under the names they had."""
    found = pa.TableGroupBy(table, list(by), use_threads=False).aggregate(list(calls))
    columns = [
        *(found.column(name) for name in by),
        *(found.column(f"{name}_{call}") for name, call in calls),
    ]
    return pa.table(columns, names=[*by, *(name for name, _ in calls)])
