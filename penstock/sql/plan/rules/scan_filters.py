"""Tells scans which of their rows the query can do without.

>>> from penstock.sql.plan.examples import bound, shown
>>> plan = bound("SELECT s FROM d WHERE x > 1 AND UPPER(s) = 'X'")
>>> print(shown(plan))
Calc(select=[s])
   Filter(where=[x > 1 AND UPPER(s) = 'X'])
      d
>>> print(shown(scan_filters(plan)))
Calc(select=[s])
   Filter(where=[x > 1 AND UPPER(s) = 'X'])
      d(filter=[x > 1])

The filter stays where it is: a connector may use what it gets, or not (`catalog/conditions.py`). Conditions come
down through projections that only move columns and to the sides of joins that they cannot bring rows back to. They
stop above everything else; above a watermark too, because rows that are not read would not move event time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.catalog.conditions import COMPARISONS, NULL_TESTS, Clause, Condition
from penstock.common.datatypes import (
    BigIntType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntType,
    SmallIntType,
    TimestampType,
    TinyIntType,
    VarCharType,
)
from penstock.connectors.registry import known_connector
from penstock.sql.plan.algebra import Filter, Join, Plan, Project, Scan, transform_plan, walk_plan
from penstock.sql.plan.rex import Call, Const, InputRef, Rex, conjuncts, transform, walk

_SWAPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NUMBERS = (TinyIntType, SmallIntType, IntType, BigIntType, DecimalType, DoubleType)
_TEXTS = (CharType, VarCharType)


def scan_filters(plan: Plan) -> Plan:
    return _push(plan, [])


def agreed_scan_filters(plans: Sequence[Plan]) -> list[Plan]:
    """The same for the queries of one job: a table that several of them read is read once, so they must agree."""
    told = [scan_filters(plan) for plan in plans]
    wishes: dict[str, list[Scan]] = {}
    for node in (node for plan in told for node in walk_plan(plan)):
        if isinstance(node, Scan):
            wishes.setdefault(node.identifier.as_summary_string(), []).append(node)
    split = {
        name
        for name, scans in wishes.items()
        if any(s.table.filters != scans[0].table.filters for s in scans)
    }

    def whole(plan: Plan) -> Plan:
        if not isinstance(plan, Scan) or plan.identifier.as_summary_string() not in split:
            return plan
        return replace(plan, table=replace(plan.table, filters=())) if plan.table.filters else plan

    return [transform_plan(plan, whole) for plan in told] if split else told


def _push(plan: Plan, wanted: Sequence[Rex]) -> Plan:
    """The plan, of whose rows only those are looked at for which all of `wanted` are true."""
    if isinstance(plan, Scan):
        return _scan(plan, wanted)
    below: list[Sequence[Rex]]
    if isinstance(plan, Filter):
        below = [[*wanted, *conjuncts(plan.condition)]]
    elif isinstance(plan, Project):
        below = [[moved for rex in wanted if (moved := _before(plan, rex)) is not None]]
    elif isinstance(plan, Join):
        below = _sides(plan, wanted)
    else:
        below = [[] for _ in plan.inputs]
    inputs = tuple(_push(child, rexes) for child, rexes in zip(plan.inputs, below, strict=True))
    same = all(a is b for a, b in zip(inputs, plan.inputs, strict=True))
    return plan if same else plan.with_inputs(inputs)


def _before(project: Project, rex: Rex) -> Rex | None:
    """The condition over the projection's input, if it is about columns that are only handed on."""
    refs = [part.index for part in walk(rex) if isinstance(part, InputRef)]
    if not all(isinstance(project.exprs[i], InputRef) for i in refs):
        return None
    return transform(rex, lambda part: project.exprs[part.index] if isinstance(part, InputRef) else None)


def _sides(join: Join, wanted: Sequence[Rex]) -> list[Sequence[Rex]]:
    """A side that the join fills up with NULLs keeps all its rows, or others would be filled up."""
    width = len(join.left.fields)
    both = [*wanted]
    if join.kind == "inner" and join.condition is not None:
        both += conjuncts(join.condition)
    left: list[Rex] = []
    right: list[Rex] = []
    for rex in both:
        places = {part.index for part in walk(rex) if isinstance(part, InputRef)}
        if places and max(places) < width and join.kind in ("inner", "left", "semi", "anti"):
            left.append(rex)
        elif places and min(places) >= width and join.kind in ("inner", "right"):
            right.append(transform(rex, lambda part: _shifted(part, width)))
    return [left, right]


def _shifted(part: Rex, width: int) -> Rex | None:
    return replace(part, index=part.index - width) if isinstance(part, InputRef) else None


def _scan(scan: Scan, wanted: Sequence[Rex]) -> Plan:
    connector = known_connector(scan.table.options.get("connector", ""))
    if connector is None or not connector.uses_filters:
        return scan
    found = tuple(clause for rex in wanted if (clause := _clause(scan, rex)) is not None)
    return replace(scan, table=replace(scan.table, filters=found)) if found else scan


def _clause(scan: Scan, rex: Rex) -> Clause | None:
    parts = rex.args if isinstance(rex, Call) and rex.name == "OR" else (rex,)
    conditions = [_condition(scan, part) for part in parts]
    known = tuple(condition for condition in conditions if condition is not None)
    return known if len(known) == len(conditions) else None


def _condition(scan: Scan, rex: Rex) -> Condition | None:
    if not isinstance(rex, Call):
        return None
    if rex.name in NULL_TESTS and isinstance(rex.args[0], InputRef):
        name = _stored(scan, rex.args[0])
        return None if name is None else Condition(name, rex.name)
    if rex.name not in COMPARISONS or len(rex.args) != 2:
        return None
    (left, right), operator = rex.args, rex.name
    if isinstance(left, Const):
        left, right, operator = right, left, _SWAPPED[operator]
    if not isinstance(left, InputRef) or not isinstance(right, Const):
        return None
    name = _stored(scan, left)
    if name is None or not _comparable(left.type, right, operator):
        return None
    return Condition(name, operator, right.value)


def _stored(scan: Scan, ref: InputRef) -> str | None:
    """The name of the column, if it is a physical one: those come first."""
    names = scan.table.physical_schema.names
    return names[ref.index] if ref.index < len(names) else None


def _comparable(data_type: DataType, const: Const, operator: str) -> bool:
    """Whether every system compares them as Flink does; texts have collations, so for them only `=` is certain."""
    if isinstance(data_type, _NUMBERS):
        return isinstance(const.type, _NUMBERS) and const.value is not None
    if isinstance(data_type, _TEXTS):
        return isinstance(const.value, str) and operator == "="
    if isinstance(data_type, BooleanType):
        return isinstance(const.value, bool) and operator == "="
    if isinstance(data_type, (DateType, TimestampType)):
        return type(const.type) is type(data_type) and const.value is not None
    return False
