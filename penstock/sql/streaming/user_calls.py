"""A user's function inside an operator: opened once with a real context, called with PyFlink's values."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from penstock.common.datatypes import DataType, LocalZonedTimestampType
from penstock.common.errors import UserFunctionError
from penstock.common.pickling import ship, unship
from penstock.formats.arrow_rows import ArrowToRows, columns_type
from penstock.operators.base import OperatorContext
from penstock.sql.async_calls import Waiting, is_async
from penstock.sql.spark.user_function_calls import from_spark, to_spark
from penstock.sql.user_functions import FunctionContext, Task, UserFunction


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
        self._arguments = [from_spark(f.data_type) for f in self._row_type.fields]
        self._zoned = [
            i for i, f in enumerate(self._row_type.fields) if isinstance(f.data_type, LocalZonedTimestampType)
        ]
        self._result = to_spark(self._result_type)
        self._to_rows = ArrowToRows(self._row_type)
        if hasattr(self._function, "open"):
            self._guarded(self._function.open, context)

    def close(self) -> None:
        if hasattr(self._function, "close"):
            self._guarded(self._function.close)

    def rows(self, arguments: pa.Table, rows: int) -> Iterator[list[Any]]:
        """The arguments of each call, as the function expects them."""
        if not arguments.num_columns:
            yield from ([] for _ in range(rows))
            return
        zone = ZoneInfo(self._zone)
        for batch in arguments.to_batches():
            for values in self._to_rows.rows(batch):
                row = list(values)
                for i in self._zoned:
                    if row[i] is not None:
                        row[i] = row[i].astimezone(zone).replace(tzinfo=None)
                yield [
                    v if convert is None or v is None else convert(v)
                    for convert, v in zip(self._arguments, row, strict=True)
                ]

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

    def series(self, arguments: pa.Table, rows: int, result: pa.DataType) -> Any:
        """The column that a function of pandas Series gives."""
        import pandas as pd

        columns = [self._series(arguments, i) for i in range(arguments.num_columns)]
        found = self._guarded(self._eval, *columns)
        if not isinstance(found, pd.Series):
            found = pd.Series(found)
        if len(found) != rows:
            raise self.wrong_result(f"gave {len(found)} values for {rows} rows")
        return self._guarded(lambda: pa.Array.from_pandas(found, type=result))

    def _series(self, arguments: pa.Table, index: int) -> Any:
        column = arguments.column(index)
        if index in self._zoned:
            column = column.cast(pa.timestamp("us", self._zone))
            return column.to_pandas().dt.tz_localize(None)
        return column.to_pandas()

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
