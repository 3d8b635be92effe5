"""Expressions that were compiled: what an operator holds and calls."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from penstock.sql.arrow.compiler import Compiler, NoArrowForm
from penstock.sql.arrow.nodes import Batch, Node
from penstock.sql.arrow.values import array
from penstock.sql.plan.rex import Rex

MOST_ROWS = 1 << 17
"""Rows that are evaluated at once: they stay in the processor's cache, and texts stay below Arrow's 2 GB."""


class ArrowExpression:
    """An expression over Arrow columns. It can be pickled.

    >>> from penstock.common.datatypes import DataTypes
    >>> from penstock.sql.plan.rex import Call, Const, InputRef
    >>> number = DataTypes.INT()
    >>> plus = Call(number, "+", (InputRef(number, 0), Const(number, 1)))
    >>> compiled = compile_columns([plus], "UTC")
    >>> compiled[0]([pa.array([1, None], pa.int32())], 2).to_pylist()
    [2, None]
    """

    def __init__(self, node: Node) -> None:
        self._node = node

    @property
    def type(self) -> pa.DataType:
        return self._node.type

    def __call__(
        self, columns: Sequence[pa.Array | pa.ChunkedArray], rows: int
    ) -> pa.Array | pa.ChunkedArray:
        """The values for all rows; `InputRef(i)` reads `columns[i]`."""
        if rows <= MOST_ROWS:
            return self.of(Batch(columns, rows))
        parts = []
        for start in range(0, rows, MOST_ROWS):
            part = [column.slice(start, MOST_ROWS) for column in columns]
            parts.append(self.of(Batch(part, min(MOST_ROWS, rows - start))))
        return pa.chunked_array(parts, self.type)

    def of(self, batch: Batch) -> pa.Array:
        """The values for a batch; expressions that were compiled together share work in it."""
        if not batch.rows:
            return pa.array([], self.type)
        return array(self._node.evaluate(batch), batch.rows)


def compile_columns(exprs: Sequence[Rex], zone: str) -> list[ArrowExpression] | None:
    """The expressions of a projection; None if one of them has no exact Arrow form.

    Args:
        zone: The session's time zone.
    """
    compiler = Compiler(zone)
    try:
        return [ArrowExpression(compiler.node(rex)) for rex in exprs]
    except NoArrowForm:
        return None


def why_not(rex: Rex, zone: str | None = None) -> str | None:
    """What keeps an expression from having an Arrow form; None if nothing does."""
    try:
        Compiler(zone).node(rex)
    except NoArrowForm as reason:
        return str(reason)
    return None


def can_evaluate(rex: Rex, zone: str | None = None) -> bool:
    """Whether an expression has an exact Arrow form, in that time zone or, without one, in all of them."""
    return why_not(rex, zone) is None
