"""Ids of vertices as Flink's interfaces have them: 32 hexadecimal digits.

They depend on the operators' uids alone, so they are the same in the next run, whatever the program is called and
however many subtasks it has.
"""

from __future__ import annotations

import xxhash

from penstock.graph.stages import Stage
from penstock.graph.stream_graph import StreamGraph

__all__ = ["vertex_id"]


def vertex_id(graph: StreamGraph, stage: Stage) -> str:
    """Of a stage, which is a vertex of Flink's job graph."""
    uids = "\x00".join(graph.nodes[node].uid for node in stage.nodes)
    return xxhash.xxh3_128_hexdigest(uids.encode())
