"""IN and EXISTS outside of filters.

Spark takes these predicates only where rows are filtered. In a select list the predicate is computed by a
join instead: the subquery's distinct values are counted per row.

    Project(a IN (q))  →  a CASE over three scalar subqueries: is there a match, is q empty, has q a NULL
"""

from __future__ import annotations

from dataclasses import replace

from penstock.common.datatypes import DataTypes
from penstock.sql.algebra import Aggregate, Field, Filter, Plan, Project, transform_plan
from penstock.sql.plan_rexes import contains_subquery
from penstock.sql.rex import AggCall, Call, Const, InputRef, OuterRef, Rex, SubqueryRex, TypeRef, transform

_BOOLEAN = DataTypes.BOOLEAN()
_COUNT = DataTypes.BIGINT(False)


def subquery_in_project(plan: Plan) -> Plan:
    return transform_plan(plan, _project)


def _project(plan: Plan) -> Plan:
    if not isinstance(plan, Project) or not any(contains_subquery(e) for e in plan.exprs):
        return plan
    return replace(plan, exprs=tuple(transform(e, _predicate) for e in plan.exprs))


def _predicate(rex: Rex) -> Rex | None:
    if not isinstance(rex, SubqueryRex) or rex.kind == "scalar":
        return None
    if rex.kind == "exists":
        found: Rex = _positive(_count(rex.plan))
    else:
        found = _in(rex)
    return Call(rex.type, "NOT", (found,)) if rex.negated else found


def _count(plan: Plan, condition: Rex | None = None) -> Rex:
    """How many rows the plan has, as a scalar subquery."""
    source = plan if condition is None else Filter(plan.fields, plan, condition)
    counted = Aggregate((Field("n", _COUNT),), source, (), (AggCall(_COUNT, "COUNT", ()),))
    return SubqueryRex(_COUNT.nullable(), "scalar", counted)


def _positive(count: Rex) -> Rex:
    return Call(_BOOLEAN, ">", (Call(_COUNT, "COALESCE", (count, Const(_COUNT, 0))), Const(_COUNT, 0)))


def _in(rex: SubqueryRex) -> Rex:
    """TRUE if a row is equal, else NULL if one may be, else FALSE."""
    outer = [_as_outer(item) for item in rex.left]
    columns = [InputRef(f.type, i) for i, f in enumerate(rex.plan.fields)]
    tests: list[Rex] = [Call(_BOOLEAN, "=", (c, o)) for c, o in zip(columns, outer, strict=True)]
    equal = tests[0] if len(tests) == 1 else Call(_BOOLEAN, "AND", tuple(tests))
    maybe = Call(_BOOLEAN, "IS UNKNOWN", (equal,))
    return Call(
        _BOOLEAN,
        "CASE",
        (
            _positive(_count(rex.plan, equal)),
            Const(DataTypes.BOOLEAN(False), True),
            _positive(_count(rex.plan, maybe)),
            Call(_BOOLEAN, "CAST", (Const(DataTypes.NULL(), None), TypeRef(_BOOLEAN))),
            Const(DataTypes.BOOLEAN(False), False),
        ),
    )


def _as_outer(rex: Rex) -> Rex:
    """The expression as seen from inside the subquery: one level further out."""

    def lift(part: Rex) -> Rex | None:
        if isinstance(part, InputRef):
            return OuterRef(part.type, 1, part.index, part.time)
        if isinstance(part, OuterRef):
            return replace(part, depth=part.depth + 1)
        return None

    return transform(rex, lift)
