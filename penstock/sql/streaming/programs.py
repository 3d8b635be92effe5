"""What linear operators do to tables: expressions on columns, and calls of Python functions.

Programs are made by the planner (`linear.py`), pickled, and opened once per process and subtask.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.datatypes import DataType
from penstock.delta.columns import HIDDEN
from penstock.operators.base import OperatorContext
from penstock.sql.arrow.expression import MOST_ROWS, ArrowExpression
from penstock.sql.arrow.nodes import Batch, one_array
from penstock.sql.async_calls import Waiting
from penstock.sql.functions.java_random import JavaRandom
from penstock.sql.streaming.user_calls import OpenedFunction
from penstock.sql.user_functions import UserFunction


@dataclass(frozen=True)
class ColumnSteps:
    """Projections and filters, one after the other; hidden columns are columns like the others here."""

    steps: tuple[tuple[str, tuple[ArrowExpression, ...]], ...]
    wants_closing = False

    def open(self, context: OperatorContext) -> None:
        """Expressions need nothing."""

    def __call__(self, table: pa.Table) -> pa.Table:
        parts = []
        for start in range(0, table.num_rows, MOST_ROWS):
            part = table.slice(start, MOST_ROWS)
            batch, width = Batch([one_array(c) for c in part.columns], part.num_rows), table.num_columns
            for kind, exprs in self.steps:
                if kind == "project":
                    batch, width = Batch([e.of(batch) for e in exprs], batch.rows), len(exprs)
                elif batch.rows:
                    keep = np.asarray(exprs[0].of(batch).fill_null(False))
                    batch = batch if keep.all() else batch.take(np.flatnonzero(keep))
            parts.append(pa.table([batch.column(i) for i in range(width)], names=_numbered(width)))
        return parts[0] if len(parts) == 1 else pa.concat_tables(parts)

    def close(self) -> None:
        """Nothing was opened."""


def _numbered(width: int) -> list[str]:
    return [str(i) for i in range(width)]


class Calls:
    """Appends the results of Python calls, each over columns of the table, before its last `hidden` columns."""

    def __init__(self, calls: Sequence[PythonCall], hidden: int = len(HIDDEN)) -> None:
        self._calls = tuple(calls)
        self._hidden = hidden

    @property
    def wants_closing(self) -> bool:
        return any(call.wants_closing for call in self._calls)

    def open(self, context: OperatorContext) -> None:
        for call in self._calls:
            call.open(context)

    def __call__(self, table: pa.Table) -> pa.Table:
        width = table.num_columns - self._hidden
        made = [call.column(table) for call in self._calls]
        columns = [*table.columns[:width], *made, *table.columns[width:]]
        return pa.table(columns, names=_numbered(len(columns)))

    def close(self) -> None:
        for call in self._calls:
            call.close()


class PythonCall:
    """A call that only Python can make; its arguments are columns."""

    @property
    def wants_closing(self) -> bool:
        return False

    def open(self, context: OperatorContext) -> None:
        """Called once per process and subtask."""

    def column(self, table: pa.Table) -> Any:
        """The result for every row."""
        raise NotImplementedError

    def close(self) -> None:
        """The job is over."""


class EpochTime(PythonCall):
    """The processing time of the epoch."""

    def open(self, context: OperatorContext) -> None:
        self._clock = context.clock

    def column(self, table: pa.Table) -> Any:
        moment = pa.scalar(self._clock.processing_time_ms * 1000, pa.int64()).cast(pa.timestamp("us", "UTC"))
        return pa.repeat(moment, table.num_rows)


class EpochSeconds(PythonCall):
    """The processing time of the epoch in seconds since 1970."""

    def open(self, context: OperatorContext) -> None:
        self._clock = context.clock

    def column(self, table: pa.Table) -> Any:
        return pa.repeat(pa.scalar(self._clock.processing_time_ms // 1000, pa.int64()), table.num_rows)


class Uuid(PythonCall):
    """A new UUID for every row."""

    def column(self, table: pa.Table) -> Any:
        return pa.array([str(uuid.uuid4()) for _ in range(table.num_rows)], pa.string())


@dataclass
class Rand(PythonCall):
    """RAND and RAND_INTEGER: Java's sequence where the call gives a seed, which goes on from table to table."""

    seed: int | None
    bound_column: int | None = None

    def open(self, context: OperatorContext) -> None:
        self._seeded = None if self.seed is None else JavaRandom(self.seed)

    def column(self, table: pa.Table) -> Any:
        rows = table.num_rows
        if self.bound_column is None:
            draw: Callable[[], float] = random.random if self._seeded is None else self._seeded.next_double
            return pa.array([draw() for _ in range(rows)], pa.float64())
        bounds = table.column(self.bound_column).to_pylist()
        return pa.array([None if b is None else self._integer(b) for b in bounds], pa.int32())

    def _integer(self, bound: int) -> int:
        return random.randrange(bound) if self._seeded is None else self._seeded.next_int(bound)


class ScalarCall(PythonCall):
    """A user's scalar function, row by row or over pandas Series."""

    def __init__(
        self,
        function: UserFunction,
        columns: Sequence[int],
        types: Sequence[DataType],
        zone: str,
        waiting: Waiting | None = None,
    ) -> None:
        self._function = OpenedFunction(function, types, zone, waiting)
        self._pandas = function.pandas
        self._columns = list(columns)

    @property
    def wants_closing(self) -> bool:
        return self._function.wants_closing

    def open(self, context: OperatorContext) -> None:
        self._function.open(context)

    def column(self, table: pa.Table) -> Any:
        arguments = table.select(self._columns)
        if self._pandas:
            return self._function.series(arguments, table.num_rows)
        return self._function.values(arguments, table.num_rows)

    def close(self) -> None:
        self._function.close()


class TableFunctionRows:
    """Appends what a user's table function gives for each row: one row for each of its rows.

    Args:
        unread: Columns that nobody reads afterwards; they need not be repeated and are NULL.
    """

    def __init__(
        self,
        function: UserFunction,
        columns: Sequence[int],
        types: Sequence[DataType],
        result: Sequence[DataType],
        outer: bool,
        zone: str,
        unread: Sequence[int] = (),
    ) -> None:
        self._function = OpenedFunction(function, types, zone)
        self._columns, self._result, self._outer = list(columns), list(result), outer
        self._unread = frozenset(unread)

    @property
    def wants_closing(self) -> bool:
        return self._function.wants_closing

    def open(self, context: OperatorContext) -> None:
        self._function.open(context)

    def __call__(self, table: pa.Table) -> pa.Table:
        rows = table.num_rows
        given, appended = self._function.rows_of(table.select(self._columns), rows, self._result)
        counts = np.array(given, np.int64)
        if self._outer:  # NULLs where the function gave no row
            shown = np.repeat(counts > 0, np.maximum(counts, 1))
            places = pa.array(np.cumsum(shown) - 1, mask=~shown)
            appended = [column.take(places) for column in appended]
            counts = np.maximum(counts, 1)
        columns = [*self._repeated(table, counts), *appended]
        return pa.table(columns, names=_numbered(len(columns)))

    def _repeated(self, table: pa.Table, counts: Any) -> list[Any]:
        repeated = pa.array(np.repeat(np.arange(table.num_rows), counts))
        return [
            pa.nulls(len(repeated), column.type) if i in self._unread else column.take(repeated)
            for i, column in enumerate(table.columns)
        ]

    def close(self) -> None:
        self._function.close()
