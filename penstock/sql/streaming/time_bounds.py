"""Finds the condition of an interval join: bounds on the distance of the two row times.

l.ts BETWEEN r.ts - INTERVAL '1' HOUR AND r.ts     ->     -3600000 <= l.ts - r.ts <= 0
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.common.datatypes import DataTypes, DayTimeIntervalType
from penstock.sql.plan.algebra import Join
from penstock.sql.plan.rex import Call, Const, InputRef, Rex, conjuncts
from penstock.sql.streaming.physical import Stream


@dataclass(frozen=True)
class TimeBounds:
    """`lower_ms <= left time - right time <= upper_ms`, and the rest of the condition.

    The times are columns of each side; None for processing time.
    """

    left_time: int | None
    right_time: int | None
    lower_ms: int
    upper_ms: int
    rest: Rex | None


_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def find_bounds(left: Stream, right: Stream, plan: Join) -> TimeBounds | None:
    if plan.condition is None or plan.kind in ("semi", "anti"):
        return None
    if not any(f.time for f in left.fields) or not any(f.time for f in right.fields):
        return None
    lower: list[int] = []
    upper: list[int] = []
    rest: list[Rex] = []
    used: set[tuple[int, int]] = set()
    for item in conjuncts(plan.condition):
        comparisons = _comparisons(item)
        found = [_distance(c, left, right) for c in comparisons]
        if not comparisons or None in found:
            rest.append(item)
            continue
        for bound in found:
            assert bound is not None
            operator, distance, columns = bound
            used.add(columns)
            if operator in (">", ">=", "="):
                lower.append(distance + (operator == ">"))
            if operator in ("<", "<=", "="):
                upper.append(distance - (operator == "<"))
    if not lower or not upper or len(used) != 1:
        return None
    left_time, right_time = next(iter(used))
    kinds = {left.fields[left_time].time, right.fields[right_time].time}
    if len(kinds) > 1:
        return None
    condition = (
        None if not rest else rest[0] if len(rest) == 1 else Call(DataTypes.BOOLEAN(), "AND", tuple(rest))
    )
    if kinds == {"proctime"}:
        return TimeBounds(None, None, max(lower), min(upper), condition)
    return TimeBounds(left_time, right_time, max(lower), min(upper), condition)


def _comparisons(item: Rex) -> list[tuple[str, Rex, Rex]]:
    if not isinstance(item, Call):
        return []
    if item.name == "BETWEEN":
        value, low, high = item.args
        return [(">=", value, low), ("<=", value, high)]
    if item.name in _FLIPPED:
        return [(item.name, item.args[0], item.args[1])]
    return []


def _distance(
    comparison: tuple[str, Rex, Rex], left: Stream, right: Stream
) -> tuple[str, int, tuple[int, int]] | None:
    """(operator, d, columns) with the meaning left time - right time `operator` d."""
    operator, first, second = comparison
    a, b = _moment(first, left, right), _moment(second, left, right)
    if a is None or b is None:
        return None
    if a[0] >= left.width:
        a, b, operator = b, a, _FLIPPED[operator]
    if a[0] >= left.width or b[0] < left.width:
        return None
    return operator, b[1] - a[1], (a[0], b[0] - left.width)


def _moment(rex: Rex, left: Stream, right: Stream) -> tuple[int, int] | None:
    """A time attribute with a constant distance: (column of the join, milliseconds)."""
    if isinstance(rex, InputRef):
        side, index = (left, rex.index) if rex.index < left.width else (right, rex.index - left.width)
        return (rex.index, 0) if side.fields[index].time else None
    if isinstance(rex, Call) and rex.name in ("+", "-") and len(rex.args) == 2:
        base, step = rex.args
        if isinstance(base, Const) and rex.name == "+":
            base, step = step, base
        found = _moment(base, left, right)
        if found is None or not isinstance(step, Const) or not isinstance(step.type, DayTimeIntervalType):
            return None
        return found[0], found[1] + (step.value if rex.name == "+" else -step.value)
    if isinstance(rex, Call) and rex.name == "CAST":
        return _moment(rex.args[0], left, right)
    return None
