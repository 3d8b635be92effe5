"""Projections and filters, one after the other, on a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from penstock.delta.columns import HIDDEN
from penstock.sql.arrow.compiler import Compiler, NoArrowForm
from penstock.sql.arrow.expression import MOST_ROWS, ArrowExpression
from penstock.sql.arrow.nodes import Batch, one_array
from penstock.sql.plan.rex import Rex

Step = tuple[Literal["project"], Sequence[Rex]] | tuple[Literal["filter"], Rex]


class LinearSteps:
    """Steps that work row by row. They can be pickled.

    A projection makes the columns c0.. anew, a filter keeps the rows whose condition is true, not those where it is
    NULL. The hidden columns of changes (`delta.columns.HIDDEN`), where the table has them, stay with their rows.
    """

    def __init__(self, steps: Sequence[tuple[str, Sequence[ArrowExpression]]]) -> None:
        self._steps = tuple((kind, tuple(exprs)) for kind, exprs in steps)

    @classmethod
    def compile(cls, steps: Sequence[Step], zone: str) -> LinearSteps | None:
        """The steps over Arrow; None if an expression has no exact Arrow form."""
        compiled = []
        for kind, what in steps:
            exprs = [what] if isinstance(what, Rex) else list(what)
            compiler = Compiler(zone)
            try:
                compiled.append((kind, [ArrowExpression(compiler.node(rex)) for rex in exprs]))
            except NoArrowForm:
                return None
        return cls(compiled)

    def apply(self, table: pa.Table) -> pa.Table:
        """The rows that are left, in their order."""
        hidden = [name for name in table.column_names if name in HIDDEN]
        shown = [name for name in table.column_names if name not in HIDDEN]
        batches = [self._run(batch, len(shown), len(hidden)) for batch in _batches(table, [*shown, *hidden])]
        types = self._types([table.schema.field(name).type for name in shown])
        names = self._names(shown)
        columns = [
            pa.chunked_array([columns[i] for columns in batches], kind)
            for i, kind in enumerate([*types, *(table.schema.field(name).type for name in hidden)])
        ]
        return pa.table(columns, names=[*names, *hidden])

    def _run(self, batch: Batch, width: int, hidden: int) -> list[pa.Array]:
        for kind, exprs in self._steps:
            if kind == "filter":
                batch = _kept(batch, exprs[0])
            else:
                columns = [expr.of(batch) for expr in exprs]
                columns += [batch.column(width + i) for i in range(hidden)]
                batch, width = Batch(columns, batch.rows), len(exprs)
        return [batch.column(i) for i in range(width + hidden)]

    def _last_projection(self) -> Sequence[ArrowExpression] | None:
        found = [exprs for kind, exprs in self._steps if kind == "project"]
        return found[-1] if found else None

    def _types(self, types: list[pa.DataType]) -> list[pa.DataType]:
        exprs = self._last_projection()
        return types if exprs is None else [expr.type for expr in exprs]

    def _names(self, names: list[str]) -> list[str]:
        exprs = self._last_projection()
        return names if exprs is None else [f"c{i}" for i in range(len(exprs))]


def _batches(table: pa.Table, names: list[str]) -> Iterator[Batch]:
    for start in range(0, table.num_rows, MOST_ROWS):
        part = table.slice(start, MOST_ROWS)
        yield Batch([one_array(part.column(name)) for name in names], part.num_rows)


def _kept(batch: Batch, condition: ArrowExpression) -> Batch:
    keep = np.asarray(condition.of(batch).fill_null(False))
    return batch if keep.all() else batch.take(np.flatnonzero(keep))
