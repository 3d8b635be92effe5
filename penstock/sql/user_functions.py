"""Users' functions in SQL: how one is described to the binder and how Spark calls it.

`UserFunction` is what the catalog manager keeps. Its result type is known when it is registered; scalar
functions become Spark Python UDFs under a name of their own, registered when a query first uses them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.common.datatypes import DataType, RowType
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.table.catalog import CatalogFunction

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.sql.rex import UdfCall


@dataclass(frozen=True)
class UserFunction:
    """A Python function with its SQL result type; `kind` is "scalar", "table" or "aggregate"."""

    name: str
    function: Callable[..., Any]
    result: DataType
    kind: str = "scalar"
    deterministic: bool = True
    original: Any = None

    def result_type(self, arguments: Sequence[DataType]) -> DataType:
        return self.result

    def result_fields(self, arguments: Sequence[DataType]) -> list[tuple[str, DataType]]:
        """The columns of a table function."""
        if isinstance(self.result, RowType):
            return [(f.name, f.data_type) for f in self.result]
        return [("f0", self.result)]


def load_function(function: CatalogFunction) -> Any:
    """Imports what `CREATE FUNCTION … AS 'module.name' LANGUAGE PYTHON` names."""
    if function.language != "PYTHON":
        raise NotSupportedError(f"functions in {function.language}", "functions are Python here")
    module_name, _, name = function.class_name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module_name), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValidationError(
            f"cannot import function '{function.class_name}': {error}",
            do="give the function as 'module.name' and put the module on the Python path",
        ) from error
    return as_user_function(name, found)


def as_user_function(name: str, found: Any) -> UserFunction:
    """Adapts what `udf(...)` made, or anything that says how it is to be called."""
    if isinstance(found, UserFunction):
        return found
    adapt = getattr(found, "to_user_function", None)
    if adapt is not None:
        adapted: UserFunction = adapt(name)
        return adapted
    raise ValidationError(
        f"'{name}' is not a user-defined function",
        do="wrap it with udf(…, result_type=…) of penstock.table.udf",
    )


def spark_call(spark: SparkSession, call: UdfCall, args: list[str]) -> str:
    """The Spark SQL text of a call; registers the function on first use."""
    from pyspark.sql.functions import udf, udtf

    from penstock.sql.functions.text import spark_type

    function: UserFunction = call.function
    name = f"penstock_user_{abs(hash((function.name, id(function.function))))}"
    if function.kind == "table":
        fields = function.result_fields([a.type for a in call.args])
        schema = "STRUCT<" + ", ".join(f"c{i}: {spark_type(t)}" for i, (_, t) in enumerate(fields)) + ">"
        spark.udtf.register(name, udtf(_table_class(function.function), returnType=schema))
        return f"{name}({', '.join(args)})"
    if function.kind != "scalar":
        raise NotSupportedError("user-defined aggregates in batch SQL", "they run in the streaming engine")
    made: Any = udf(function.function, spark_type(function.result))
    if not function.deterministic:
        made = made.asNondeterministic()
    spark.udf.register(name, made)
    return f"{name}({', '.join(args)})"


def _table_class(function: Callable[..., Any]) -> type:
    """A Spark UDTF class around a generator function."""

    class Runner:
        def eval(self, *args: Any) -> Any:
            for item in function(*args) or ():
                if isinstance(item, (list, tuple)) or hasattr(item, "get_row_kind"):
                    yield tuple(item)
                else:
                    yield (item,)

    return Runner
