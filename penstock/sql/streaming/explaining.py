"""EXPLAIN of a streaming query: every node with its changelog mode and who runs it, and what to beware of."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.sql.plan.algebra import DataFrameScan, Plan
from penstock.sql.streaming.advice import unbounded_state, unstable_updates
from penstock.sql.streaming.linear import Linear, linear_parts
from penstock.sql.streaming.physical import (
    HIDDEN,
    DeltaNode,
    LookupNode,
    PhysicalNode,
    ScanNode,
    Stream,
)
from penstock.sql.streaming.planner import Planner
from penstock.sql.streaming.state_text import state_text

_HIDDEN = "".join(f", {f.name}" for f in HIDDEN)


def explain_query(planner: Planner, stream: Stream, details: tuple[str, ...] = ()) -> str:
    """The physical plan as a tree, results on top."""
    lines = ["== Optimized Execution Plan ==", f"Result(changelogMode=[{_mode(stream)}])"]
    lines += _Tree(Linear(planner.zone)).segment(stream.plan, stream, 3)
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


class _Tree:
    """Lines of the nodes; a node that several others read is shown once."""

    def __init__(self, linear: Linear) -> None:
        self._linear = linear
        self._seen: set[int] = set()

    def segment(self, plan: Plan, stream: Stream, indent: int) -> list[str]:
        """The linear nodes down to the nodes they read, then what makes these."""
        by: dict[int, str] = {}
        for _, steps in linear_parts(plan):
            for step, name in zip(steps, self._linear.run_by(steps), strict=True):
                by.setdefault(id(step), name)
        return self._steps(plan, stream, indent, by)

    def _steps(self, plan: Plan, stream: Stream, indent: int, by: Mapping[int, str]) -> list[str]:
        if isinstance(plan, DataFrameScan):
            return self._node(plan.source, indent)
        text = plan.describe().replace(_HIDDEN, "")
        facts = [by[id(plan)]] if id(plan) in by else []
        lines = [f"{' ' * indent}+- {text} [{', '.join([*facts, f'changelogMode=[{_mode(stream)}]'])}]"]
        for below in plan.inputs:
            lines += self._steps(below, stream, indent + 3, by)
        return lines

    def _node(self, node: PhysicalNode, indent: int) -> list[str]:
        if id(node) in self._seen:
            return [f"{' ' * indent}+- Reused(reference=[{node.label}])"]
        self._seen.add(id(node))
        by = "Python"
        if isinstance(node, ScanNode) and node.connector is not None:
            by = f"connector {node.connector.name}"
        if isinstance(node, LookupNode):
            by = f"connector {node.connector}"
        detail = f", {node.detail}" if node.detail else ""
        facts = f"{by}, parallelism {node.parallelism}{detail}{_changes(node)}"
        lines = [f"{' ' * indent}+- {node.name} [{facts}]"]
        for stream in node.inputs:
            lines += self.segment(stream.plan, stream, indent + 3)
        return lines
