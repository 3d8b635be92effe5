"""A user's function inside an operator: opened once with a real context, called with PyFlink's values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from penstock.common.datatypes import DataType, RowType
from penstock.common.errors import UserFunctionError
from penstock.common.pickling import ship, unship
from penstock.formats.arrow_rows import ArrowToRows, RowsToArrow, columns_type
from penstock.operators.base import OperatorContext
from penstock.operators.failures import user_traceback
from penstock.sql.aggregate_calls import defines
from penstock.sql.async_calls import Waiting, is_async
from penstock.sql.pandas_values import as_column, as_pandas, check_result
from penstock.sql.user_functions import FunctionContext, Task, UserFunction
from penstock.sql.value_conversion import from_spark, results_to_spark


class LocalRows:
    """Rows of columns as users' functions want them: moments with the session's zone, rows as Rows."""

    def __init__(self, types: Sequence[DataType], zone: str) -> None:
        self._types = list(types)
        self._zone = zone
        self._ready: tuple[ArrowToRows, list[Callable[[Any], Any] | None]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ready": None}

    def of(self, arguments: pa.Table, rows: int) -> Iterator[Sequence[Any]]:
        """The values of each row; `rows` says how many there are if there are no columns."""
        if not arguments.num_columns:
            return iter([()] * rows)
        return itertools.chain.from_iterable(
            zip(*self.columns(batch), strict=True) for batch in arguments.to_batches()
        )

    def columns(self, batch: pa.RecordBatch) -> list[Sequence[Any]]:
        """The values of each column."""
        if self._ready is None:
            converts = [from_spark(t, self._zone) for t in self._types]
            self._ready = ArrowToRows(columns_type(self._types)), converts
        reader, converts = self._ready
        found = reader.columns(batch)
        return [
            values if convert is None else [None if v is None else convert(v) for v in values]
            for values, convert in zip(found, converts, strict=True)
        ]


class OpenedFunction:
    """Calls `eval` of a scalar or table function, and says whose failure it was.

    The function travels by `ship`, because it may come from a module that only the program has.
    """

    def __init__(
        self, function: UserFunction, types: Sequence[DataType], zone: str, waiting: Waiting | None = None
    ) -> None:
        self._waiting = waiting or Waiting()
        self.name = function.name
        self._shipped = ship(function.function)
        self._row_type = columns_type(types)
        self._zone = zone
        self._result_type = function.result

    def open(self, context: OperatorContext) -> None:
        task = Task(
            context.name,
            context.subtask_index,
            context.parallelism,
            context.max_parallelism,
            context.attempt_number,
        )
        self.open_with(FunctionContext(context.job_parameters, context.metrics, task))

    def open_with(self, context: FunctionContext) -> None:
        """Makes the function ready for calls; once per process."""
        self._function = unship(self._shipped)
        self._eval: Callable[..., Any] = getattr(self._function, "eval", self._function)
        self._async = is_async(self._function)
        self._arguments = LocalRows([f.data_type for f in self._row_type.fields], self._zone)
        if hasattr(self._function, "open"):
            self._guarded(self._function.open, context)

    @property
    def wants_closing(self) -> bool:
        """Whether the opened function has a `close` of its own."""
        return defines(self._function, "close")

    def close(self) -> None:
        if hasattr(self._function, "close"):
            self._guarded(self._function.close)

    def values(self, arguments: pa.Table, rows: int) -> pa.Array:
        """The column of a scalar function's values; those to be waited for are asked for together."""
        found = self._guarded(self._calls, arguments, rows)
        return self._column(RowsToArrow(columns_type([self._result_type])), 0, found)

    def _calls(self, arguments: pa.Table, rows: int) -> Sequence[Any]:
        if self._async:
            found = self._waiting.results(self._eval, [list(r) for r in self._arguments.of(arguments, rows)])
        elif not arguments.num_columns:
            found = [self._eval() for _ in range(rows)]
        else:
            found = []
            for batch in arguments.to_batches():
                found.extend(map(self._eval, *self._arguments.columns(batch)))
        return results_to_spark(self._result_type, found)

    def rows_of(
        self, arguments: pa.Table, rows: int, results: Sequence[DataType]
    ) -> tuple[list[int], list[pa.Array]]:
        """How many rows a table function gives for each row, and the columns of all of them."""
        counts, columns = self._guarded(self._table_calls, arguments, rows, len(results))
        to_arrow = RowsToArrow(columns_type(results))
        made = []
        for index, (values, data_type) in enumerate(zip(columns, results, strict=True)):
            taken = self._guarded(results_to_spark, data_type, values)
            made.append(self._column(to_arrow, index, taken))
        return counts, made

    def _table_calls(
        self, arguments: pa.Table, rows: int, width: int
    ) -> tuple[list[int], Sequence[Sequence[Any]]]:
        """A call per row. With three rows each 0.7 us, the function's own time included; as tuples they took 3.8."""
        counts: list[int] = []
        found: list[Any] = []
        for given in self._given(arguments, rows):
            if type(given) is list:
                found.extend(given)
                counts.append(len(given))
            elif given is None:
                counts.append(0)
            elif isinstance(given, tuple) or hasattr(given, "get_row_kind"):  # one row
                found.append(given)
                counts.append(1)
            else:
                before = len(found)
                found.extend(given)
                counts.append(len(found) - before)
        return counts, columns_of(found, width)

    def _given(self, arguments: pa.Table, rows: int) -> Iterator[Any]:
        if not arguments.num_columns:
            return (self._eval() for _ in range(rows))
        return itertools.chain.from_iterable(
            map(self._eval, *self._arguments.columns(batch)) for batch in arguments.to_batches()
        )

    def _column(self, to_arrow: RowsToArrow, index: int, values: Sequence[Any]) -> pa.Array:
        try:
            column = to_arrow.column(index, values)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError) as error:
            raise self._wrong_result(f"gave a value that is no {self._told(index)}: {error}") from error
        return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column

    def _told(self, index: int) -> str:
        kind = self._result_type
        return (kind.field_types()[index] if isinstance(kind, RowType) else kind).as_summary()

    def series(self, arguments: pa.Table, rows: int) -> pa.Array:
        """The column that a function of pandas Series gives."""
        columns = [
            as_pandas(arguments.column(i), f.data_type, self._zone)
            for i, f in enumerate(self._row_type.fields)
        ]
        found = check_result(self.name, self._guarded(self._eval, *columns), rows)
        return as_column(self.name, found, self._result_type, self._zone)

    def _guarded(self, method: Callable[..., Any], *args: Any) -> Any:
        try:
            return method(*args)
        except Exception as error:
            raise self._failure(error) from error

    def _wrong_result(self, what: str) -> UserFunctionError:
        return UserFunctionError(
            f"function {self.name} {what}", user_traceback="", where=f"function {self.name}"
        )

    def _failure(self, error: Exception) -> UserFunctionError:
        return UserFunctionError(
            f"function {self.name} failed: {type(error).__name__}: {error}",
            user_traceback=user_traceback(error),
            where=f"function {self.name}",
            do="correct the function, or let it return None for what it cannot take",
        )


def columns_of(rows: Sequence[Any], width: int) -> Sequence[Sequence[Any]]:
    """The columns of what a table function gave: rows of values, or of a function with one column the values.

    >>> columns_of([(1, "a"), [2, "b"]], 2)
    [(1, 2), ('a', 'b')]
    >>> columns_of([7, None, 8], 1)
    [[7, None, 8]]
    """
    if not rows:
        return [()] * width
    kinds = set(map(type, rows))
    if width == 1 and not any(map(_is_row, kinds)):
        return [rows]
    if any(not _is_row(kind) for kind in kinds):
        rows = [row if _is_row(type(row)) else (row,) for row in rows]
    if set(map(len, rows)) != {width}:
        wrong = next(row for row in rows if len(row) != width)
        raise ValueError(f"{wrong} has {len(wrong)} values where {width} are declared")
    return list(zip(*rows, strict=True))


def _is_row(kind: type) -> bool:
    """Whether values of that type are rows of several values."""
    return issubclass(kind, (list, tuple)) or hasattr(kind, "get_row_kind")
