"""IN and EXISTS where their value matters, not only whether a row passes.

Spark takes these predicates only where rows are filtered, and makes joins of them that know TRUE and "not
TRUE". That is right for a condition made of AND and OR. Everywhere else (a select list, `x IN (q) IS NULL`) the
predicate becomes an expression over scalar subqueries:

    a IN (q)  →  CASE WHEN rows of q equal to a > 0 THEN TRUE
                      WHEN rows of q that may be equal > 0 THEN NULL ELSE FALSE END

>>> from penstock.sql.plan.examples import bound, shown
>>> plan = bound("SELECT x FROM a WHERE x IN (SELECT x FROM b) OR EXISTS (SELECT x FROM b) IS NOT FALSE")
>>> print(shown(plan))
Calc(select=[x])
   Filter(where=[x IN (...) OR EXISTS (...) IS NOT FALSE])
      a
>>> print(shown(subquery_values(plan)))
Calc(select=[x])
   Filter(where=[x IN (...) OR (COALESCE((...), 0) > 0) IS NOT FALSE])
      a
"""

from __future__ import annotations

from dataclasses import replace

from penstock.common.datatypes import DataTypes
from penstock.sql.plan.algebra import Aggregate, Field, Filter, Plan, transform_plan
from penstock.sql.plan.plan_rexes import as_outer, contains_subquery, map_rexes, rexes
from penstock.sql.plan.rex import AggCall, Call, Const, InputRef, Rex, SubqueryRex, TypeRef, transform

_BOOLEAN = DataTypes.BOOLEAN()
_COUNT = DataTypes.BIGINT(False)


def subquery_values(plan: Plan) -> Plan:
    return transform_plan(plan, _node)


def _node(plan: Plan) -> Plan:
    if not any(contains_subquery(rex) for rex in rexes(plan)):
        return plan
    if isinstance(plan, Filter):
        return replace(plan, condition=_condition(plan.condition))
    return map_rexes(plan, lambda rex: transform(rex, _predicate))


def _condition(rex: Rex) -> Rex:
    """Leaves a predicate alone that stands in a condition by itself or under AND and OR."""
    if isinstance(rex, Call) and rex.name in ("AND", "OR"):
        return replace(rex, args=tuple(_condition(arg) for arg in rex.args))
    return rex if isinstance(rex, SubqueryRex) else transform(rex, _predicate)


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
    outer = [as_outer(item) for item in rex.left]
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
