"""Functions that only make sense over a window: ranks, shares, neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.common.datatypes import DataType, DataTypes
from penstock.sql.functions.casts import cast_sql
from penstock.sql.functions.common_types import common_type
from penstock.sql.functions.registry import Arg, ArgType, FunctionDef, register
from penstock.sql.functions.rules import ANY, INTEGER, Result, Signature, check, never, opt, refuse
from penstock.sql.functions.text import cast

Write = Callable[[Sequence[Arg], DataType], str]


def window(
    name: str, signature: Signature, result: Result, write: Write, make: Callable[[], DataType]
) -> None:
    """Registers a window function; `write` gives the text before OVER, `make` the type Spark gives it."""

    def infer(args: Sequence[ArgType]) -> DataType:
        check(name, [signature], args)
        return result(args)

    def over(args: Sequence[Arg], result: DataType, window: str) -> str:
        text = f"{write(args, result)} OVER ({window})"
        return text if make().nullable() == result.nullable() else cast(text, result)

    register(FunctionDef(name, "window", infer, write, spark_over=over, how="spark"))


for _name in ("ROW_NUMBER", "RANK", "DENSE_RANK"):
    window(_name, (), never(DataTypes.BIGINT), lambda args, result, f=_name.lower(): f"{f}()", DataTypes.INT)  # type: ignore[misc]
for _name in ("CUME_DIST", "PERCENT_RANK"):
    window(
        _name, (), never(DataTypes.DOUBLE), lambda args, result, f=_name.lower(): f"{f}()", DataTypes.DOUBLE
    )  # type: ignore[misc]
window(
    "NTILE", (INTEGER,), never(DataTypes.BIGINT), lambda args, result: f"ntile({args[0].sql})", DataTypes.INT
)


def _neighbour_type(name: str) -> Result:
    def result(args: Sequence[ArgType]) -> DataType:
        if len(args) < 3:
            return args[0].type.nullable()
        found = common_type([args[0].type, args[2].type])
        if found is None:
            raise refuse(name, args, f"{name}(value, offset, default of the value's type)")
        return found.with_nullability(args[2].type.is_nullable or args[0].type.is_nullable)

    return result


def _neighbour(function: str) -> Write:
    def write(args: Sequence[Arg], result: DataType) -> str:
        texts = [
            cast_sql(args[0], result),
            *(a.sql for a in args[1:2]),
            *(cast_sql(a, result) for a in args[2:]),
        ]
        return f"{function}({', '.join(texts)})"

    return write


for _name in ("LAG", "LEAD"):
    register(
        FunctionDef(
            _name,
            "window",
            lambda args, name=_name: (
                check(name, [(ANY, opt(INTEGER), opt(ANY))], args) or _neighbour_type(name)(args)
            ),  # type: ignore[misc,func-returns-value]
            _neighbour(_name.lower()),
            spark_over=lambda args, result, w, f=_name.lower(): f"{_neighbour(f)(args, result)} OVER ({w})",  # type: ignore[misc]
            how="spark",
        )
    )
