"""Random aggregate calls, with the rules of Flink spelled out for DuckDB.

Flink's SUM keeps the type of its argument, AVG of integers is cut to an integer, and AVG of decimals is rounded half
up at six digits. DuckDB answers with wider types and doubles, so its text computes the same from SUM and COUNT.
"""

from __future__ import annotations

from hypothesis import strategies as st

from tests.properties.sql_differential.expressions import Expr, Expressions, Scope
from tests.properties.sql_differential.types import BIGINT, DECIMAL, DOUBLE, NUMBERS, ORDERED, Text, sql

AVERAGE_OF_DECIMALS = (
    "CAST(CAST(sign({sum}) * ((2 * abs(CAST({sum} * 100 AS HUGEINT)) * 10000 + {count}) // (2 * {count}))"
    " AS DECIMAL(30, 0)) * 0.000001 AS DECIMAL(30, 2))"
)


def aggregate(make: Expressions, scope: Scope, behind: Text | None = None, plain: bool = False) -> Expr:
    """A call. `behind` is an OVER clause; `plain` leaves out DISTINCT and FILTER."""
    behind = behind or Text("", "")
    made = make.draw(st.integers(0, 5))
    distinct = "" if plain or not make.chance(4) else "DISTINCT "
    if not plain and make.chance(4):
        behind = sql(" FILTER (WHERE {}){}", make.condition(scope), behind)
    argument = make.any_value(scope)
    if made == 0:
        return Expr(BIGINT, sql("COUNT(*){}", behind))
    if made in (1, 2) and argument.type in NUMBERS:
        return _sum(argument, distinct, behind) if made == 1 else _average(argument, distinct, behind)
    if made in (3, 4) and argument.type in ORDERED:
        name = "MIN" if made == 3 else "MAX"
        return Expr(argument.type, sql(f"{name}({distinct}{{}}){{}}", argument.text, behind))
    return Expr(BIGINT, sql(f"COUNT({distinct}{{}}){{}}", argument.text, behind))


def _sum(argument: Expr, distinct: str, behind: Text) -> Expr:
    duck = "DECIMAL(30, 2)" if argument.type is DECIMAL else argument.type.duck
    text = sql(f"SUM({distinct}{{}}){{}}", argument.text, behind,
               duck=f"CAST(SUM({distinct}{{}}){{}} AS {duck})")  # fmt: skip
    return Expr(argument.type, text)


def _average(argument: Expr, distinct: str, behind: Text) -> Expr:
    total, count = (
        sql(f"{name}({distinct}{{}}){{}}", argument.text, behind).duck for name in ("SUM", "COUNT")
    )
    flink = sql(f"AVG({distinct}{{}}){{}}", argument.text, behind).flink
    if argument.type is DOUBLE:
        return Expr(DOUBLE, Text(flink, f"({total} / NULLIF({count}, 0))"))
    if argument.type is DECIMAL:
        exact = AVERAGE_OF_DECIMALS.format(sum=total, count=f"NULLIF({count}, 0)")
        return Expr(DECIMAL, Text(f"CAST({flink} AS DECIMAL(30, 2))", exact))
    duck = f"CAST({total} // NULLIF({count}, 0) AS {argument.type.duck})"
    return Expr(argument.type, Text(flink, duck))
