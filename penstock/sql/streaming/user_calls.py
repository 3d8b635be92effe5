"""A user's function inside an operator: opened once with a real context, called with PyFlink's values."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from penstock.common.datatypes import DataType
from penstock.common.errors import UserFunctionError
from penstock.common.pickling import ship, unship
from penstock.formats.arrow_rows import ArrowToRows, columns_type
from penstock.operators.base import OperatorContext
from penstock.sql.aggregate_calls import defines
from penstock.sql.async_calls import Waiting, is_async
from penstock.sql.pandas_values import as_column, as_pandas, check_result
from penstock.sql.user_functions import FunctionContext, Task, UserFunction
from penstock.sql.value_conversion import from_spark, to_spark


class LocalRows:
    """Rows of columns as users' functions want them: moments with the session's zone, rows as Rows."""

    def __init__(self, types: Sequence[DataType], zone: str) -> None:
        self._types = list(types)
        self._zone = zone
        self._ready: tuple[ArrowToRows, list[Callable[[Any], Any] | None]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ready": None}

    def of(self, arguments: pa.Table, rows: int) -> Iterator[list[Any]]:
        """The values of each row; `rows` says how many there are if there are no columns."""
        if not arguments.num_columns:
            yield from ([] for _ in range(rows))
            return
        if self._ready is None:
            converts = [from_spark(t, self._zone) for t in self._types]
            self._ready = ArrowToRows(columns_type(self._types)), converts
        reader, converts = self._ready
        simple = not any(converts)
        for batch in arguments.to_batches():
            for values in reader.rows(batch):
                row = list(values)
                if simple:
                    yield row
                    continue
                yield [
                    v if convert is None or v is None else convert(v)
                    for convert, v in zip(converts, row, strict=True)
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
        self._result = to_spark(self._result_type)
        if hasattr(self._function, "open"):
            self._guarded(self._function.open, context)

    @property
    def wants_closing(self) -> bool:
        """Whether the opened function has a `close` of its own."""
        return defines(self._function, "close")

    def close(self) -> None:
        if hasattr(self._function, "close"):
            self._guarded(self._function.close)

    def rows(self, arguments: pa.Table, rows: int) -> Iterator[list[Any]]:
        """The arguments of each call, as the function expects them."""
        return self._arguments.of(arguments, rows)

    def calls(self, rows: Iterable[Sequence[Any]]) -> list[Any]:
        """The values of a scalar function for rows of arguments; those to be waited for are asked for together."""
        if self._async:
            found = self._guarded(self._waiting.results, self._eval, list(rows))
        else:
            found = [self._guarded(self._eval, *args) for args in rows]
        return [None if value is None else self._guarded(self._result, value) for value in found]

    def rows_of(self, args: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """What a table function yields or returns, as tuples."""
        found = self._guarded(self._eval, *args)
        if isinstance(found, tuple) or hasattr(found, "get_row_kind"):
            found = [found]
        iterator = iter(() if found is None else found)
        while True:
            try:
                item = next(iterator)
            except StopIteration:
                return
            except Exception as error:
                raise self._failure(error) from error
            many = isinstance(item, (list, tuple)) or hasattr(item, "get_row_kind")
            row: tuple[Any, ...] = self._result(tuple(item) if many else (item,))
            yield row

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

    def wrong_result(self, what: str) -> UserFunctionError:
        return UserFunctionError(
            f"function {self.name} {what}", user_traceback="", where=f"function {self.name}"
        )

    def _failure(self, error: Exception) -> UserFunctionError:
        return UserFunctionError(
            f"function {self.name} failed: {type(error).__name__}: {error}",
            user_traceback="".join(traceback.format_exception(error)),
            where=f"function {self.name}",
        )
