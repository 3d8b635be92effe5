"""The operators of a compiled plan: how they are written down, what may be edited, whether a plan still fits.

    {"id": 3, "uid": "aggregate-6f0c21b59e3a", "type": "Aggregate", "parallelism": null,
     "state": [{"index": 0, "ttl": "0 ms", "name": "groupAggregateState"}], "outputType": "ROW<…>", …}

`uid`, `parallelism` and `ttl` may be edited. A parallelism of null is that of the configuration when the plan runs; 1
and "input" say that the operator can only run as one task, or where its input is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from penstock.common.config_values import parse_duration
from penstock.common.errors import ValidationError
from penstock.sql.plan.algebra import DataFrameScan, Fields, InsertInto, Plan, walk_plan
from penstock.sql.streaming.multi_joins import MULTI_JOIN
from penstock.sql.streaming.physical import (
    DeltaNode,
    LookupNode,
    OperatorEdit,
    PhysicalNode,
    ScanNode,
    Stream,
    WatermarkNode,
)
from penstock.sql.streaming.planner import Planner

_STATE_NAMES = {
    "Aggregate": ("groupAggregateState",),
    "Join": ("leftState", "rightState"),
    "Deduplicate": ("deduplicateState",),
    "Rank": ("rankState",),
    "OverAggregate": ("overAggregateState",),
    "ChangelogNormalize": ("changelogNormalizeState",),
    "SinkMaterializer": ("sinkMaterializeState",),
}
AS_INPUT = "input"
"""The parallelism of operators that work where their rows are."""


def operators_json(
    planner: Planner, streams: Sequence[Stream], sinks: Sequence[InsertInto], uids: Sequence[str]
) -> list[dict[str, Any]]:
    """All operators, inputs before their users, sinks last."""
    ids = {id(node): i + 1 for i, node in enumerate(planner.nodes)}
    found = [_operator(node, ids) for node in planner.nodes]
    for stream, sink, uid in zip(streams, sinks, uids, strict=True):
        found.append(
            {
                "id": len(found) + 1,
                "uid": uid,
                "type": "Sink",
                "description": sink.describe(),
                "parallelism": None,
                "inputs": _inputs(stream.plan, ids),
                "outputType": _type_text(sink.fields),
            }
        )
    return found


def _operator(node: PhysicalNode, ids: dict[int, int]) -> dict[str, Any]:
    kind = _kind(node)
    found: dict[str, Any] = {
        "id": ids[id(node)],
        "uid": node.uid,
        "type": kind,
        "description": ", ".join(filter(None, [node.name, node.detail])),
        "parallelism": _parallelism(node),
        "inputs": [i for stream in node.inputs for i in _inputs(stream.plan, ids)],
        "outputType": _type_text(node.fields),
    }
    kept = node.operator.retention_ms if isinstance(node, DeltaNode) and node.operator is not None else ()
    names = _STATE_NAMES.get(kind, ())
    if kept:
        found["state"] = [
            {"index": i, "ttl": f"{ms} ms", "name": names[i] if i < len(names) else f"state{i}"}
            for i, ms in enumerate(kept)
        ]
    return found


def _kind(node: PhysicalNode) -> str:
    return node.name.split("(")[0]


def _parallelism(node: PhysicalNode) -> int | str | None:
    if isinstance(node, (WatermarkNode, LookupNode)):
        return AS_INPUT
    return None if isinstance(node, ScanNode) or (isinstance(node, DeltaNode) and node.is_keyed) else 1


def _inputs(plan: Plan, ids: dict[int, int]) -> list[int]:
    return [ids[id(leaf.source)] for leaf in walk_plan(plan) if isinstance(leaf, DataFrameScan)]


def _type_text(fields: Fields) -> str:
    return "ROW<" + ", ".join(f"`{f.name}` {f.type.as_summary()}" for f in fields) + ">"


# -- edits -------------------------------------------------------------------------------------------------


def edits_of(operators: Sequence[dict[str, Any]]) -> dict[int, OperatorEdit]:
    """What the stored operators ask for, by position; sinks are left out."""
    return {i: _edit(item) for i, item in enumerate(operators) if item["type"] != "Sink"}


def _edit(item: dict[str, Any]) -> OperatorEdit:
    ttl = tuple(parse_duration(str(state["ttl"])).to_millis() for state in item.get("state", ()))
    wanted = None if item.get("parallelism") == AS_INPUT else item.get("parallelism")
    if wanted is not None and (not isinstance(wanted, int) or isinstance(wanted, bool) or wanted < 1):
        raise ValidationError(
            f"the parallelism of {_title(item)} is {wanted!r}", do="use a number from 1, or null"
        )
    return OperatorEdit(_uid(item), wanted, ttl)


def _uid(item: dict[str, Any]) -> str:
    uid = item.get("uid")
    if not isinstance(uid, str) or not uid:
        raise ValidationError(f"{_title(item)} has no uid", do="give it a text that no other operator has")
    return uid


def check_uids(operators: Sequence[dict[str, Any]]) -> None:
    """Refuses two operators of one uid: their state could not be told apart."""
    seen: dict[str, dict[str, Any]] = {}
    for item in operators:
        other = seen.setdefault(_uid(item), item)
        if other is not item:
            raise ValidationError(f"{_title(other)} and {_title(item)} have the same uid {item['uid']!r}")


def _title(item: dict[str, Any]) -> str:
    return f"operator {item.get('id')} ({item.get('type')}) of the compiled plan"


# -- does it fit -------------------------------------------------------------------------------------------


def check_fit(stored: Sequence[dict[str, Any]], made: Sequence[dict[str, Any]]) -> None:
    """Refuses a plan whose operators are others than those that would run now.

    Args:
        stored: As the plan has them.
        made: As they were planned now, with the plan's edits.
    """
    differences = list(_differences(stored, made))
    if differences:
        raise ValidationError(
            "the compiled plan does not fit: " + "; ".join(differences[:3]),
            do="compile it again: this version, configuration or catalog plans the pipeline otherwise,\n"
            "and state belongs to operators. Only uid, parallelism and ttl may be edited",
        )


def _differences(stored: Sequence[dict[str, Any]], made: Sequence[dict[str, Any]]) -> Iterator[str]:
    if len(stored) != len(made):
        yield f"it has {len(stored)} operators and {len(made)} would run"
    for old, new in zip(stored, made, strict=False):
        for key in ("id", "type", "inputs", "outputType"):
            if old.get(key) != new.get(key):
                yield f"{key} of operator {new['id']} is {old.get(key)!r} in the plan and {new.get(key)!r} here"
        yield from _state_differences(old, new)
        fixed, wanted = new["parallelism"], old.get("parallelism")
        if fixed is not None and wanted not in (fixed, None):
            yield f"the parallelism of {_title(old)} is {wanted!r}, and it can only be {fixed!r}"


def _state_differences(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    before, now = old.get("state", []), new.get("state", [])
    if [s.get("name") for s in before] != [s["name"] for s in now]:
        yield f"the state of operator {new['id']} is not the same"
        return
    for wanted, got in zip(before, now, strict=True):
        if parse_duration(str(wanted["ttl"])).to_millis() != parse_duration(got["ttl"]).to_millis():
            yield f"{_title(old)} cannot keep {wanted['name']} for {wanted['ttl']}{_other_way(old)}"


def _other_way(item: dict[str, Any]) -> str:
    return f" (set '{MULTI_JOIN}' to 'false' before it is compiled)" if item["type"] == "MultiJoin" else ""
