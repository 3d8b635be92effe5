"""EXPLAIN of a streaming query: every node with its changelog mode and who runs it."""

from __future__ import annotations

from penstock.sql.algebra import DataFrameScan, Plan
from penstock.sql.streaming.physical import (
    DeltaNode,
    LookupNode,
    PhysicalNode,
    ScanNode,
    Stream,
    WatermarkNode,
)
from penstock.sql.streaming.planner import Planner


def explain_query(planner: Planner, stream: Stream, details: tuple[str, ...] = ()) -> str:
    """The physical plan as a tree, results on top."""
    lines = ["== Optimized Execution Plan ==", f"Result(changelogMode=[{_mode(stream)}])"]
    return "\n".join([*lines, *_segment(stream.plan, stream, 3)])


def _mode(stream: Stream) -> str:
    return "I,UB,UA,D" if stream.retracts else "I"


def _segment(plan: Plan, stream: Stream, indent: int) -> list[str]:
    """The linear nodes down to the views they read, then what makes these."""
    if isinstance(plan, DataFrameScan):
        made_by = next(n for n in stream.nodes if n.view in plan.relation)
        return _node(made_by, indent)
    lines = [f"{' ' * indent}+- {plan.describe()} [Catalyst, changelogMode=[{_mode(stream)}]]"]
    for below in plan.inputs:
        lines += _segment(below, stream, indent + 3)
    return lines


def _node(node: PhysicalNode, indent: int) -> list[str]:
    by = "Python" if isinstance(node, (DeltaNode, WatermarkNode)) else "Catalyst"
    if isinstance(node, ScanNode) and node.connector is not None:
        by = f"connector {node.connector.name}"
    if isinstance(node, LookupNode):
        by = f"connector {node.connector}"
    lines = [f"{' ' * indent}+- {node.name} [{by}, parallelism {node.parallelism}]"]
    for stream in node.inputs:
        lines += _segment(stream.plan, stream, indent + 3)
    return lines
