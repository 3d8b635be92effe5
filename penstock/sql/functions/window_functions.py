"""Functions that only make sense over a window: ranks, shares, neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.common.datatypes import DataType, DataTypes
from penstock.sql.functions.casts import cast_sql
from penstock.sql.functions.common_types import common_type
from penstock.sql.functions.registry import Arg, ArgType, FunctionDef, Render, register
from penstock.sql.functions.rules import ANY, INTEGER, Result, Signature, check, never, opt, refuse
from penstock.sql.functions.text import cast


def window(name: str, signature: Signature, result: Result, write: Render, own: DataType | None) -> None:
    """Registers a window function.

    Args:
        write: Gives the text that stands before OVER.
        own: The type that Spark gives it, None if that is always the result type.
    """

    def infer(args: Sequence[ArgType]) -> DataType:
        check(name, [signature], args)
        return result(args)

    def over(args: Sequence[Arg], result: DataType, window: str) -> str:
        text = f"{write(args, result)} OVER ({window})"
        return text if own is None or own.nullable() == result.nullable() else cast(text, result)

    register(FunctionDef(name, "window", infer, write, spark_over=over, how="spark"))


def _call(function: str) -> Render:
    return lambda args, result: f"{function}({', '.join(a.sql for a in args)})"


for _name in ("ROW_NUMBER", "RANK", "DENSE_RANK"):
    window(_name, (), never(DataTypes.BIGINT), _call(_name.lower()), DataTypes.INT())
window("PERCENT_RANK", (), never(DataTypes.DOUBLE), _call("percent_rank"), DataTypes.DOUBLE())
window("NTILE", (INTEGER,), never(DataTypes.BIGINT), _call("ntile"), DataTypes.INT())


window("CUME_DIST", (), never(DataTypes.DOUBLE), _call("cume_dist"), DataTypes.DOUBLE())


def _neighbour_type(name: str) -> Result:
    def result(args: Sequence[ArgType]) -> DataType:
        if len(args) < 3:
            return args[0].type.nullable()
        if common_type([args[0].type, args[2].type]) is None:
            raise refuse(name, args, f"{name}(value, offset, default of the value's type)")
        nullable = args[0].type.is_nullable or args[2].type.is_nullable
        return args[0].type.with_nullability(nullable)

    return result


def _neighbour(function: str) -> Callable[[Sequence[Arg], DataType], str]:
    def write(args: Sequence[Arg], result: DataType) -> str:
        texts = [cast_sql(args[0], result), *(a.sql for a in args[1:2])]
        texts += [cast_sql(a, result) for a in args[2:]]
        return f"{function}({', '.join(texts)})"

    return write


for _name in ("LAG", "LEAD"):
    window(_name, (ANY, opt(INTEGER), opt(ANY)), _neighbour_type(_name), _neighbour(_name.lower()), None)
