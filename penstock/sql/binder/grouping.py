"""GROUP BY: grouping sets, and select items over the aggregate's output."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from penstock.common.datatypes import DataTypes
from penstock.sql.binder.context import BindContext
from penstock.sql.binder.tables import time_of
from penstock.sql.functions import FUNCTIONS
from penstock.sql.plan.algebra import Aggregate, Field, Plan
from penstock.sql.plan.plan_rexes import map_outer
from penstock.sql.plan.rex import (
    AggCall,
    Call,
    Const,
    InputRef,
    OuterRef,
    Rex,
    SubqueryRex,
    TimeKind,
    transform,
)
from penstock.sql.user_functions import find_user_function

_GROUPING_CALLS = ("GROUPING", "GROUPING_ID", "GROUP_ID")


@dataclass
class GroupElement:
    """One item of GROUP BY: the trees of each of its grouping sets, and all of them in order."""

    trees: list[Any]
    sets: list[list[int]]


def grouping_elements(group: exp.Group | None) -> list[GroupElement]:
    """Plain expressions are sets of one; ROLLUP, CUBE and GROUPING SETS have several."""
    if group is None:
        return []
    found = [_element(e) for e in group.expressions]
    for kind in ("grouping_sets", "cube", "rollup"):
        found += [_element(e) for e in group.args.get(kind) or [] if isinstance(e, exp.Expr)]
    return found


def _element(node: Any) -> GroupElement:
    if isinstance(node, exp.GroupingSets):
        return _sets([_element_members(e) for e in node.expressions])
    if isinstance(node, exp.Cube):
        members = [_items(e) for e in node.expressions]
        picks = [
            [members[i] for i in pick]
            for n in range(len(members), -1, -1)
            for pick in itertools.combinations(range(len(members)), n)
        ]
        return _sets([[_flat(p)] for p in picks])
    if isinstance(node, exp.Rollup):
        members = [_items(e) for e in node.expressions]
        return _sets([[_flat(members[:n])] for n in range(len(members), -1, -1)])
    if isinstance(node, exp.Tuple):
        return _sets([[list(node.expressions)]])
    return GroupElement([node], [[0]])


def _flat(groups: list[list[Any]]) -> list[Any]:
    return [item for group in groups for item in group]


def _items(node: Any) -> list[Any]:
    if isinstance(node, exp.Tuple):
        return list(node.expressions)
    return [node.this] if isinstance(node, exp.Paren) else [node]


def _element_members(node: Any) -> list[list[Any]]:
    """A member of GROUPING SETS may itself be a ROLLUP or CUBE."""
    if isinstance(node, (exp.Cube, exp.Rollup, exp.GroupingSets)):
        inner = _element(node)
        return [[inner.trees[i] for i in s] for s in inner.sets]
    return [_items(node)]


def _sets(members: list[list[list[Any]]]) -> GroupElement:
    trees: list[Any] = []
    sets: list[list[int]] = []
    for alternatives in members:
        for alternative in alternatives:
            indexes = []
            for tree in alternative:
                if tree not in trees:
                    trees.append(tree)
                indexes.append(trees.index(tree))
            sets.append(indexes)
    return GroupElement(trees, sets)


def combine(elements: list[GroupElement], keys_of: list[list[int]]) -> list[tuple[int, ...]] | None:
    """The cross product of the elements' sets as key positions; None if there is just one set."""
    if all(len(e.sets) == 1 for e in elements):
        return None
    product: list[tuple[int, ...]] = []
    for choice in itertools.product(*(e.sets for e in elements)):
        keys: list[int] = []
        for positions, members in zip(keys_of, choice, strict=True):
            keys += [positions[m] for m in members]
        product.append(tuple(dict.fromkeys(keys)))
    return product


def _use_of(name: str | None, select: exp.Expr, ctx: BindContext) -> exp.Expr | None:
    """Where the select list, HAVING or ORDER BY uses a column that is neither a group's key nor aggregated."""
    keys = [tree for element in grouping_elements(select.args.get("group")) for tree in element.trees]
    parts = [*select.expressions, select.args.get("having"), select.args.get("order")]
    trees = [part for part in parts if part is not None]
    for column in (found for tree in trees for found in tree.find_all(exp.Column)):
        if column.name == name and column not in keys and not _is_aggregated(column, ctx):
            return column
    return next((star for tree in trees for star in tree.find_all(exp.Star)), None)


