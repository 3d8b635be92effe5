"""How Spark calls users' functions.

A function goes over columns of Arrow: a row at a time, or as Series if it is one of pandas; a table function gives a
list of rows for each row, which the query unfolds. (Spark's own way for rows, pickling, takes 3 times as long for a
scalar function and 30 times for a table function.) An aggregate is a UDF over the list of a group's rows, so that it
may stand beside any other aggregate and take DISTINCT, FILTER and OVER; where there are only users' aggregates,
`grouped_aggregates.py` hands them a group in pieces.

A worker process keeps the first copy of a function it is sent: `open` is called once there. A function that has a
`close` lives for one task instead: Spark sends a runner with each task, and the function goes when the runner does.
"""

from __future__ import annotations

import itertools
import logging
import warnings
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pyarrow as pa

from penstock.common.config_values import parse_map
from penstock.common.datatypes import DataType, LocalZonedTimestampType, RowType
from penstock.common.errors import UserFunctionError
from penstock.common.pickling import ship, unship
from penstock.common.surroundings import here
from penstock.operators.failures import user_traceback
from penstock.sql.aggregate_calls import PandasAggregate, as_aggregate, defines
from penstock.sql.async_calls import Waiting
from penstock.sql.functions.text import spark_type
from penstock.sql.pandas_values import as_column, as_pandas, check_result, flattened
from penstock.sql.user_functions import FunctionContext, Task, UserFunction
from penstock.sql.value_conversion import from_spark, to_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.sql.plan.rex import UdfCall
    from penstock.sql.streaming.user_calls import OpenedFunction

JOB_PARAMETERS = "pipeline.global-job-parameters"

_OPENED: dict[str, Any] = {}
"""The functions of this worker process that were opened, by the name they are registered under."""

_REGISTERED: WeakKeyDictionary[SparkSession, set[str]] = WeakKeyDictionary()
"""The names each session of this driver knows."""


def spark_call(
    spark: SparkSession, call: UdfCall, args: list[str], config: Mapping[str, str] | None = None
) -> str:
    """The Spark SQL text of a call; registers the function in the session on first use.

    Args:
        config: The session's, for job parameters and the options of asynchronous functions.
    """
    parameters = parse_map((config or {}).get(JOB_PARAMETERS, ""))
    waiting = Waiting.of(config or {})
    function: UserFunction = call.function
    types = [a.type for a in call.args]
    zone = spark.conf.get("spark.sql.session.timeZone") or "UTC"
    more = [zone, repr(waiting), repr(sorted(parameters.items()))]
    shapes = "|".join([*(spark_type(t) for t in types), *more])
    name = f"penstock_user_{function.key}_{zlib.crc32(shapes.encode()):x}"
    known = _REGISTERED.setdefault(spark, set())
    if name not in known:
        _register(spark, name, function, types, Settings(parameters, waiting, zone))
        known.add(name)
    if not args and _goes_over_rows(function):
        args = ["0"]  # a column that says how many rows there are; the function does not see it
    return f"{name}({', '.join(args)})"


def _goes_over_rows(function: UserFunction) -> bool:
    return function.kind in ("scalar", "table") and not function.pandas


def _register(
    spark: SparkSession, name: str, function: UserFunction, types: Sequence[DataType], settings: Settings
) -> None:
    from pyspark.sql.functions import pandas_udf, udf

    from penstock.sql.spark.grouped_aggregates import register_groups

    if function.kind == "aggregates":
        register_groups(spark, name, function, types, settings)
        return
    made: Any
    returns = spark_type(function.result)
    if function.kind == "table":
        results = [t for _, t in function.result_fields(types)]
        row = "STRUCT<" + ", ".join(f"c{i}: {spark_type(t)}" for i, t in enumerate(results)) + ">"
        made = _arrow_udf(TableColumns(name, function, types, settings, results), f"ARRAY<{row}>")
        # A deterministic one may be computed once for each column that is read of its rows.
        made = made.asNondeterministic()
    elif _goes_over_rows(function):
        made = _arrow_udf(ScalarColumns(name, function, types, settings), returns)
    elif function.kind == "aggregate":
        made = udf(AggregateRunner(name, function, types, settings), returns, useArrow=False)  # type: ignore[call-overload]
    elif types and any(map(_has_moments, [*types, function.result])):
        made = _arrow_udf(Runner(name, function, types, settings).columns, returns)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # it wants type hints, which a lambda cannot have
            made = pandas_udf(Runner(name, function, types, settings).series, returns, _SCALAR)  # type: ignore[call-overload]
    spark.udf.register(name, made if function.deterministic else made.asNondeterministic())


