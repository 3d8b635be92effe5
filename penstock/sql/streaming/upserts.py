"""Upserts become a changelog: per key the last row is kept, so that a change can name the row it replaces.

A filter over such a table is done *before* the row is kept, as in Flink: a row that does not pass is, for its key,
the same as no row. So state holds only rows that pass, and a row that begins to pass is an insertion:

    upserts   +I ann x, +U ann y                 all       +I ann x, -U ann x, +U ann y
    WHERE team = 'y'    -D ann, +U ann y    ->   filtered  +I ann y
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from penstock.common.datatypes import BooleanType
from penstock.connectors.registry import find_connector
from penstock.delta.base import DELETE, UPDATE_BEFORE
from penstock.delta.changelog_normalize import ChangelogNormalize
from penstock.sql.plan.algebra import Filter, Plan, Project, Scan, StreamScan
from penstock.sql.plan.plan_rexes import contains_subquery, unstable_call
from penstock.sql.plan.rex import Call, Const, InputRef, Rex, UdfCall, walk
from penstock.sql.plan.rex_text import rex_text
from penstock.sql.streaming.physical import HIDDEN, Stream, hidden_refs

if TYPE_CHECKING:
    from penstock.sql.streaming.planner import Planner

_BOOLEAN = BooleanType()


def filtered_upserts(planner: Planner, plan: Filter) -> Stream | None:
    """The filter and the table below it, if that is one of upserts that nobody else reads."""
    table = plan.input
    if planner.readers[id(table)] > 1 or not _gives_upserts(planner, table) or not _is_plain(plan.condition):
        return None
    planner.conditions[id(table)] = plan.condition
    return planner.plan(table)


def _gives_upserts(planner: Planner, table: Plan) -> bool:
    if isinstance(table, StreamScan):
        return table.stream.changelog and table.stream.upserts
    if not isinstance(table, Scan):
        return False
    connector = find_connector(table.table.options, table.identifier.as_summary_string())
    changes = connector.changelog_mode(table.table) != "insert-only"
    return changes and (connector.emits_upserts or planner.may_repeat)


def _is_plain(condition: Rex) -> bool:
    """Whether it says the same of a row whenever it is asked."""
    if contains_subquery(condition):
        return False
    parts = walk(condition)
    return not any(isinstance(p, UdfCall) or unstable_call(p) or _is_watermark(p) for p in parts)


def _is_watermark(part: Rex) -> bool:
    return isinstance(part, Call) and part.name == "CURRENT_WATERMARK"


def normalized(planner: Planner, table: Plan, stream: Stream, key: Iterable[int]) -> Stream:
    """Changes that name the row they replace, made of changes that only say what a key's row is now."""
    condition = planner.conditions.get(id(table))
    operator = ChangelogNormalize(
        sorted(key), state_ttl_ms=planner.state_ttl_ms, each_change=planner.each_change
    )
    names = [f.name for f in stream.fields]
    return planner.delta(
        "ChangelogNormalize",
        operator,
        [stream if condition is None else _deleting(stream, condition)],
        stream.fields,
        detail="" if condition is None else f"filter=[{rex_text(condition, names)}]",
        retracts=True,
        keys=stream.keys,
        updated_by="ChangelogNormalize",
    )


def _deleting(stream: Stream, condition: Rex) -> Stream:
    """Rows that do not fulfil the condition as deletions of their key's row."""
    kind, *others = hidden_refs(stream.width)
    assert isinstance(kind, InputRef)
    stays = [_is(kind, UPDATE_BEFORE), _is(kind, DELETE), condition]
    chosen = Call(kind.type, "CASE", (Call(_BOOLEAN, "OR", tuple(stays)), kind, Const(kind.type, DELETE)))
    plan = Project((*stream.fields, *HIDDEN), stream.plan, (*stream.refs(), chosen, *others))
    return stream.over(plan)


def _is(kind: InputRef, value: int) -> Rex:
    return Call(_BOOLEAN, "=", (kind, Const(kind.type, value)))