def _is_aggregated(column: exp.Expr, ctx: BindContext) -> bool:
    """Whether an aggregate function, or its FILTER, is around the column."""
    around = column.parent
    while around is not None and not isinstance(around, exp.Select):
        if isinstance(around, (exp.Filter, exp.AggFunc)):
            return True
        if isinstance(around, exp.Anonymous):
            called = find_user_function(ctx.catalogs, around.name) or FUNCTIONS.get(around.name.upper())
            if called is not None and called.kind == "aggregate":
                return True
        around = around.parent
    return False


class Grouping:
    """The aggregate under construction: keys, calls, and how expressions look above it."""

    def __init__(
        self,
        ctx: BindContext,
        keys: list[Rex],
        sets: list[tuple[int, ...]] | None,
        windows: dict[Rex, Rex] | None = None,
        select: exp.Expr | None = None,
        names: Sequence[str] = (),
    ) -> None:
        """`select` and the `names` of its input's columns are for errors, which name and underline the column."""
        self._ctx = ctx
        self._select, self._names = select, names
        self._keys = keys
        self._sets = sets
        self._calls: list[AggCall] = []
        # Compared one by one, because a subquery has no hash: the options of its tables are a dict.
        self._windows = list((windows or {}).items())

    def rewrite(self, rex: Rex) -> Rex:
        """The expression over the aggregate's output."""
        return transform(rex, self._replace)

    def _replace(self, rex: Rex) -> Rex | None:
        for call, column in self._windows:
            if rex == call:
                return self.rewrite(column)
        if rex in self._keys:
            return self._key(self._keys.index(rex))
        if isinstance(rex, Call) and rex.name in _GROUPING_CALLS:
            return self._grouping_call(rex)
        if isinstance(rex, AggCall):
            if rex.name in _GROUPING_CALLS:
                return self._grouping_call(rex)
            return self._call(rex)
        if isinstance(rex, SubqueryRex):
            plan = map_outer(rex.plan, self._outer)
            left = tuple(self.rewrite(item) for item in rex.left)
            return SubqueryRex(rex.type, rex.kind, plan, left, rex.negated)
        if isinstance(rex, InputRef):
            raise self._not_grouped(rex.index)
        return None

    def _not_grouped(self, index: int) -> Exception:
        """Names the column; the text of a view's columns is not at hand here, so there may be no place to show."""
        name = self._names[index] if index < len(self._names) else None
        return self._ctx.error(
            f"column '{name}' is not being grouped" if name else "an expression is not being grouped",
            None if self._select is None else _use_of(name, self._select, self._ctx),
            do="add the column to GROUP BY or put it into an aggregate function",
        )

    def _key(self, index: int) -> InputRef:
        key = self._keys[index]
        nullable = self._sets is not None and any(index not in s for s in self._sets)
        return InputRef(key.type.nullable() if nullable else key.type, index, self._time(key))

    def _time(self, key: Rex) -> TimeKind:
        return time_of(key)

    def _outer(self, ref: OuterRef) -> Rex:
        inner = self.rewrite(InputRef(ref.type, ref.index, ref.time))
        if not isinstance(inner, InputRef):
            raise self._ctx.error("a subquery uses a column that is not being grouped")
        return OuterRef(inner.type, ref.depth, inner.index, inner.time)

    def _call(self, call: AggCall) -> InputRef:
        if call not in self._calls:
            self._calls.append(call)
        return InputRef(self._result_type(call), len(self._keys) + self._calls.index(call))

    def _result_type(self, call: AggCall) -> Any:
        """Over no rows at all an aggregate is NULL: without keys, every call but COUNT is nullable."""
        empty = not self._keys or (self._sets is not None and () in self._sets) or call.filter is not None
        return call.type.nullable() if empty and call.name not in ("COUNT",) else call.type

    def _grouping_call(self, call: Any) -> InputRef:
        positions = []
        for arg in call.args:
            if arg not in self._keys:
                raise self._ctx.error(f"the argument of {call.name} is not a grouping column")
            positions.append(Const(DataTypes.INT(False), self._keys.index(arg)))
        name = "GROUPING_ID" if call.name == "GROUPING" and len(positions) != 1 else call.name
        return self._call(AggCall(DataTypes.BIGINT(False), name, tuple(positions)))

    def aggregate(self, plan: Plan) -> Aggregate:
        """The finished node; call it after everything was rewritten."""
        fields = []
        for i, key in enumerate(self._keys):
            name = plan.fields[key.index].name if isinstance(key, InputRef) else f"g{i}"
            ref = self._key(i)
            fields.append(Field(name, ref.type, ref.time))
        fields += [Field(f"a{i}", self._result_type(c)) for i, c in enumerate(self._calls)]
        sets = None if self._sets is None else tuple(self._sets)
        return Aggregate(tuple(fields), plan, tuple(self._keys), tuple(self._calls), sets)
