"""EXPLAIN of a streaming query: every node with its changelog mode and who runs it, and what to beware of."""

from __future__ import annotations

from penstock.sql.plan.algebra import DataFrameScan, Plan
from penstock.sql.streaming.advice import unbounded_state, unstable_updates
from penstock.sql.streaming.physical import (
    HIDDEN,
    DeltaNode,
    LookupNode,
    PhysicalNode,
    ScanNode,
    Stream,
    WatermarkNode,
)
from penstock.sql.streaming.planner import Planner
from penstock.sql.streaming.state_text import state_text

_HIDDEN = "".join(f", {f.name}" for f in HIDDEN)


def explain_query(planner: Planner, stream: Stream, details: tuple[str, ...] = ()) -> str:
    """The physical plan as a tree, results on top."""
    lines = ["== Optimized Execution Plan ==", f"Result(changelogMode=[{_mode(stream)}])"]
    lines += _segment(stream.plan, stream, 3, set())
    if planner.fired:
        lines += ["", "== Rules ==", ", ".join(planner.fired)]
    warnings = _warnings(planner, stream)
    if not warnings and "PLAN_ADVICE" in details:
        warnings = ["No available advice."]
    if warnings:
        lines += ["", "== Advice ==", *warnings]
    return "\n".join(lines)


def _warnings(planner: Planner, stream: Stream) -> list[str]:
    return [*planner.warnings, *unbounded_state(planner.nodes), *unstable_updates(planner.nodes, [stream])]


def _mode(stream: Stream) -> str:
    return "I,UB,UA,D" if stream.retracts else "I"


def _segment(plan: Plan, stream: Stream, indent: int, seen: set[int]) -> list[str]:
    """The linear nodes down to the views they read, then what makes these."""
    if isinstance(plan, DataFrameScan):
        return _node(plan.source, indent, seen)
    text = plan.describe().replace(_HIDDEN, "")
    lines = [f"{' ' * indent}+- {text} [Catalyst, changelogMode=[{_mode(stream)}]]"]
    for below in plan.inputs:
        lines += _segment(below, stream, indent + 3, seen)
    return lines


def _changes(node: PhysicalNode) -> str:
    """What comes out of a stateful operator, kinds of changes and columns that identify a row, and what it keeps."""
    if not isinstance(node, DeltaNode) or node.operator is None:
        return ""
    text = f", changelogMode=[{'I,UB,UA,D' if node.retracts else 'I'}]"
    keys = sorted(sorted(key) for key in node.keys if key)
    if keys:
        names = ", ".join("[" + ", ".join(node.fields[i].name for i in key) + "]" for key in keys)
        text += f", upsertKeys=[{names}]"
    if any(node.operator.retention_ms):
        text += f", stateTtl=[{', '.join(f'{ms} ms' for ms in node.operator.retention_ms)}]"
    state = state_text(node)
    return f"{text}, state=[{state}]" if state else text


def _node(node: PhysicalNode, indent: int, seen: set[int]) -> list[str]:
    if id(node) in seen:
        return [f"{' ' * indent}+- Reused(reference=[{node.uid}])"]
    seen.add(id(node))
    by = "Python" if isinstance(node, (DeltaNode, WatermarkNode)) else "Catalyst"
    if isinstance(node, ScanNode) and node.connector is not None:
        by = f"connector {node.connector.name}"
    if isinstance(node, LookupNode):
        by = f"connector {node.connector}"
    detail = f", {node.detail}" if node.detail else ""
    lines = [f"{' ' * indent}+- {node.name} [{by}, parallelism {node.parallelism}{detail}{_changes(node)}]"]
    for stream in node.inputs:
        lines += _segment(stream.plan, stream, indent + 3, seen)
    return lines
