"""Lookup joins: FOR SYSTEM_TIME AS OF processing time, with a table that its connector can ask for keys.

Nothing is remembered between rows, so the join is linear: an operator of its own (`runtime/tables/lookup.py`) between
two linear plans. It appends the table's physical columns and whether a row was found; computed columns of the table,
conditions that an inner join can check behind it and the plan's order of columns follow in the next plan.

    [left columns, keys] --lookup--> [left columns, keys, table columns, $found] --linear--> [left, right]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.common.config_values import parse_duration
from penstock.common.datatypes import DataTypes
from penstock.common.errors import ValidationError
from penstock.connectors.lookup import CachePolicy, Retry
from penstock.connectors.registry import find_connector
from penstock.runtime.tables.lookup import LookupSpec
from penstock.sql.plan.algebra import Field, Filter, Plan, Project, Scan, TemporalJoin, Watermark
from penstock.sql.plan.rex import Call, Const, InputRef, Rex, shift, transform
from penstock.sql.streaming.aggregates import InputColumns
from penstock.sql.streaming.join_conditions import take_apart
from penstock.sql.streaming.joins import all_of
from penstock.sql.streaming.physical import LookupNode, Stream
from penstock.sql.streaming.residual import Residual

if TYPE_CHECKING:
    from penstock.sql.streaming.planner import Planner


_HINTS = (
    "async", "output-mode", "capacity", "timeout", "shuffle",
    "retry-predicate", "retry-strategy", "fixed-delay", "max-attempts",
)  # fmt: skip


def retry_of(hint: Sequence[tuple[str, str]]) -> Retry:
    """What the hint says about retries; asking asynchronously is what batches of keys are instead."""
    options = dict(hint)
    unknown = [key for key in options if key not in _HINTS]
    if unknown:
        raise ValidationError(
            f"the LOOKUP hint has no option '{unknown[0]}'", do=f"known: {', '.join(_HINTS)}"
        )
    if options.get("retry-predicate", "lookup_miss") != "lookup_miss":
        raise ValidationError("the only 'retry-predicate' of the LOOKUP hint is 'lookup_miss'")
    if "retry-predicate" not in options:
        return Retry()
    missing = [key for key in ("retry-strategy", "fixed-delay", "max-attempts") if key not in options]
    if missing:
        raise ValidationError(f"a LOOKUP hint with retries needs '{missing[0]}'")
    delay = parse_duration(options["fixed-delay"]).to_millis()
    return Retry(1 + int(options["max-attempts"]), delay)


def plan_lookup_join(planner: Planner, plan: TemporalJoin) -> Stream:
    """The join, if the right side is a table that can be asked; refused as in Flink if it is not."""
    computed, scan = _table_of(plan.right)
    connector = find_connector(scan.table.options, scan.identifier.as_summary_string())
    left = planner.plan(plan.left)
    parts = take_apart(plan.condition, left.width)
    keys = [computed[r.index] if isinstance(r, InputRef) else r for r in parts.right]
    places = [k.index for k in keys if isinstance(k, InputRef)]
    if not places or len(places) < len(keys):
        raise ValidationError(
            "a lookup join requires an equality condition on columns that the looked up table stores",
            do="compare stored columns of the table in the ON clause",
        )
    source = connector.lookup_source(scan.table, places)
    if source is None:
        raise _unsupported()
    outer = plan.kind == "left"
    columns = InputColumns(left.refs())
    key_columns = tuple(columns.place(r) for r in parts.left)
    wide = columns.of(left)
    rest = [_over_stored(r, computed, left.width, wide.width) for r in parts.rest]
    spec = LookupSpec(
        source,
        CachePolicy.of(connector.values),
        key_columns,
        outer,
        Residual(all_of(rest)) if rest and outer else None,
        retry_of(plan.hints),
    )
    name = f"LookupJoin(table=[{scan.identifier.as_summary_string()}], joinType=[{plan.kind}])"
    found = Field("$found", DataTypes.BOOLEAN(False))
    stored = (replace(f, type=f.type.nullable()) for f in scan.fields)
    node = LookupNode(name, (*wide.fields, *stored, found), (wide,), spec=spec, connector=connector.name)
    joined = replace(planner.add(node), retracts=left.retracts, updated_by=left.updated_by)
    if rest and not outer:
        joined = joined.over(Filter(joined.plan.fields, joined.plan, all_of(rest)))
    return _shown(plan, left, joined, wide.width, computed)


def _unsupported() -> ValidationError:
    return ValidationError(
        "Processing-time temporal join is not supported yet: the right side is no table that can be looked up",
        do="use a table whose connector can be asked by key, or join by row time with a versioned table",
    )


def _table_of(plan: Plan) -> tuple[list[Rex], Scan]:
    """The columns of the right side in terms of what its scan stores."""
    if isinstance(plan, Watermark):
        plan = plan.input
    if isinstance(plan, Project) and isinstance(plan.input, Scan):
        return list(plan.exprs), plan.input
    raise _unsupported()


def _over_stored(rex: Rex, computed: list[Rex], left_width: int, at: int) -> Rex:
    """A condition over (left, right) columns as one over the node's output, which has stored columns `at`."""

    def change(part: Rex) -> Rex | None:
        if isinstance(part, InputRef) and part.index >= left_width:
            return shift(computed[part.index - left_width], at)
        return None

    return transform(rex, change)


def _shown(plan: TemporalJoin, left: Stream, joined: Stream, at: int, computed: list[Rex]) -> Stream:
    """Left columns, then the table's columns, computed ones only for rows that were found."""
    exprs: list[Rex] = [InputRef(f.type, i, f.time) for i, f in enumerate(left.fields)]
    found = InputRef(DataTypes.BOOLEAN(False), joined.width - 1)
    for field_, rex in zip(plan.fields[left.width :], computed, strict=True):
        moved = shift(rex, at)
        if plan.kind == "left" and not isinstance(rex, InputRef):
            null = Const(field_.type.nullable(), None)
            moved = Call(field_.type.nullable(), "CASE", (found, moved, null))
        exprs.append(replace(moved, type=field_.type) if isinstance(moved, InputRef) else moved)
    fields = [*left.fields, *(replace(f, time="") for f in plan.fields[left.width :])]
    return joined.project(fields, exprs)
