"""User-defined functions for SQL: the classes to subclass and the decorators that give them SQL types.

    @udf(result_type=DataTypes.BIGINT())
    def add(i, j):
        return i + j

    env.create_temporary_function("add", add)
    env.execute_sql("SELECT add(a, 1) FROM t")

`udf`, `udtf` and `udaf` wrap a plain function or an instance of `ScalarFunction`, `TableFunction` or
`AggregateFunction`. How SQL calls what they return is in `penstock/sql/user_functions.py`.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from penstock.common.datatype_parser import parse_type
from penstock.common.datatypes import DataType, DataTypes, MapType, MultisetType, RowType
from penstock.sql.async_calls import is_async
from penstock.sql.user_functions import FunctionContext, UserFunction

if TYPE_CHECKING:
    from penstock.table.expression import Expression

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "FunctionContext",
    "ScalarFunction",
    "TableAggregateFunction",
    "TableFunction",
    "udaf",
    "udf",
    "udtaf",
    "udtf",
]

T = TypeVar("T")
ACC = TypeVar("ACC")
TypeLike = DataType | str


class UserDefinedFunction(ABC):  # noqa: B024  (subclasses add the abstract ones)
    """Base of all functions. `open` is called once per process, before the first row."""

    def open(self, function_context: FunctionContext) -> None:
        """One-time set-up, such as loading a model."""

    def close(self) -> None:
        """Tear-down; a process that is ended by Spark does not call it."""

    def is_deterministic(self) -> bool:
        """Whether equal arguments always give equal results."""
        return True


class ScalarFunction(UserDefinedFunction):
    """Values to one value."""

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """Called for each row with the arguments' values; gives one value."""


class AsyncScalarFunction(UserDefinedFunction):
    """Values to one value that has to be waited for."""

    @abstractmethod
    async def eval(self, *args: Any) -> Any:
        """Called for each row, as a coroutine; many wait at the same time."""


class TableFunction(UserDefinedFunction):
    """Values to any number of rows; `eval` yields or returns them."""

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """Called for each row; gives any number of rows."""


class ImperativeAggregateFunction(UserDefinedFunction, Generic[T, ACC]):
    """The values of many rows, taken in one at a time; the accumulator is changed in place."""

    @abstractmethod
    def create_accumulator(self) -> ACC:
        """An accumulator that has seen no rows; called for every group."""

    @abstractmethod
    def accumulate(self, accumulator: ACC, *args: Any) -> None:
        """Takes a row in, by changing the accumulator.

        Args:
            accumulator: What `create_accumulator` made.
            args: The arguments of the call in the query.
        """

    def retract(self, accumulator: ACC, *args: Any) -> None:
        """Takes a row back; needed where the input of the aggregate may be updated."""
        raise RuntimeError("Method retract is not implemented")

    def merge(self, accumulator: ACC, accumulators: Iterable[ACC]) -> None:
        """Takes other accumulators in; needed for session windows."""
        raise RuntimeError("Method merge is not implemented")

    def get_result_type(self) -> TypeLike:
        """The SQL type of the result, as a `DataType` or as text; needed where no decorator says it."""
        raise RuntimeError("Method get_result_type is not implemented")

    def get_accumulator_type(self) -> TypeLike:
        """The SQL type of the accumulator, as a `DataType` or as text."""
        raise RuntimeError("Method get_accumulator_type is not implemented")


class AggregateFunction(ImperativeAggregateFunction[T, ACC]):
    """Many rows to one value."""

    @abstractmethod
    def get_value(self, accumulator: ACC) -> T:
        """The result that an accumulator stands for; called when a group's result is wanted."""

    def to_user_function(self, name: str) -> UserFunction:
        """The function as the planner knows it."""
        return UserDefinedFunctionWrapper(self, "aggregate", self.get_result_type()).to_user_function(name)


class TableAggregateFunction(ImperativeAggregateFunction[T, ACC]):
    """Many rows to many rows; only the Table API can call it."""

    @abstractmethod
    def emit_value(self, accumulator: ACC) -> Iterable[T]:
        """The rows that an accumulator stands for."""


