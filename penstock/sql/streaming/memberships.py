"""EXISTS and IN as values: inside SELECT, OR, CASE, where a semi join cannot answer.

They become counts, which are scalar subqueries and so left joins with aggregates:

    EXISTS (q)      (SELECT COUNT(*) FROM q) > 0
    x IN (q)        CASE WHEN (SELECT COUNT(*) FROM q WHERE y = x) > 0 THEN TRUE
                         WHEN x IS NULL AND (SELECT COUNT(*) FROM q) > 0 THEN NULL
                         WHEN (SELECT COUNT(*) FROM q WHERE y IS NULL) > 0 THEN NULL
                         ELSE FALSE END

The cases for NULL are left out where the types say that there is none.
"""

from __future__ import annotations

from penstock.common.datatypes import DataTypes
from penstock.common.errors import NotSupportedError
from penstock.sql.plan.algebra import Aggregate, Field, Filter, Plan
from penstock.sql.plan.plan_rexes import as_outer
from penstock.sql.plan.rex import AggCall, Call, Const, InputRef, Rex, SubqueryRex

_BOOLEAN = DataTypes.BOOLEAN()
_COUNT = DataTypes.BIGINT(False)


def as_counts(query: SubqueryRex) -> Rex:
    """The value of an EXISTS or IN in terms of scalar subqueries."""
    value = _has_rows(query.plan) if query.kind == "exists" else _is_in(query)
    return Call(value.type, "NOT", (value,)) if query.negated else value


def _has_rows(plan: Plan) -> Rex:
    count = Aggregate((Field("n", _COUNT),), plan, (), (AggCall(_COUNT, "COUNT", ()),))
    return Call(DataTypes.BOOLEAN(False), ">", (SubqueryRex(_COUNT, "scalar", count), Const(_COUNT, 0)))


def _is_in(query: SubqueryRex) -> Rex:
    plan = query.plan
    columns = [InputRef(f.type, i) for i, f in enumerate(plan.fields)]
    equal: Plan = plan
    for left, column in zip(query.left, columns, strict=True):
        equal = Filter(plan.fields, equal, Call(_BOOLEAN, "=", (column, as_outer(left))))
    unknown = _unknown(query, columns)
    found = _has_rows(equal)
    if not unknown:
        return found
    null, false, true = Const(_BOOLEAN, None), Const(_BOOLEAN, False), Const(_BOOLEAN, True)
    branches = [branch for condition in unknown for branch in (condition, null)]
    return Call(_BOOLEAN, "CASE", (found, true, *branches, false))


def _unknown(query: SubqueryRex, columns: list[InputRef]) -> list[Rex]:
    """When an IN that found nothing is neither true nor false."""
    nullable = [c for c in (*query.left, *columns) if c.type.is_nullable]
    if nullable and len(columns) > 1:
        raise NotSupportedError(
            "IN with several columns that may be NULL inside an expression", "it would need one join per NULL"
        )
    unknown: list[Rex] = []
    left, column = query.left[0], columns[0]
    if left.type.is_nullable:
        is_null = Call(DataTypes.BOOLEAN(False), "IS NULL", (left,))
        unknown.append(Call(_BOOLEAN, "AND", (is_null, _has_rows(query.plan))))
    if column.type.is_nullable:
        nulls = Call(DataTypes.BOOLEAN(False), "IS NULL", (column,))
        unknown.append(_has_rows(Filter(query.plan.fields, query.plan, nulls)))
    return unknown
