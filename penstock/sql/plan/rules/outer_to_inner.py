"""An outer join whose filled-up rows a condition above drops anyway is an inner one.

>>> from penstock.sql.plan.examples import bound, shown
>>> plan = bound("SELECT * FROM a LEFT JOIN b ON a.x = b.x WHERE b.y > 1")
>>> print(shown(plan))
Filter(where=[y > 1])
   Join(joinType=[left], where=[x = x])
      a
      b
>>> print(shown(outer_to_inner(plan)))
Filter(where=[y > 1])
   Join(joinType=[inner], where=[x = x])
      a
      b

A full join becomes a left or right one if only one kind of filled-up rows is dropped. Columns keep their types.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.sql.plan.algebra import Filter, Join, JoinKind, Plan, Project, Sort
from penstock.sql.plan.rex import Const, InputRef, Rex, conjuncts, transform
from penstock.sql.plan.rex_facts import columns_of, condition_parts, is_movable, rejects_null, substituted


def outer_to_inner(plan: Plan) -> Plan:
    return _visit(plan, [])


def _visit(plan: Plan, known: Sequence[Rex]) -> Plan:
    """`known` are conditions that rows of the plan must fulfil to matter."""
    if isinstance(plan, Join):
        return _join(plan, known)
    below: Sequence[Rex] = []
    if isinstance(plan, Filter):
        below = [*known, *(c for c in conjuncts(plan.condition) if is_movable(c))]
    elif isinstance(plan, Project):
        below = [substituted(c, plan.exprs) for c in known if _is_stable(c, plan)]
    elif isinstance(plan, Sort) and plan.fetch is None and not plan.offset:
        below = known
    return _over(plan, [_visit(child, below) for child in plan.inputs])


def _is_stable(rex: Rex, plan: Project) -> bool:
    return all(is_movable(plan.exprs[i]) for i in columns_of(rex))


def _over(plan: Plan, inputs: Sequence[Plan]) -> Plan:
    same = all(a is b for a, b in zip(inputs, plan.inputs, strict=True))
    return plan if same else plan.with_inputs(tuple(inputs))


def _join(plan: Join, known: Sequence[Rex]) -> Plan:
    width, every = len(plan.left.fields), len(plan.left.fields) + len(plan.right.fields)
    kind = plan.kind
    if kind in ("left", "full") and any(rejects_null(c, range(width, every)) for c in known):
        kind = "inner" if kind == "left" else "right"
    if kind in ("right", "full") and any(rejects_null(c, range(width)) for c in known):
        kind = "inner" if kind == "right" else "left"
    if kind != plan.kind:
        plan = replace(plan, kind=kind)
    return _over(plan, _sides(plan, kind, known, width))


def _sides(plan: Join, kind: JoinKind, known: Sequence[Rex], width: int) -> list[Plan]:
    """What is known about each side: what stands above, and the join's own condition where it drops rows."""
    own = [c for c in condition_parts(plan.condition) if is_movable(c)]
    left = [c for c in known if kind in ("inner", "left", "semi", "anti")]
    right = [c for c in known if kind in ("inner", "right")]
    left += own if kind in ("inner", "right", "semi") else []
    right += own if kind in ("inner", "left", "semi", "anti") else []
    end = width + len(plan.right.fields)
    return [
        _visit(plan.left, [c for c in (_seen_from(c, 0, width) for c in left) if c is not None]),
        _visit(plan.right, [c for c in (_seen_from(c, width, end) for c in right) if c is not None]),
    ]


def _seen_from(rex: Rex, start: int, end: int) -> Rex | None:
    """The condition over one side; a column of the other side may be anything but NULL."""
    if not any(start <= i < end for i in columns_of(rex)):
        return None

    def place(part: Rex) -> Rex | None:
        if not isinstance(part, InputRef):
            return None
        return replace(part, index=part.index - start) if start <= part.index < end else Const(part.type, ...)

    return transform(rex, place)
