"""EXPLAIN of a streaming query: every node with its changelog mode and who runs it."""

from __future__ import annotations

from penstock.sql.streaming.physical import DeltaNode, PhysicalNode, ScanNode, Stream, WatermarkNode
from penstock.sql.streaming.planner import Planner


def explain_query(planner: Planner, stream: Stream, details: tuple[str, ...] = ()) -> str:
    lines = ["== Optimized Execution Plan =="]
    lines.append(_line("Result", stream, 0))
    for node in dict.fromkeys(stream.nodes):
        lines += _tree(node, 3)
    return "\n".join(lines)


def _line(name: str, stream: Stream, indent: int) -> str:
    mode = "I,UB,UA,D" if stream.retracts else "I"
    return f"{' ' * indent}{name}(changelogMode=[{mode}], Catalyst runs what is linear)"


def _tree(node: PhysicalNode, indent: int) -> list[str]:
    by = "Python" if isinstance(node, (DeltaNode, WatermarkNode)) else "connector"
    if isinstance(node, ScanNode) and node.connector is not None:
        by = f"connector {node.connector.name}"
    lines = [f"{' ' * indent}+- {node.name} [{by}, parallelism {node.parallelism}]"]
    for stream in node.inputs:
        lines.append(_line("+- Segment", stream, indent + 3))
        for below in dict.fromkeys(stream.nodes):
            lines += _tree(below, indent + 6)
    return lines