def _arrow_udf(call: Callable[..., pa.Array], returns: str) -> Any:
    """A function of columns; Spark wants type hints, which a user's function need not have."""
    from pyspark.sql.functions import arrow_udf

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return arrow_udf(call, returns, _ARROW_SCALAR)  # type: ignore[call-overload]


def _has_moments(data_type: DataType) -> bool:
    fields = data_type.field_types() if isinstance(data_type, RowType) else []
    return isinstance(data_type, LocalZonedTimestampType) or any(map(_has_moments, fields))


_SCALAR = 200  # PandasUDFType.SCALAR
_ARROW_SCALAR = 250  # ArrowUDFType.SCALAR


@dataclass(frozen=True)
class Settings:
    """What functions get from the session's configuration."""

    parameters: Mapping[str, str]
    waiting: Waiting
    zone: str = "UTC"


def _context(parameters: Mapping[str, str]) -> FunctionContext:
    """The context of a function in a Spark task."""
    return FunctionContext(parameters, None, spark_task())


def spark_task() -> Task:
    """The Spark task that this is, for users' functions."""
    from pyspark import TaskContext

    task = TaskContext.get()
    if task is None:
        return Task()
    index = task.partitionId()
    parallelism = max(getattr(task, "numPartitions", lambda: 1)(), index + 1)
    return Task("Calc", index, parallelism, parallelism, task.attemptNumber())


def close_quietly(function: Any) -> None:
    """Closes a function whose task is over: nobody waits for it any more, so a failure is only logged."""
    try:
        function.close()
    except Exception:
        logging.getLogger(__name__).exception("close() of %s failed", type(function).__name__)


class Runner:
    """Calls a function of Series, or what an aggregate consists of, with PyFlink's values."""

    def __init__(
        self, key: str, function: UserFunction, types: Sequence[DataType], settings: Settings
    ) -> None:
        self._key = key
        self._parameters = dict(settings.parameters)
        self._name = function.name
        self._own: Any = None
        self._function = ship(function.function)
        self._surroundings = here()
        self._result_type = function.result
        self._result = to_spark(function.result)
        self._argument_types = list(types)
        self._zone = settings.zone
        self._arguments = [from_spark(t, settings.zone) for t in types]

    def series(self, *args: Any) -> Any:
        """The column of a function of Series; Spark would take NULLs for values of another type."""
        found = self._guarded(self.eval(), *map(flattened, args, self._argument_types))
        if args:
            check_result(self._name, found, len(args[0]))
        as_column(self._name, found, self._result_type, self._zone)
        if isinstance(self._result_type, RowType) and hasattr(found, "columns"):
            return found.set_axis(self._result_type.field_names(), axis=1)  # Spark goes by name
        return found

    def columns(self, *args: pa.Array) -> pa.Array:
        """The same between columns of Arrow: Spark's Series of moments have lost their zone."""
        series = [as_pandas(c, t, self._zone) for c, t in zip(args, self._argument_types, strict=True)]
        found = check_result(self._name, self._guarded(self.eval(), *series), len(args[0]))
        return as_column(self._name, found, self._result_type, self._zone)

    def _converted(self, args: Sequence[Any]) -> list[Any]:
        return [
            value if convert is None or value is None else convert(value)
            for convert, value in zip(self._arguments, args, strict=True)
        ]

    def opened(self) -> Any:
        """The function of this process, among the files of its program."""
        self._surroundings.enter()
        found = self._own or _OPENED.get(self._key)
        if found is None:
            found = unship(self._function)
            if hasattr(found, "open"):
                self._guarded(found.open, _context(self._parameters))
            if defines(found, "close"):
                self._own = found
                weakref.finalize(self, close_quietly, found)
            else:
                _OPENED[self._key] = found
        return found

    def eval(self) -> Callable[..., Any]:
        function = self.opened()
        found: Callable[..., Any] = getattr(function, "eval", function)
        return found

    def _guarded(self, method: Callable[..., Any], *args: Any) -> Any:
        try:
            return method(*args)
        except Exception as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> UserFunctionError:
        if isinstance(error, UserFunctionError):
            return error
        return UserFunctionError(
            f"function {self._name} failed: {type(error).__name__}: {error}",
            user_traceback=user_traceback(error),
            where=f"function {self._name}",
            do="correct the function, or let it return None for what it cannot take",
        )


