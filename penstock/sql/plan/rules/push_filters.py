"""Conditions move down as far as they may: rows that nobody wants should not be joined, counted or remembered.

    WHERE above a comma join      equalities become its keys, what reads one side goes below it
    through projections           by substitution
    below joins                   both sides of an inner one; of the others the side that is not filled with NULLs
    below GROUP BY, OVER, TUMBLE  what reads only group keys, partition keys, columns of the row
    into both arms of a UNION

>>> from penstock.sql.plan.examples import bound, shown
>>> plan = bound("SELECT a.s FROM a, b WHERE a.x = b.x AND a.y > 1 AND b.y < 2")
>>> print(shown(plan))
Calc(select=[s])
   Filter(where=[x = x AND y > 1 AND y < 2])
      Join(joinType=[inner])
         a
         b
>>> print(shown(push_filters(plan)))
Calc(select=[s])
   Join(joinType=[inner], where=[x = x])
      Filter(where=[y > 1])
         a
      Filter(where=[y < 2])
         b

What keeps a condition where it is:

- It gives something else when asked elsewhere: RAND(), NOW(), CURRENT_WATERMARK, subqueries.
- It can fail (a cast of text, a division): it never gets to see rows that something dropped before. It may still go
  through projections and become the key of a join.
- A watermark: rows that are dropped before it would not move event time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from penstock.sql.plan.algebra import (
    Aggregate,
    Correlate,
    Filter,
    Join,
    Over,
    Plan,
    Project,
    Scan,
    SetOp,
    Sort,
    StreamScan,
    TableFunctionScan,
    TemporalJoin,
    Unnest,
    Values,
    Watermark,
    WindowTvf,
)
from penstock.sql.plan.rex import InputRef, Rex, conjuncts, shift
from penstock.sql.plan.rex_facts import (
    all_of,
    columns_of,
    condition_parts,
    has_user_call,
    is_movable,
    is_plain,
    is_total,
    substituted,
)

Wanted = Sequence[Rex]


def push_filters(plan: Plan) -> Plan:
    return _push(plan, [])


def filtered(plan: Plan, conditions: Wanted) -> Plan:
    """The plan under a filter; what can fail in a filter of its own, behind what may guard it."""
    for chosen in ([c for c in conditions if is_total(c)], [c for c in conditions if not is_total(c)]):
        if chosen:
            plan = Filter(plan.fields, plan, all_of(list(dict.fromkeys(chosen))))
    return plan


def _push(plan: Plan, wanted: Wanted) -> Plan:
    """The rows of the plan for which all of `wanted` are true; these are movable conditions over its columns."""
    handler = _HANDLERS.get(type(plan))
    if handler is not None:
        return handler(plan, wanted)
    return filtered(_over(plan, *(_push(child, []) for child in plan.inputs)), wanted)


def _over(plan: Plan, *inputs: Plan) -> Plan:
    same = all(a is b for a, b in zip(inputs, plan.inputs, strict=True))
    return plan if same else plan.with_inputs(inputs)


def _split(wanted: Wanted, goes: Callable[[Rex], bool]) -> tuple[list[Rex], list[Rex]]:
    """(what goes below, what stays above)."""
    below = [rex for rex in wanted if goes(rex)]
    return below, [rex for rex in wanted if not goes(rex)]


def _filter(plan: Filter, wanted: Wanted) -> Plan:
    own, kept = _split(conjuncts(plan.condition), is_movable)
    if kept:  # something pinned, such as a subquery, may guard what can fail
        below, above = _split([*own, *wanted], is_total)
        fails = [rex for rex in above if rex in own]
        rest = Filter(plan.fields, _push(plan.input, below), all_of([*kept, *fails]))
        return filtered(rest, [rex for rex in above if rex not in own])
    return _push(plan.input, [*own, *wanted])


def _project(plan: Project, wanted: Wanted) -> Plan:
    gains = _is_worth_it(plan.input)

    def goes(rex: Rex) -> bool:
        used = [plan.exprs[i] for i in columns_of(rex)]
        if not all(is_movable(e) and not has_user_call(e) for e in used):
            return False
        return gains or all(is_plain(e) for e in used)

    below, above = _split(wanted, goes)
    child = _push(plan.input, [substituted(rex, plan.exprs) for rex in below])
    return filtered(_over(plan, child), above)


def _is_worth_it(plan: Plan) -> bool:
    """Whether there is anything below that a condition could save work of; else it would only be computed twice."""
    while isinstance(plan, (Project, Filter)):
        plan = plan.input
    return not isinstance(plan, (Scan, StreamScan, Values, Watermark))


def _join(plan: Join, wanted: Wanted) -> Plan:
    width = len(plan.left.fields)
    kind = plan.kind
    inner = kind == "inner"
    left: list[Rex] = []
    right: list[Rex] = []
    above: list[Rex] = []
    condition: list[Rex] = []
    for rex in wanted:
        side = _side(rex, width)
        if side == 0 and kind in ("inner", "left", "semi", "anti"):
            left.append(rex)
        elif side == 1 and kind in ("inner", "right"):
            right.append(shift(rex, -width))
        elif inner and _reads_both(rex, width):
            condition.append(rex)
        else:
            above.append(rex)
    given = condition_parts(plan.condition)
    for rex in given:
        side = _side(rex, width) if is_movable(rex) else None
        if side == 0 and kind in ("inner", "right", "semi"):
            left.append(rex)
        elif side == 1 and kind in ("inner", "left", "semi", "anti"):
            right.append(shift(rex, -width))
        else:
            condition.append(rex)
    both = list(dict.fromkeys([*(c for c in condition if c in given), *condition]))
    joined = _over(plan, _push(plan.left, left), _push(plan.right, right))
    if both != given:
        joined = replace(joined, condition=all_of(both) if both else None)  # type: ignore[call-arg]
    return filtered(joined, above)


def _side(rex: Rex, width: int) -> int | None:
    """The side of a join that a condition may go to."""
    columns = columns_of(rex)
    if not columns or not is_total(rex):
        return None
    if max(columns) < width:
        return 0
    return 1 if min(columns) >= width else None


def _reads_both(rex: Rex, width: int) -> bool:
    columns = columns_of(rex)
    return bool(columns) and min(columns) < width <= max(columns)


def _left_columns(plan: Any, wanted: Wanted) -> Plan:
    """Nodes that add columns to each row of their (left) input."""
    width = len(plan.inputs[0].fields)
    below, above = _split(wanted, lambda rex: is_total(rex) and _within(rex, range(width)))
    rest = [child if _is_looked_up(plan) else _push(child, []) for child in plan.inputs[1:]]
    return filtered(_over(plan, _push(plan.inputs[0], below), *rest), above)


def _is_looked_up(plan: Plan) -> bool:
    return isinstance(plan, TemporalJoin) and plan.processing


def _within(rex: Rex, columns: Any) -> bool:
    found = columns_of(rex)
    return bool(found) and all(i in columns for i in found)


def _window(plan: WindowTvf, wanted: Wanted) -> Plan:
    below, above = _split(wanted, lambda rex: _passes_window(plan, rex))
    return filtered(_over(plan, _push(plan.input, below)), above)


def _passes_window(plan: WindowTvf, rex: Rex) -> bool:
    """A row's session depends on the other rows of its partition; other windows only on the row."""
    columns = plan.partition if plan.kind == "SESSION" else range(len(plan.input.fields))
    return is_total(rex) and _within(rex, columns)


