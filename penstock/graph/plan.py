"""The execution plan as JSON, in the shape of Flink's plan visualizer."""

from __future__ import annotations

import json
from typing import Any

from penstock.graph.stream_graph import StreamGraph, StreamNode


def plan_json(graph: StreamGraph) -> str:
    """One entry per operator, with its predecessors and how elements are shipped from them."""
    return json.dumps({"nodes": [_node(graph, node) for node in graph.nodes]}, indent=2)


def display_name(node: StreamNode) -> str:
    """Sources and sinks carry a prefix, unless the name has it already."""
    prefix = "Source: " if node.is_source else "Sink: " if node.is_sink else ""
    return node.name if node.name.startswith(prefix) else prefix + node.name


def _node(graph: StreamGraph, node: StreamNode) -> dict[str, Any]:
    kind = "Data Source" if node.is_source else "Data Sink" if node.is_sink else "Operator"
    entry: dict[str, Any] = {
        "id": node.id + 1,
        "type": display_name(node),
        "pact": kind,
        "contents": node.transformation.description or display_name(node),
        "parallelism": node.parallelism,
    }
    predecessors = [
        {"id": edge.source + 1, "ship_strategy": edge.partitioner.kind.value, "side": "second"}
        for edge in graph.inputs_of(node.id)
    ]
    if predecessors:
        entry["predecessors"] = predecessors
    return entry
