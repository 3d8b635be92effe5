"""CASE, IF, COALESCE, NULLIF, GREATEST and LEAST: every branch is brought to the common type.

Branches and conditions that may fail are evaluated only for the rows that reach them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import BooleanType, DataType, DoubleType, FloatType, NullType
from penstock.sql.arrow.casts import cast_node
from penstock.sql.arrow.compare import comparison
from penstock.sql.arrow.compiler import Compiler, NoArrowForm, register, type_of
from penstock.sql.arrow.logic import boolean
from penstock.sql.arrow.nodes import Batch, Node, apply, merged
from penstock.sql.arrow.values import Datum, array
from penstock.sql.plan.rex import Call, Rex


def branch(rex: Rex, target: DataType, compiler: Compiler) -> Node:
    """A branch in the common type."""
    if isinstance(target, NullType):
        raise NoArrowForm("branches that are all NULL")
    return cast_node(compiler.node(rex), rex.type, target, compiler)


@dataclass(frozen=True, eq=False)
class Choice(Node):
    """CASE: the value of the first condition that is true, else the last value."""

    conditions: tuple[Node, ...]
    values: tuple[Node, ...]

    def evaluate(self, batch: Batch) -> Datum:
        if self.may_fail:
            return self._by_parts(batch)
        found = self.values[-1].evaluate(batch)
        for condition, value in reversed(list(zip(self.conditions, self.values, strict=False))):
            test = array(condition.evaluate(batch), batch.rows).fill_null(False)
            found = pc.if_else(test, value.evaluate(batch), found)
        return found

    def _by_parts(self, batch: Batch) -> Datum:
        """Each condition sees the rows that no earlier one took, each value those that chose it."""
        rows: Any = np.arange(batch.rows)
        parts: list[tuple[Any, Datum]] = []
        for condition, value in zip((*self.conditions, None), self.values, strict=True):
            here = batch if len(rows) == batch.rows else batch.take(rows)
            if not len(rows):
                break
            chosen = np.ones(len(rows), bool)
            if condition is not None:
                chosen = np.asarray(array(condition.evaluate(here), len(rows)).fill_null(False))
            if chosen.any():
                part = here if chosen.all() else here.take(np.flatnonzero(chosen))
                parts.append((rows[chosen], value.evaluate(part)))
            rows = rows[~chosen]
        return merged(parts, batch.rows)


def choice(conditions: list[Node], values: list[Node]) -> Node:
    may_fail = any(node.may_fail for node in (*conditions, *values))
    return Choice(values[0].type, may_fail, tuple(conditions), tuple(values))


def build_case(call: Call, compiler: Compiler) -> Node:
    """CASE (c1, v1, c2, v2, …, else)."""
    conditions = [boolean(c, compiler) for c in call.args[:-1:2]]
    values = [branch(v, call.type, compiler) for v in (*call.args[1:-1:2], call.args[-1])]
    return choice(conditions, values)


def build_if(call: Call, compiler: Compiler) -> Node:
    condition, *values = call.args
    return choice([boolean(condition, compiler)], [branch(v, call.type, compiler) for v in values])


# --- COALESCE and NULLIF --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FirstKnown(Node):
    """COALESCE of parts that may fail."""

    first: Node
    second: Node

    def evaluate(self, batch: Batch) -> Datum:
        first = array(self.first.evaluate(batch), batch.rows)
        if not first.null_count:
            return first
        missing = np.asarray(first.is_null())
        rows, rest = np.flatnonzero(missing), np.flatnonzero(~missing)
        second = self.second.evaluate(batch.take(rows))
        return merged([(rows, second), (rest, first.take(pa.array(rest)))], batch.rows)


def first_known(nodes: list[Node]) -> Node:
    found = nodes[0]
    for node in nodes[1:]:
        if node.may_fail:
            found = FirstKnown(found.type, True, found, node)
        else:
            found = apply(pc.coalesce, found.type, found, node)
    return found


def build_coalesce(call: Call, compiler: Compiler) -> Node:
    return first_known([branch(arg, call.type, compiler) for arg in call.args])


def build_nullif(call: Call, compiler: Compiler) -> Node:
    """NULL where both are equal, else the first."""
    first, second = call.args
    if isinstance(call.type, NullType):
        raise NoArrowForm("NULLIF of NULL")
    same = comparison("=", first, second, compiler)
    return apply(_unless, type_of(call), same, compiler.node(first))


def _unless(same: Datum, value: Datum) -> pa.Array:
    """
    >>> _unless(pa.array([True, None]), pa.array([1, 2])).to_pylist()
    [None, 2]
    """
    return pc.if_else(pc.fill_null(same, False), pa.scalar(None, value.type), value)


# --- GREATEST and LEAST ---------------------------------------------------------------------------------


def build_extreme(call: Call, compiler: Compiler) -> Node:
    """NULL if one argument is; of equal ones the first, and NaN is the greatest number."""
    nodes = [branch(arg, call.type, compiler) for arg in call.args]
    kind, greatest = type_of(call), call.name == "GREATEST"
    if len(nodes) == 1:
        return nodes[0]
    if any(isinstance(arg.type, NullType) for arg in call.args):
        raise NoArrowForm(f"{call.name} with a bare NULL")
    if isinstance(call.type, (FloatType, DoubleType)):
        return apply(partial(_extreme_double, greatest), kind, *nodes)
    if isinstance(call.type, BooleanType):
        return apply(partial(_extreme_boolean, greatest), kind, *nodes)
    return apply(partial(_extreme, greatest), kind, *nodes)


def _extreme(greatest: bool, *data: Datum) -> pa.Array:
    kernel = pc.max_element_wise if greatest else pc.min_element_wise
    return kernel(*data, skip_nulls=False)


def _extreme_boolean(greatest: bool, *data: Datum) -> pa.Array:
    found = data[0]
    for datum in data[1:]:
        found = (pc.or_ if greatest else pc.and_)(found, datum)
    return found


def _extreme_double(greatest: bool, *data: Datum) -> pa.Array:
    found = data[0]
    for datum in data[1:]:
        low, high = (found, datum) if greatest else (datum, found)
        larger = pc.or_(pc.less(low, high), pc.and_(pc.is_nan(high), pc.invert(pc.is_nan(low))))
        found = pc.if_else(larger, datum, found)
    return found


register("CASE", build_case)
register("IF", build_if)
for _name in ("COALESCE", "IFNULL"):
    register(_name, build_coalesce)
register("NULLIF", build_nullif)
for _name in ("GREATEST", "LEAST"):
    register(_name, build_extreme)
