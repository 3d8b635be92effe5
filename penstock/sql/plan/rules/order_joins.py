"""Inner joins of many tables in an order without cross products, whatever the order of FROM.

>>> from penstock.sql.plan.examples import bound, shown
>>> from penstock.sql.plan.rules.push_filters import push_filters
>>> plan = push_filters(bound("SELECT a.s FROM a, b, c WHERE a.x = c.x AND c.y = b.y"))
>>> print(shown(plan))
Calc(select=[s])
   Join(joinType=[inner], where=[x = x AND y = y])
      Join(joinType=[inner])
         a
         b
      c
>>> print(shown(order_joins(plan)))
Calc(select=[s])
   Calc(select=[x, y, s, x, y, s, x, y, s])
      Join(joinType=[inner], where=[y = y])
         Join(joinType=[inner], where=[x = x])
            a
            c
         b

Equalities are transitive: from `a.x = c.x AND b.x = c.x` follows `a.x = b.x`, which is a key, too; and from
`a.x = b.x AND b.x = 3` follows `a.x = 3`, which the next rule brings to the table.

>>> plan = push_filters(bound("SELECT a.s FROM a, b WHERE a.x = b.x AND b.x = 3"))
>>> print(shown(push_filters(order_joins(plan))))
Calc(select=[s])
   Join(joinType=[inner], where=[x = x])
      Filter(where=[x = 3])
         a
      Filter(where=[x = 3])
         b

The order of FROM stays if every table has an equality with those before it: then nothing is gained for certain. A
join with hints, or with a time to live of its own, is left alone. Tables that nothing connects are joined last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from penstock.common.datatypes import DataTypes
from penstock.sql.plan.algebra import Filter, Join, Plan, Project
from penstock.sql.plan.rex import Call, Const, InputRef, Rex, conjuncts, shift
from penstock.sql.plan.rex_facts import (
    all_of,
    columns_of,
    condition_parts,
    equal_columns,
    equal_constant,
    is_movable,
    moved,
)

_BOOLEAN = DataTypes.BOOLEAN()


def order_joins(plan: Plan) -> Plan:
    return _visit(plan)


def _visit(plan: Plan) -> Plan:
    if not _is_free(plan):
        inputs = tuple(_visit(child) for child in plan.inputs)
        same = all(a is b for a, b in zip(inputs, plan.inputs, strict=True))
        return plan if same else plan.with_inputs(inputs)
    assert isinstance(plan, Join)
    cluster = _Cluster.of(plan)
    leaves = [_visit(leaf) for leaf in cluster.leaves]
    changed = any(a is not b for a, b in zip(leaves, cluster.leaves, strict=True))
    if changed:
        plan = _with_leaves(plan, iter(leaves))
        assert isinstance(plan, Join)
        cluster = _Cluster.of(plan)
    return cluster.arranged(plan)


def _is_free(plan: Plan) -> bool:
    return isinstance(plan, Join) and plan.kind == "inner" and not plan.hints and plan.ttl_ms == (None, None)


def _with_leaves(plan: Plan, leaves: Iterator[Plan]) -> Plan:
    if not _is_free(plan):
        return next(leaves)
    return plan.with_inputs(tuple(_with_leaves(child, leaves) for child in plan.inputs))


@dataclass(frozen=True)
class _Tree:
    """A part of the new tree, and which columns of the cluster it has, in order."""

    plan: Plan
    columns: tuple[int, ...]
    leaves: frozenset[int]


@dataclass
class _Cluster:
    """Neighbouring inner joins taken apart. Conditions are over the columns of all leaves in their first order."""

    leaves: list[Plan]
    conditions: list[Rex]
    classes: dict[int, int] = field(default_factory=dict)
    """A representative for each column that some equality mentions."""

    @classmethod
    def of(cls, plan: Join) -> _Cluster:
        leaves: list[Plan] = []
        conditions: list[Rex] = []
        _take_apart(plan, 0, leaves, conditions)
        cluster = cls(leaves, conditions)
        for rex in conditions:
            pair = equal_columns(rex)
            if pair is not None:
                cluster._unite(pair[0].index, pair[1].index)
        return cluster

    def _unite(self, first: int, second: int) -> None:
        old, new = self.classes.get(second, second), self.classes.get(first, first)
        for column in (first, second):
            self.classes.setdefault(column, column)
        for column, root in self.classes.items():
            if root == old:
                self.classes[column] = new

    @property
    def starts(self) -> list[int]:
        return [0, *accumulate(len(leaf.fields) for leaf in self.leaves)]

    def leaf_of(self, column: int) -> int:
        return next(i for i, start in enumerate(self.starts[1:]) if column < start)

    def _ref(self, column: int) -> InputRef:
        leaf = self.leaf_of(column)
        found = self.leaves[leaf].fields[column - self.starts[leaf]]
        return InputRef(found.type, column, found.time)

    # -- what follows ----------------------------------------------------------------------------------

    def constants(self) -> list[Rex]:
        """Equalities with constants that follow for other columns of the same class."""
        known: dict[int, tuple[InputRef, Const]] = {}
        stated: set[int] = set()
        for rex in self._all_conditions():
            pair = equal_constant(rex)
            if pair is not None and pair[0].index in self.classes:
                known.setdefault(self.classes[pair[0].index], pair)
                stated.add(pair[0].index)
        found: list[Rex] = []
        for column, root in sorted(self.classes.items()):
            if root in known and column not in stated:
                found.append(Call(_BOOLEAN, "=", (self._ref(column), known[root][1])))
        return found

    def _all_conditions(self) -> Iterator[Rex]:
        yield from self.conditions
        for leaf, start in zip(self.leaves, self.starts, strict=False):
            yield from (shift(rex, start) for rex in _known(leaf))

    def key(self, left: _Tree, right: _Tree) -> Rex | None:
        """An equality between the trees, stated or derived; None if there is none."""
        ours, theirs = set(left.columns), set(right.columns)
        for rex in self.conditions:
            if isinstance(rex, Call) and rex.name in ("=", "IS NOT DISTINCT FROM"):
                first, second = (columns_of(arg) for arg in rex.args)
                if first and second and (
                    (first <= ours and second <= theirs) or (first <= theirs and second <= ours)
                ):  # fmt: skip
                    return rex
        for column in left.columns:
            for other in right.columns:
                root = self.classes.get(column)
                if root is not None and root == self.classes.get(other):
                    return Call(_BOOLEAN, "=", (self._ref(column), self._ref(other)))
        return None

    # -- the new tree ----------------------------------------------------------------------------------

    def arranged(self, plan: Join) -> Plan:
        if not all(is_movable(rex) for rex in self.conditions):
            return plan
        derived = self.constants()
        if self._is_in_order():
            if not derived:
                return plan
            return Filter(plan.fields, plan, all_of(derived))
        tree = self._joined()
        places = {column: at for at, column in enumerate(tree.columns)}
        refs = tuple(InputRef(f.type, places[i], f.time) for i, f in enumerate(plan.fields))
        ordered = Project(plan.fields, tree.plan, refs)
        return Filter(plan.fields, ordered, all_of(derived)) if derived else ordered

    def _single(self, leaf: int) -> _Tree:
        columns = tuple(range(self.starts[leaf], self.starts[leaf + 1]))
        return _Tree(self.leaves[leaf], columns, frozenset({leaf}))

    def _is_in_order(self) -> bool:
        """Whether each leaf has a stated equality with one of those before it, so that no order is better."""
        so_far = self._single(0)
        for leaf in range(1, len(self.leaves)):
            right = self._single(leaf)
            found = self.key(so_far, right)
            if found is None or found not in self.conditions:
                return (
                    False
                    if self._connects_later(so_far, leaf) or found is not None
                    else self._rest_is_alone(leaf)
                )
            so_far = _Tree(so_far.plan, (*so_far.columns, *right.columns), so_far.leaves | {leaf})
        return True

    def _connects_later(self, so_far: _Tree, leaf: int) -> bool:
        return any(self.key(so_far, self._single(i)) is not None for i in range(leaf + 1, len(self.leaves)))

    def _rest_is_alone(self, leaf: int) -> bool:
        """Nothing connects what remains, neither with the tables before it nor with each other."""
        rest = [self._single(i) for i in range(leaf, len(self.leaves))]
        return not any(self.key(a, b) is not None for i, a in enumerate(rest) for b in rest[i + 1 :])

    def _joined(self) -> _Tree:
        """Connected tables first, then the groups with each other."""
        groups: list[_Tree] = []
        remaining = list(range(len(self.leaves)))
        pending = list(self.conditions)
        while remaining:
            tree = self._single(remaining.pop(0))
            while True:
                following = next((i for i in remaining if self.key(tree, self._single(i)) is not None), None)
                if following is None:
                    break
                remaining.remove(following)
                tree = self._join(tree, self._single(following), pending)
            groups.append(tree)
        whole = groups[0]
        for group in groups[1:]:
            whole = self._join(whole, group, pending)
        return whole

    def _join(self, left: _Tree, right: _Tree, pending: list[Rex]) -> _Tree:
        columns = (*left.columns, *right.columns)
        due = [rex for rex in pending if columns_of(rex) <= set(columns)]
        key = self.key(left, right)
        if key is not None and key not in due:
            due.append(key)
        pending[:] = [rex for rex in pending if rex not in due]
        places = {column: at for at, column in enumerate(columns)}
        condition = all_of([moved(rex, places) for rex in due]) if due else None
        fields = (*left.plan.fields, *right.plan.fields)
        return _Tree(
            Join(fields, left.plan, right.plan, "inner", condition), columns, left.leaves | right.leaves
        )


def _known(plan: Plan) -> list[Rex]:
    """Conditions that the filters below have checked already."""
    if isinstance(plan, Filter):
        return [*conjuncts(plan.condition), *_known(plan.input)]
    if not isinstance(plan, Project):
        return []
    places = {rex.index: at for at, rex in enumerate(plan.exprs) if isinstance(rex, InputRef)}
    return [moved(rex, places) for rex in _known(plan.input) if columns_of(rex) <= places.keys()]


def _take_apart(plan: Plan, start: int, leaves: list[Plan], conditions: list[Rex]) -> None:
    if not _is_free(plan):
        leaves.append(plan)
        return
    assert isinstance(plan, Join)
    _take_apart(plan.left, start, leaves, conditions)
    _take_apart(plan.right, start + len(plan.left.fields), leaves, conditions)
    conditions.extend(shift(rex, start) for rex in condition_parts(plan.condition))