class _RowColumns:
    """Calls a function with the rows of batches of columns."""

    def __init__(
        self, key: str, function: UserFunction, types: Sequence[DataType], settings: Settings
    ) -> None:
        from penstock.sql.streaming.user_calls import OpenedFunction

        self._key = key
        self._width = len(types)
        self._own: OpenedFunction | None = None
        self._parameters = dict(settings.parameters)
        self._surroundings = here()
        self._function = OpenedFunction(function, types, settings.zone, settings.waiting)

    def _opened(self) -> OpenedFunction:
        """The function of this process, among the files of its program."""
        self._surroundings.enter()
        found: OpenedFunction | None = self._own or _OPENED.get(self._key)
        if found is None:
            found = self._function
            found.open_with(_context(self._parameters))
            if found.wants_closing:
                self._own = found
                weakref.finalize(self, close_quietly, found)
            else:
                _OPENED[self._key] = found
        return found

    def _arguments(self, columns: Sequence[pa.Array]) -> pa.Table:
        return pa.table(list(columns[: self._width]), [f"c{i}" for i in range(self._width)])


class ScalarColumns(_RowColumns):
    """The column of a function's values."""

    def __call__(self, *columns: pa.Array) -> pa.Array:
        return self._opened().values(self._arguments(columns), len(columns[0]))


class TableColumns(_RowColumns):
    """For each row the list of rows that a table function gives."""

    def __init__(
        self,
        key: str,
        function: UserFunction,
        types: Sequence[DataType],
        settings: Settings,
        results: Sequence[DataType],
    ) -> None:
        super().__init__(key, function, types, settings)
        self._results = list(results)

    def __call__(self, *columns: pa.Array) -> pa.Array:
        counts, made = self._opened().rows_of(self._arguments(columns), len(columns[0]), self._results)
        ends = pa.array(itertools.accumulate(counts, initial=0), pa.int32())
        rows = pa.StructArray.from_arrays(made, [f"c{i}" for i in range(len(made))])
        return pa.ListArray.from_arrays(ends, rows)


class AggregateRunner(Runner):
    """Takes the list of a group's rows."""

    def __init__(
        self, key: str, function: UserFunction, types: Sequence[DataType], settings: Settings
    ) -> None:
        super().__init__(key, function, types, settings)
        self._types = list(types)
        self._pandas = function.pandas
        if function.pandas:  # the rows become Series first, which then get the session's zone
            self._arguments = [from_spark(t, "UTC") for t in types]

    def __call__(self, rows: Any) -> Any:
        function = self.aggregate(self._zone)
        accumulator = self._guarded(function.create_accumulator)
        for row in rows or ():
            values = list(row)[: len(self._arguments)]
            self._guarded(function.accumulate, accumulator, *self._converted(values))
        return self.value(function, accumulator)

    def aggregate(self, zone: str) -> Any:
        """The opened function as an aggregate."""
        return as_aggregate(self.opened(), self._name, self._types, self._result_type, self._pandas, zone)

    def created(self, function: Any) -> Any:
        return self._guarded(function.create_accumulator)

    def accumulate(self, function: Any, accumulator: Any, rows: Iterator[Sequence[Any]]) -> None:
        """Rows whose values are converted already."""
        take = function.accumulate
        try:
            for row in rows:
                take(accumulator, *row)
        except Exception as error:
            raise self._failure(error) from error

    def value_of(self, function: PandasAggregate, columns: Sequence[Any]) -> Any:
        return self._guarded(function.value_of, columns)

    def value(self, function: Any, accumulator: Any) -> Any:
        """The result of a group as Spark takes it."""
        value = self._guarded(function.get_value, accumulator)
        return None if value is None else self._result(value)
