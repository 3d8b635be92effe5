"""The local half of an aggregate, in the task that reads: partial results leave it instead of rows.

    SELECT SUM(f(v)), COUNT(*)     task: sum(f(v)), count(*) of some thousand rows at a time
                                   Spark: SUM of the sums, SUM of the counts

This is what Flink calls two-phase aggregation. Only calls whose result does not depend on how rows are put together
are taken: counts, sums of whole numbers (they wrap around as in Flink), the least and greatest of what has an order.
A task whose rows hardly share keys passes them on one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import (
    BigIntType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    IntegralType,
    VarCharType,
)
from penstock.operators.base import OperatorContext
from penstock.sql.plan.algebra import Aggregate, Field, Fields, Plan, Project
from penstock.sql.plan.rex import AggCall, Call, Const, InputRef, Rex

_ARROW = {"COUNT": "count", "SUM": "sum", "MIN": "min", "MAX": "max"}
_COMBINED = {"COUNT": "SUM", "SUM": "SUM", "MIN": "MIN", "MAX": "MAX"}
_ORDERED = (IntegralType, DateType, CharType, VarCharType)
_KEYS = (*_ORDERED, BooleanType)
_WORTH = 4
"""Rows per key below which grouping them costs more than it saves."""


@dataclass(frozen=True)
class LocalAggregate:
    """An aggregate over columns in two halves.

    Attributes:
        program: The half in the task.
        fields: The columns that come out of it.
    """

    whole: Aggregate
    program: PartialResults
    fields: Fields

    def above(self, partial: Plan) -> Plan:
        """The other half, over the partial results."""
        keys = tuple(InputRef(f.type, i) for i, f in enumerate(self.fields[: len(self.whole.keys)]))
        calls, shown = [], list[Rex](keys)
        for i, call in enumerate(self.whole.calls, len(keys)):
            count = call.name == "COUNT"
            kind = call.type.nullable() if count else call.type
            arg = InputRef(self.fields[i].type, i)
            calls.append(AggCall(kind, _COMBINED[call.name], (arg,)))
            ref = InputRef(kind, i)
            shown.append(Call(call.type, "COALESCE", (ref, Const(BigIntType(False), 0))) if count else ref)
        fields = tuple(
            replace(f, type=rex.type) for f, rex in zip(self.whole.fields, [*keys, *calls], strict=True)
        )
        made = replace(self.whole, fields=fields, input=partial, keys=keys, calls=tuple(calls))
        return Project(self.whole.fields, made, tuple(shown))


def local_aggregate(plan: Aggregate) -> LocalAggregate | None:
    """The aggregate in two halves; None if a call or key does not allow it. Its operands are columns."""
    if not plan.calls or not all(map(_is_partial, plan.calls)):
        return None
    keys = [key.index for key in plan.keys if isinstance(key, InputRef) and isinstance(key.type, _KEYS)]
    if len(keys) != len(plan.keys):
        return None
    calls = [(call.name, next(map(_column, call.args), None)) for call in plan.calls]
    types = [*(key.type for key in plan.keys), *map(_partial_type, plan.calls)]
    fields = tuple(Field(f"$partial{i}", t.nullable()) for i, t in enumerate(types))
    return LocalAggregate(plan, PartialResults(keys, calls), fields)


def _column(rex: Rex) -> int | None:
    return rex.index if isinstance(rex, InputRef) else None


def _is_partial(call: AggCall) -> bool:
    other = call.distinct or call.filter is not None or call.order or call.function is not None
    if other or call.name not in _ARROW or len(call.args) > 1:
        return False
    if call.name == "COUNT":
        return not any(isinstance(arg, Const) and arg.value is None for arg in call.args)
    allowed = (IntegralType,) if call.name == "SUM" else _ORDERED
    return all(isinstance(arg, InputRef) and isinstance(arg.type, allowed) for arg in call.args)


def _partial_type(call: AggCall) -> DataType:
    return BigIntType() if call.name in ("COUNT", "SUM") else call.args[0].type


class PartialResults:
    """From rows to keys and partial results.

    Args:
        keys: Columns to group by.
        calls: For each call its name and its column, None if it counts rows.
    """

    wants_closing = False

    def __init__(self, keys: Sequence[int], calls: Sequence[tuple[str, int | None]]) -> None:
        self._keys, self._calls = list(keys), list(calls)
        self._grouping = True

    def open(self, context: OperatorContext) -> None:
        self._grouping = True

    def __call__(self, table: pa.Table) -> pa.Table:
        columns = {f"k{i}": table.column(key) for i, key in enumerate(self._keys)}
        for i, (name, column) in enumerate(self._calls):
            columns[f"a{i}"] = self._each(name, column, table)
        rows = pa.table(columns)
        if not self._grouping:
            return rows
        added = [
            (f"a{i}", "sum" if name == "COUNT" else _ARROW[name]) for i, (name, _) in enumerate(self._calls)
        ]
        keys = [f"k{i}" for i in range(len(self._keys))]
        found = pa.TableGroupBy(rows, keys, use_threads=False).aggregate(added)
        self._grouping = found.num_rows * _WORTH <= rows.num_rows or rows.num_rows < _WORTH
        return found.select([*keys, *(f"{name}_{call}" for name, call in added)])

    def _each(self, name: str, column: int | None, table: pa.Table) -> pa.Array:
        """The partial result of each row by itself."""
        if column is None:
            return pa.repeat(pa.scalar(1, pa.int64()), table.num_rows)
        values = table.column(column)
        if name == "COUNT":
            return pc.is_valid(values).cast(pa.int64())
        return values.cast(pa.int64()) if name == "SUM" else values

    def close(self) -> None:
        """Nothing was opened."""
