"""What a built-in function is: a name, a rule for its result type, and its Spark SQL text.

The binder turns SQL into calls of *named* functions; operators and keyword forms are calls too. It asks
`infer` for the result type (that is also where wrong arguments are refused), and later the Spark writer
asks `spark` for the expression text over the already rendered arguments. Text made here always has
Flink's semantics and is meant for a session with ANSI mode off.

How special syntax arrives here (`'x'` = an argument whose `literal` is that text, `T` = an argument whose
`type` is the wanted type and whose `sql` is unused):

    x + y, -x, +x               "+" (x, y), "-" (x), "+" (x)
    x = y, x <> y, ...          "=" (x, y) ...      (!= is "<>")
    x IS NULL, x IS TRUE ...    "IS NULL" (x) ...
    x IS [NOT] DISTINCT FROM y  "IS [NOT] DISTINCT FROM" (x, y)
    x [NOT] BETWEEN [SYMMETRIC] a AND b   "[NOT] BETWEEN [SYMMETRIC]" (x, a, b)
    s [NOT] LIKE p [ESCAPE e]   "[NOT] LIKE" (s, p[, e]);  the same for SIMILAR TO
    x [NOT] IN (a, b)           "[NOT] IN" (x, a, b)
    a AND b AND c, a OR b       "AND" (a, b, c), "OR" (a, b)
    s || t                      "||" (s, t)
    CASE WHEN c1 THEN v1 ... [ELSE e] END   "CASE" (c1, v1, ..., e); without ELSE e is a NULL literal;
                                CASE x WHEN y uses c1 = "=" (x, y)
    CAST(x AS T), TRY_CAST      "CAST" (x, T), "TRY_CAST" (x, T)
    a[i], row.field, row.f      "ITEM" (a, i), "DOT" (row, 'field')
    ROW(a, b), ARRAY[a, b], MAP[k, v], MULTISET[a]   "ROW", "ARRAY", "MAP", "MULTISET"
    EXTRACT(YEAR FROM x)        "EXTRACT" ('YEAR', x)
    FLOOR(x TO DAY), CEIL       "FLOOR" (x, 'DAY'), "CEIL" (x, 'DAY')
    TIMESTAMPADD(DAY, n, x)     "TIMESTAMPADD" ('DAY', n, x); TIMESTAMPDIFF likewise
    POSITION(a IN b)            "POSITION" (a, b)
    TRIM(LEADING c FROM s)      "TRIM" ('LEADING', c, s); TRIM(s) may come as "TRIM" (s)
    SUBSTRING(s FROM i FOR n), OVERLAY(s PLACING r FROM i FOR n)   positional arguments
    (a, b) OVERLAPS (c, d)      "OVERLAPS" (a, b, c, d)
    (a - b) DAY TO SECOND       "MINUS_DATE" ('DAY TO SECOND', a, b)
    x IS [NOT] JSON [SCALAR]    "IS [NOT] JSON" (x[, 'SCALAR'])
    JSON_EXISTS(j, p UNKNOWN ON ERROR)   "JSON_EXISTS" (j, p[, 'UNKNOWN'])
    JSON_VALUE(...)             "JSON_VALUE" (j, p, T, on_empty, default, on_error, default), on_* one of
                                'NULL' 'ERROR' 'DEFAULT'; trailing arguments may be left out
    JSON_QUERY(...)             "JSON_QUERY" (j, p, T, wrapper, on_empty, on_error), wrapper one of 'WITHOUT'
                                'CONDITIONAL' 'UNCONDITIONAL', on_* 'NULL' 'EMPTY ARRAY' 'EMPTY OBJECT' 'ERROR'
    JSON_OBJECT(KEY k VALUE v)  "JSON_OBJECT" ('NULL'|'ABSENT', k, v, ...); the default is 'NULL'
    JSON_ARRAY(a, b)            "JSON_ARRAY" ('NULL'|'ABSENT', a, b); the default is 'ABSENT'
    JSON_OBJECTAGG(k VALUE v), JSON_ARRAYAGG(v)   "JSON_OBJECTAGG" (k, v, 'NULL'), "JSON_ARRAYAGG" (v, 'ABSENT')
    ARRAY_AGG(x IGNORE NULLS)   "ARRAY_AGG" (x, 'IGNORE NULLS')
    CURRENT_DATE, LOCALTIME ... calls without arguments
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from penstock.common.errors import ValidationError

if TYPE_CHECKING:
    from penstock.common.datatypes import DataType


class _NoLiteral:
    """The mark of an argument that is not a constant (a NULL literal is the constant None)."""

    def __repr__(self) -> str:
        return "NO_LITERAL"

    def __reduce__(self) -> str:
        return "NO_LITERAL"


NO_LITERAL = _NoLiteral()

Kind = Literal["scalar", "aggregate", "table", "window"]


@dataclass(frozen=True)
class ArgType:
    """What is known of an argument before it is rendered: its type and, if constant, its value."""

    type: DataType
    literal: Any = NO_LITERAL

    @property
    def is_literal(self) -> bool:
        return self.literal is not NO_LITERAL


@dataclass(frozen=True)
class Arg:
    """A rendered argument: Spark SQL text, Flink type and, if constant, the Python value.

    For what a decimal aggregate adds: `unscaled` is the text of the value without its point, a BIGINT, if it is to be
    added so; `one_by_one` asks for sums row by row (`spark/decimal_sums.py`).
    """

    sql: str
    type: DataType
    literal: Any = NO_LITERAL
    unscaled: str | None = None
    one_by_one: bool = False

    @property
    def is_literal(self) -> bool:
        return self.literal is not NO_LITERAL


Infer = Callable[[Sequence[ArgType]], "DataType"]
Render = Callable[[Sequence[Arg], "DataType"], str]
RenderOver = Callable[[Sequence[Arg], "DataType", str], str]
RenderAggregate = Callable[[Sequence[Arg], "DataType", bool, "str | None", "str | None"], str]


def _no_scalar_text(args: Sequence[Arg], result: DataType) -> str:
    raise ValidationError("this function has no scalar form", do="use it as an aggregate or in a FROM clause")


@dataclass(frozen=True)
class FunctionDef:
    """One built-in function.

    Attributes:
        infer: Checks the arguments and gives the result type; raises `ValidationError`.
        spark: Renders a scalar call. For kind "window" it gives the text that stands before `OVER (...)`.
        spark_aggregate: Renders an aggregate call for batch from
            (args, result type, distinct, filter as Spark SQL or None, ORDER BY items or None).
        spark_over: Renders an aggregate or window call over a window from (args, result type, what stands
            in the parentheses of OVER). Use it instead of adding OVER to another text, which may be an
            expression of several aggregates.
        deterministic: False if two calls with equal arguments may differ (RAND, UUID, CURRENT_TIMESTAMP).
        how: How it is done, for the documentation: "spark", "expression" or "udf".
    """

    name: str
    kind: Kind
    infer: Infer
    spark: Render = _no_scalar_text
    spark_aggregate: RenderAggregate | None = None
    spark_over: RenderOver | None = None
    deterministic: bool = True
    how: str = "expression"


FUNCTIONS: dict[str, FunctionDef] = {}


def register(definition: FunctionDef, *aliases: str) -> FunctionDef:
    """Adds a function, under its own name and under each alias."""
    for name in (definition.name, *aliases):
        if name in FUNCTIONS:
            raise ValidationError(f"function {name} is registered twice")
        FUNCTIONS[name] = definition
    return definition


def find(name: str) -> FunctionDef:
    """The function of that SQL name in any case; refuses unknown names and suggests near ones."""
    found = FUNCTIONS.get(name.upper())
    if found is not None:
        return found
    near = difflib.get_close_matches(name.upper(), FUNCTIONS, n=3)
    hint = (
        "did you mean " + " or ".join(near) + "?" if near else "see docs/sql_functions.md for what there is"
    )
    raise ValidationError(f"there is no function {name}", do=hint)
