"""Columns that nobody reads are dropped early: a join, a Top-N or an OVER remembers only what is used later.

>>> from penstock.sql.plan.examples import bound, shown
>>> plan = bound("SELECT a.y FROM a JOIN b ON a.x = b.x")
>>> print(shown(plan))
Calc(select=[y])
   Join(joinType=[inner], where=[x = x])
      a
      b
>>> print(shown(prune_columns([plan])[0]))
Calc(select=[y])
   Join(joinType=[inner], where=[x = x])
      Calc(select=[x, y])
         a
      Calc(select=[x])
         b

Works on all queries of a job at once and gives every node the columns that any of its readers needs, so that what
`share_plans` has made one node stays one. Which columns a connector reads follows from the result
(`required_columns.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.sql.plan.algebra import (
    Aggregate,
    Correlate,
    Filter,
    Join,
    Over,
    Plan,
    Project,
    SetOp,
    Sort,
    TableFunctionScan,
    TemporalJoin,
    Unnest,
    Watermark,
    WindowTvf,
)
from penstock.sql.plan.plan_rexes import has_outer, map_rexes, rexes
from penstock.sql.plan.rex import AggCall, InputRef, Rex, SubqueryRex, walk
from penstock.sql.plan.rex_facts import all_columns, moved

Places = Mapping[int, int]
"""Where a column of the old plan is in the new one."""


def prune_columns(plans: Sequence[Plan]) -> list[Plan]:
    pruning = _Pruning()
    for plan in plans:
        pruning.need(plan, range(len(plan.fields)))
    pruning.spread(plans)
    return [pruning.exact(plan, range(len(plan.fields))) for plan in plans]


@dataclass
class _Pruning:
    needed: dict[int, set[int]] = field(default_factory=dict)
    _made: dict[int, tuple[Plan, Plan, Places]] = field(default_factory=dict)

    # -- who needs what, from the top down ---------------------------------------------------------------

    def need(self, plan: Plan, columns: Iterable[int]) -> None:
        self.needed.setdefault(id(plan), set()).update(columns)

    def spread(self, plans: Sequence[Plan]) -> None:
        """Every node after all of its readers."""
        for plan in reversed(_inputs_first(plans)):
            for child, wanted in zip(plan.inputs, self._wanted(plan), strict=True):
                self.need(child, wanted)

    def _wanted(self, plan: Plan) -> list[set[int]]:
        everything = [set(range(len(child.fields))) for child in plan.inputs]
        needed, own = self.needed[id(plan)], list(rexes(plan))
        if any(_is_correlated(rex) for rex in own):
            return everything
        if isinstance(plan, Project):
            return [all_columns(plan.exprs[i] for i in needed)]
        if isinstance(plan, Aggregate):
            return [all_columns([*plan.keys, *(plan.calls[i] for i in _calls(plan, needed))])]
        if isinstance(plan, (Filter, Sort)):
            return [needed | all_columns(own)]
        if isinstance(plan, Watermark):
            return [needed | all_columns(own) | {plan.column}]
        if isinstance(plan, (Over, Unnest, TableFunctionScan, WindowTvf)):
            extra = {plan.time_column, *plan.partition} if isinstance(plan, WindowTvf) else set()
            return [(needed | all_columns(own) | extra) & everything[0]]
        if isinstance(plan, (Join, TemporalJoin)) and not _is_looked_up(plan):
            return _sides(plan, needed | all_columns(own))
        if isinstance(plan, SetOp) and plan.kind == "UNION" and plan.all:
            return [needed, needed]
        return everything

    # -- the new plan, from the leaves up ----------------------------------------------------------------

    def exact(self, plan: Plan, columns: Iterable[int]) -> Plan:
        """The plan with just these columns, in this order."""
        made, places = self._narrow(plan)
        at = [places[i] for i in columns]
        if at == list(range(len(made.fields))):
            return made
        fields = tuple(made.fields[i] for i in at)
        return Project(
            fields, made, tuple(InputRef(f.type, i, f.time) for i, f in zip(at, fields, strict=True))
        )

    def _narrow(self, plan: Plan) -> tuple[Plan, Places]:
        """The plan with at least the needed columns, and where they are."""
        if id(plan) not in self._made:
            handler = _HANDLERS.get(type(plan), _Pruning._whole)
            if any(_is_correlated(rex) for rex in rexes(plan)):
                handler = _Pruning._whole
            made, places = handler(self, plan)
            self._made[id(plan)] = plan, made, places
        _, made, places = self._made[id(plan)]
        return made, places

    def _whole(self, plan: Plan) -> tuple[Plan, Places]:
        inputs = [self.exact(child, range(len(child.fields))) for child in plan.inputs]
        return _over(plan, inputs), _same(len(plan.fields))

    def _project(self, plan: Project) -> tuple[Plan, Places]:
        child, places = self._narrow(plan.input)
        kept = sorted(self.needed[id(plan)])
        exprs = tuple(moved(plan.exprs[i], places) for i in kept)
        made = Project(tuple(plan.fields[i] for i in kept), child, exprs)
        return (plan if made == plan else made), {old: new for new, old in enumerate(kept)}

    def _linear(self, plan: Filter | Watermark) -> tuple[Plan, Places]:
        child, places = self._narrow(plan.input)
        made = _rebuilt(plan, child, places)
        if isinstance(plan, Watermark):
            timed = places[plan.column]
            fields = tuple(
                replace(f, time="rowtime") if i == timed else f for i, f in enumerate(child.fields)
            )
            made = replace(made, fields=fields, column=timed)  # type: ignore[call-arg]
        return made, places

    def _sort(self, plan: Sort) -> tuple[Plan, Places]:
        kept = sorted(self._wanted(plan)[0])
        places = {old: new for new, old in enumerate(kept)}
        return _rebuilt(plan, self.exact(plan.input, kept), places), places

    def _appending(self, plan: Any) -> tuple[Plan, Places]:
        """Nodes that add columns behind those of their input."""
        kept = sorted(self._wanted(plan)[0])
        width = len(plan.input.fields)
        added = range(width, len(plan.fields))
        places = {old: new for new, old in enumerate([*kept, *added])}
        child = self.exact(plan.input, kept)
        made: Any = _rebuilt(plan, child, places)
        made = replace(made, fields=tuple(plan.fields[i] for i in places))
        if isinstance(plan, WindowTvf):
            made = replace(
                made,
                time_column=places[plan.time_column],
                partition=tuple(places[i] for i in plan.partition),
            )
        return (plan if made == plan else made), places

    def _aggregate(self, plan: Aggregate) -> tuple[Plan, Places]:
        child, places = self._narrow(plan.input)
        calls = _calls(plan, self.needed[id(plan)])
        kept = [*range(len(plan.keys)), *(len(plan.keys) + i for i in calls)]
        made: Any = replace(
            plan,
            input=child,
            fields=tuple(plan.fields[i] for i in kept),
            keys=tuple(moved(k, places) for k in plan.keys),
            calls=tuple(_moved_call(plan.calls[i], places) for i in calls),
        )
        return (plan if made == plan else made), {old: new for new, old in enumerate(kept)}

    def _join(self, plan: Any) -> tuple[Plan, Places]:
        if _is_looked_up(plan):
            return plan.with_inputs((self.exact(plan.left, range(len(plan.left.fields))), plan.right)), _same(
                len(plan.fields)
            )
        width = len(plan.left.fields)
        left, right = (sorted(columns) for columns in self._wanted(plan))
        kept = [*left, *(width + i for i in right)]
        places = {old: new for new, old in enumerate(kept)}
        made: Any = _over(plan, [self.exact(plan.left, left), self.exact(plan.right, right)])
        made = map_rexes(made, lambda rex: moved(rex, places))
        shown = [i for i in kept if i < len(plan.fields)]  # a semi join shows its left columns only
        made = replace(made, fields=tuple(plan.fields[i] for i in shown))
        if isinstance(plan, TemporalJoin):
            made = replace(made, time=places[plan.time])
        return (plan if made == plan else made), {old: places[old] for old in shown}

    def _set_op(self, plan: SetOp) -> tuple[Plan, Places]:
        if plan.kind != "UNION" or not plan.all:
            return self._whole(plan)
        kept = sorted(self.needed[id(plan)])
        inputs = [self.exact(child, kept) for child in plan.inputs]
        made = replace(_over(plan, inputs), fields=tuple(plan.fields[i] for i in kept))
        return (plan if made == plan else made), {old: new for new, old in enumerate(kept)}


def _inputs_first(plans: Sequence[Plan]) -> list[Plan]:
    order: list[Plan] = []
    seen: set[int] = set()

    def visit(plan: Plan) -> None:
        if id(plan) in seen:
            return
        seen.add(id(plan))
        for child in plan.inputs:
            visit(child)
        order.append(plan)

    for plan in plans:
        visit(plan)
    return order


def _is_correlated(rex: Rex) -> bool:
    return any(isinstance(part, SubqueryRex) and has_outer(part.plan) for part in walk(rex))


def _is_looked_up(plan: Plan) -> bool:
    """The right side of a lookup join has to be the table itself."""
    return isinstance(plan, TemporalJoin) and plan.processing


def _calls(plan: Aggregate, needed: set[int]) -> list[int]:
    """The calls that are kept: one at least without keys, or in windows of rows, for there are rows to make."""
    first = len(plan.keys)
    kept = [i for i in range(len(plan.calls)) if first + i in needed]
    return kept or ([0] if plan.calls and (not plan.keys or plan.row_window is not None) else [])


def _moved_call(call: AggCall, places: Places) -> AggCall:
    made = moved(call, places)
    assert isinstance(made, AggCall)
    return made


def _sides(plan: Join | TemporalJoin, needed: set[int]) -> list[set[int]]:
    width = len(plan.left.fields)
    left = {i for i in needed if i < width}
    right = {i - width for i in needed if i >= width}
    if isinstance(plan, TemporalJoin):
        left.add(plan.time)
        right |= {i for i, f in enumerate(plan.right.fields) if f.time == "rowtime"}
    return [left, right]


def _same(width: int) -> Places:
    return {i: i for i in range(width)}


def _over(plan: Plan, inputs: Sequence[Plan]) -> Plan:
    same = all(a is b for a, b in zip(inputs, plan.inputs, strict=True))
    return plan if same else plan.with_inputs(tuple(inputs))


def _rebuilt(plan: Any, child: Plan, places: Places) -> Plan:
    """The node over a narrower input, its expressions moved."""
    if child is plan.inputs[0] and all(old == new for old, new in places.items()):
        return plan
    made = plan.with_inputs((child, *plan.inputs[1:]))
    made = map_rexes(made, lambda rex: moved(rex, places))
    return replace(made, fields=child.fields)


_HANDLERS: dict[type, Callable[[_Pruning, Any], tuple[Plan, Places]]] = {
    Project: _Pruning._project,
    Filter: _Pruning._linear,
    Watermark: _Pruning._linear,
    Sort: _Pruning._sort,
    Over: _Pruning._appending,
    Unnest: _Pruning._appending,
    TableFunctionScan: _Pruning._appending,
    WindowTvf: _Pruning._appending,
    Aggregate: _Pruning._aggregate,
    Join: _Pruning._join,
    TemporalJoin: _Pruning._join,
    SetOp: _Pruning._set_op,
    Correlate: _Pruning._whole,
}