def _aggregate(plan: Aggregate, wanted: Wanted) -> Plan:
    keys = plan.keys

    def goes(rex: Rex) -> bool:
        if plan.grouping_sets is not None or not _within(rex, range(len(keys))):
            return False
        used = [keys[i] for i in columns_of(rex)]
        if not all(is_movable(k) and is_total(k) and not has_user_call(k) for k in used):
            return False
        return is_total(rex) and _leaves_window(plan.input, substituted(rex, keys))

    below, above = _split(wanted, goes)
    child = _push(plan.input, [substituted(rex, keys) for rex in below])
    return filtered(_over(plan, child), above)


def _leaves_window(plan: Plan, rex: Rex) -> bool:
    """An aggregate over a window stays next to it: a condition goes below both of them or stays above."""
    while isinstance(plan, (Project, Filter)):
        if isinstance(plan, Project):
            rex = substituted(rex, plan.exprs)
        plan = plan.input
    return not isinstance(plan, WindowTvf) or _passes_window(plan, rex)


def _over_node(plan: Over, wanted: Wanted) -> Plan:
    partitions = [{p.index for p in call.partition if isinstance(p, InputRef)} for call in plan.calls]
    common = set.intersection(*partitions) if partitions else set()
    below, above = _split(wanted, lambda rex: is_total(rex) and _within(rex, common))
    return filtered(_over(plan, _push(plan.input, below)), above)


def _set_op(plan: SetOp, wanted: Wanted) -> Plan:
    below, above = _split(wanted, lambda rex: is_total(rex) and bool(columns_of(rex)))
    return filtered(_over(plan, *(_push(child, below) for child in plan.inputs)), above)


def _sort(plan: Sort, wanted: Wanted) -> Plan:
    if plan.fetch is not None or plan.offset:
        return filtered(_over(plan, _push(plan.input, [])), wanted)
    return _over(plan, _push(plan.input, wanted))


_HANDLERS: dict[type, Callable[[Any, Wanted], Plan]] = {
    Filter: _filter,
    Project: _project,
    Join: _join,
    Unnest: _left_columns,
    TableFunctionScan: _left_columns,
    TemporalJoin: _left_columns,
    Correlate: _left_columns,
    WindowTvf: _window,
    Aggregate: _aggregate,
    Over: _over_node,
    SetOp: _set_op,
    Sort: _sort,
}