class UserDefinedFunctionWrapper:
    """A function with its SQL types: what `udf`, `udtf` and `udaf` return."""

    def __init__(
        self,
        func: Any,
        kind: str,
        result_type: Any,
        input_types: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
        func_type: str = "general",
    ) -> None:
        if inspect.isclass(func) or not (isinstance(func, UserDefinedFunction) or callable(func)):
            raise TypeError(f"Invalid function: not a function or callable: {type(func)}")
        if func_type not in ("general", "pandas"):
            raise ValueError(f"The func_type must be one of 'general, pandas', got {func_type}.")
        own = func.is_deterministic() if isinstance(func, UserDefinedFunction) else None
        if None not in (own, deterministic) and own != deterministic:
            raise ValueError(f"Inconsistent deterministic: {deterministic} and {own}")
        if func_type == "pandas" and is_async(func):
            raise ValueError("Async scalar functions do not support pandas func_type")
        self._func = func
        self._kind = kind
        self._result_type = _data_type(result_type, "result_type")
        self._input_types = _input_types(input_types)
        self._deterministic = own is not False if deterministic is None else deterministic
        self._name: str = name or getattr(func, "__name__", None) or type(func).__name__
        self._func_type = func_type
        self._alias_names: tuple[str, ...] = ()

    def to_user_function(self, name: str) -> UserFunction:
        """The function as the planner knows it, under this name."""
        return UserFunction(
            name,
            self._func,
            self._result_type,
            self._kind,
            self._deterministic,
            self._input_types,
            self._func_type == "pandas",
        )

    def __call__(self, *args: Any) -> Expression[Any]:
        """The call as an expression of the Table API: `add(col("a"), 1)`."""
        from penstock.table.expression_parts.base import make, node_of
        from penstock.table.expression_parts.nodes import CallOf

        return make(CallOf(self.to_user_function(self._name), self._name, tuple(node_of(a) for a in args)))

    def alias(self, *alias_names: str) -> UserDefinedFunctionWrapper:
        """Names for the columns of the function, where it is called with whole rows."""
        self._alias_names = alias_names
        return self


def _data_type(given: Any, what: str) -> DataType:
    if isinstance(given, str):
        return parse_type(given)
    if not isinstance(given, DataType):
        raise TypeError(f"Invalid {what}: {what} should be DataType or str but is {given}")
    return given


def _input_types(given: Any) -> tuple[DataType, ...] | None:
    if given is None:
        return None
    if isinstance(given, RowType):
        return tuple(f.data_type for f in given)
    items = [given] if isinstance(given, (DataType, str)) else list(given)
    return tuple(_data_type(item, "input_type") for item in items)


def _row_type(given: Any) -> DataType:
    """The columns of a table function: one type, several, or a ROW type whose field names are not kept."""
    if isinstance(given, str):
        given = parse_type(given)
    if isinstance(given, RowType):
        return given
    items = [given] if isinstance(given, DataType) else list(given)
    types = [_data_type(item, "result_type") for item in items]
    return DataTypes.ROW([DataTypes.FIELD(f"f{i}", t) for i, t in enumerate(types)])


def _check_pandas_result(result: DataType) -> None:
    """The value of a function of Series is a simple one, or a ROW of such."""
    for part in [f.data_type for f in result] if isinstance(result, RowType) else [result]:
        if isinstance(part, (MapType, MultisetType)) or (
            isinstance(result, RowType) and isinstance(part, RowType)
        ):
            name = type(part).__name__.removesuffix("Type").upper()
            raise TypeError(f"Invalid returnType: Pandas UDAF doesn't support DataType type {name} currently")


def _decorated(make: Callable[[Any], UserDefinedFunctionWrapper], f: Any) -> Any:
    """`@udf(...)` gets its function later."""
    return make if f is None else make(f)


