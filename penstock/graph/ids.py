"""Ids of vertices and operators as Flink's interfaces have them: 32 hexadecimal digits.

They depend on the operators' uids alone, so they are the same in the next run, whatever the program is called and
however many subtasks it has.
"""

from __future__ import annotations

import re

import xxhash

from penstock.graph.stages import Stage
from penstock.graph.stream_graph import StreamGraph

__all__ = ["operator_id", "vertex_id"]

_ID = re.compile(r"[0-9a-f]{32}")


def operator_id(uid: str) -> str:
    """Of an operator; a uid that is such an id, since nobody gave one or `set_uid_hash` did, stays as it is.

    >>> operator_id("counts")
    '0b968af6a23ba5e852cf82957260a649'
    >>> operator_id(operator_id("counts")) == operator_id("counts")
    True
    """
    return uid if _ID.fullmatch(uid) else xxhash.xxh3_128_hexdigest(uid.encode())


def vertex_id(graph: StreamGraph, stage: Stage) -> str:
    """Of a stage, which is a vertex of Flink's job graph."""
    uids = "\x00".join(graph.nodes[node].uid for node in stage.nodes)
    return xxhash.xxh3_128_hexdigest(uids.encode())
