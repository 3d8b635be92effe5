"""Users' aggregate functions as the engine calls them: with PyFlink's values, and functions of Series like any other.

ConvertedAggregate      create_accumulator, accumulate, retract, merge, get_value of the user's object, whose
  PandasAggregate         arguments and results are converted; a function of Series is an aggregate that
                          remembers the rows and is called when its value is wanted
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa

from penstock.common.datatypes import DataType
from penstock.common.errors import UserFunctionError
from penstock.formats.arrow_rows import arrow_type
from penstock.sql.pandas_values import plain, series_of
from penstock.sql.user_functions import UserFunction
from penstock.sql.value_conversion import from_spark, to_spark

__all__ = ["ConvertedAggregate", "PandasAggregate", "as_aggregate", "defines"]

_BASES = ("ImperativeAggregateFunction.", "UserDefinedFunction.")


def defines(function: Any, method: str) -> bool:
    """Whether the user wrote the method; in PyFlink's base class it is there but raises."""
    asked = getattr(function, "defines", None)
    if asked is not None:
        return bool(asked(method))
    found = getattr(type(function), method, None)
    return found is not None and not found.__qualname__.startswith(_BASES)


def as_aggregate(
    function: Any, name: str, types: Sequence[DataType], result: DataType, pandas: bool, zone: str
) -> Any:
    """The object with create_accumulator, accumulate and get_value; plain functions take Series."""
    if pandas or not hasattr(function, "accumulate"):
        return PandasAggregate(function, name, types, result, zone)
    return function


class _AroundFunction:
    """Opens and closes a user's function that may know nothing of it."""

    _function: Any

    def open(self, function_context: Any) -> None:
        if hasattr(self._function, "open"):
            self._function.open(function_context)

    def close(self) -> None:
        if hasattr(self._function, "close"):
            self._function.close()


class PandasAggregate(_AroundFunction):
    """A function of Series as an aggregate of rows. A group without rows has no value.

    The function is called anew whenever the value is wanted, so it only stands where the rows of a group are few
    or come once: in windows, in OVER frames, and in batch.
    """

    def __init__(
        self, function: Any, name: str, types: Sequence[DataType], result: DataType, zone: str
    ) -> None:
        self._function = function
        self._name = name
        self._types = tuple(types)
        self._result = result
        self._zone = zone

    def create_accumulator(self) -> list[Any]:
        return []

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        accumulator.append(args)

    def retract(self, accumulator: list[Any], *args: Any) -> None:
        accumulator.remove(args)

    def merge(self, accumulator: list[Any], accumulators: Any) -> None:
        for other in accumulators:
            accumulator.extend(other)

    def get_value(self, accumulator: list[Any]) -> Any:
        if not accumulator:
            return None
        return self.value_of(series_of(accumulator, self._types, self._zone))

    def value_of(self, columns: Sequence[Any]) -> Any:
        """The value for a group whose arguments are columns."""
        function = self._function
        if not hasattr(function, "accumulate"):
            return self._fitting(function(*columns))
        inner = function.create_accumulator()
        function.accumulate(inner, *columns)
        return self._fitting(function.get_value(inner))

    def _fitting(self, value: Any) -> Any:
        """The value, if it is one of the declared type."""
        value = plain(value)
        if value is None:
            return None
        try:
            if hasattr(value, "dtype"):
                raise TypeError("an aggregate gives one value, not a column")
            converted = to_spark(self._result)(value)
            pa.array([converted], arrow_type(self._result), from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, ArithmeticError) as error:
            raise UserFunctionError(
                f"pandas aggregate {self._name} gave {_short(value)}, which does not fit its result type "
                f"{self._result.as_summary()}: {error}",
                user_traceback="",
                where=f"function {self._name}",
                do="declare the type that the function gives",
            ) from error
        return None if isinstance(converted, float) and converted != converted else converted


class ConvertedAggregate(_AroundFunction):
    """A user's aggregate in an operator: rows are Rows, moments have the session's zone."""

    def __init__(self, function: UserFunction, types: Sequence[DataType], zone: str) -> None:
        self.shown_name = function.name if function.pandas else _shown(function.function)
        self._function = as_aggregate(
            function.function, function.name, types, function.result, function.pandas, zone
        )
        self._pandas = isinstance(self._function, PandasAggregate)
        self._types = tuple(types)
        self._result_type = function.result
        self._zone = zone

    def defines(self, method: str) -> bool:
        return defines(self._function, method)

    def __getstate__(self) -> dict[str, Any]:
        """Conversions are made anew where they are used: they cannot be pickled."""
        return {k: v for k, v in self.__dict__.items() if k not in ("_converts", "_to_result")}

    def create_accumulator(self) -> Any:
        return self._function.create_accumulator()

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        self._function.accumulate(accumulator, *self._converted(args))

    def retract(self, accumulator: Any, *args: Any) -> None:
        self._function.retract(accumulator, *self._converted(args))

    def merge(self, accumulator: Any, accumulators: Any) -> None:
        self._function.merge(accumulator, accumulators)

    def get_value(self, accumulator: Any) -> Any:
        value = self._function.get_value(accumulator)
        if value is None or self._pandas:
            return value
        return self._to_result(value)

    @cached_property
    def _to_result(self) -> Callable[[Any], Any]:
        return to_spark(self._result_type)

    @cached_property
    def _converts(self) -> list[Callable[[Any], Any] | None]:
        """For each argument what makes PyFlink's value of it; empty if all are so already."""
        found = [] if self._pandas else [from_spark(t, self._zone) for t in self._types]
        return found if any(found) else []

    def _converted(self, args: Sequence[Any]) -> Sequence[Any]:
        if not self._converts:
            return args
        return [
            v if convert is None or v is None else convert(v)
            for convert, v in zip(self._converts, args, strict=True)
        ]


def _short(value: Any) -> str:
    return f"a {type(value).__name__}" if hasattr(value, "dtype") else repr(value)[:100]


def _shown(function: Any) -> str:
    return getattr(function, "shown_name", type(function).__name__)