@overload
def udf(
    f: None = None,
    input_types: Sequence[TypeLike] | TypeLike | None = None,
    result_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
    udf_type: str | None = None,
) -> Callable[[Any], UserDefinedFunctionWrapper]: ...
@overload
def udf(
    f: Callable[..., Any] | UserDefinedFunction,
    input_types: Sequence[TypeLike] | TypeLike | None = None,
    result_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
    udf_type: str | None = None,
) -> UserDefinedFunctionWrapper: ...
def udf(
    f: Any = None,
    input_types: Sequence[TypeLike] | TypeLike | None = None,
    result_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
    udf_type: str | None = None,
) -> Any:
    """A scalar function; with func_type "pandas" it takes and returns pandas Series."""
    kind = udf_type or func_type
    return _decorated(
        lambda func: UserDefinedFunctionWrapper(
            func, "scalar", result_type, input_types, deterministic, name, kind
        ),
        f,
    )


@overload
def udtf(
    f: None = None,
    input_types: Sequence[TypeLike] | TypeLike | None = None,
    result_types: Sequence[TypeLike] | TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Callable[[Any], UserDefinedFunctionWrapper]: ...
@overload
def udtf(
    f: Callable[..., Any] | UserDefinedFunction,
    input_types: Sequence[TypeLike] | TypeLike | None = None,
    result_types: Sequence[TypeLike] | TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> UserDefinedFunctionWrapper: ...
def udtf(
    f: Any = None,
    input_types: Sequence[TypeLike] | TypeLike | None = None,
    result_types: Sequence[TypeLike] | TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Any:
    """A table function: it yields rows, which are tuples or, if they have one column, plain values."""
    return _decorated(
        lambda func: UserDefinedFunctionWrapper(
            func, "table", _row_type(result_types), input_types, deterministic, name
        ),
        f,
    )


@overload
def udaf(
    f: None = None,
    input_types: Sequence[TypeLike] | TypeLike | None = None,
    result_type: TypeLike | None = None,
    accumulator_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Callable[[Any], UserDefinedFunctionWrapper]: ...
@overload
def udaf(
    f: Callable[..., Any] | UserDefinedFunction,
    input_types: Sequence[TypeLike] | TypeLike | None = None,
    result_type: TypeLike | None = None,
    accumulator_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> UserDefinedFunctionWrapper: ...
def udaf(
    f: Any = None,
    input_types: Sequence[TypeLike] | TypeLike | None = None,
    result_type: TypeLike | None = None,
    accumulator_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """An aggregate function; with func_type "pandas" it takes the Series of a group and returns one value."""

    def make(func: Any) -> UserDefinedFunctionWrapper:
        result = result_type
        if result is None and isinstance(func, ImperativeAggregateFunction):
            result = func.get_result_type()
        if func_type == "pandas":
            _check_pandas_result(_data_type(result, "result_type"))
        return UserDefinedFunctionWrapper(
            func, "aggregate", result, input_types, deterministic, name, func_type
        )

    return _decorated(make, f)


@overload
def udtaf(
    f: None = None,
    input_types: Sequence[TypeLike] | TypeLike | None = None,
    result_type: TypeLike | None = None,
    accumulator_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Callable[[Any], UserDefinedFunctionWrapper]: ...
@overload
def udtaf(
    f: Callable[..., Any] | UserDefinedFunction,
    input_types: Sequence[TypeLike] | TypeLike | None = None,
    result_type: TypeLike | None = None,
    accumulator_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> UserDefinedFunctionWrapper: ...
def udtaf(
    f: Any = None,
    input_types: Sequence[TypeLike] | TypeLike | None = None,
    result_type: TypeLike | None = None,
    accumulator_type: TypeLike | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """A table aggregate function, for `flat_aggregate`; SQL has no place to call it."""

    def make(func: Any) -> UserDefinedFunctionWrapper:
        if func_type != "general":
            raise ValueError("The udtaf only supports func_type 'general'.")
        return UserDefinedFunctionWrapper(
            func, "table aggregate", result_type or func.get_result_type(), input_types, deterministic, name
        )

    return _decorated(make, f)
