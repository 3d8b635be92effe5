"""The shared buffer: events that partial matches have taken, each stored once, and how they hang together.

    event a1 ◀── node (a1, "a") ◀─1.0─ node (b2, "b") ◀─1.0.0─ partial match 1.0.0.0
                        ▲────────1.1── node (b3, "b") ◀─1.1.0─ partial match 1.1.0.0

A *node* is an event in the role of a step. Its *edges* lead back to the node before, with the version of the partial
match that made them. A partial match knows its last node; following the edges whose versions fit its own gives the
events it has taken, and nothing of other matches that share nodes.

Nodes, edges and events count who needs them. A partial match that ends releases its path, and what nobody needs any
more is gone: the buffer never holds more than the live partial matches (and matches that wait) refer to.
"""

from __future__ import annotations

from typing import Any

from penstock.cep.nfa.dewey import Version, compatible
from penstock.cep.nfa.heap import EventId, NodeId
from penstock.common.errors import InvariantError

Path = dict[str, list[EventId]]
"""Events by step, steps in the order in which they were first taken."""

# A node is [locks, edges], an edge is [locks, node before or None, version], an event is [locks, value]: plain lists,
# because they are made and saved by the million. These are the places in them.
_LOCKS, _EDGES, _BEFORE, _VERSION, _VALUE = 0, 1, 1, 2, 1


class SharedBuffer:
    """The buffer of one key: events, nodes, and how many events there were at a time (for their numbers)."""

    __slots__ = ("counts", "events", "nodes")

    def __init__(self, events: Any = None, nodes: Any = None, counts: Any = None) -> None:
        self.events: dict[EventId, list[Any]] = events or {}
        self.nodes: dict[NodeId, list[Any]] = nodes or {}
        self.counts: dict[int, int] = counts or {}

    def __bool__(self) -> bool:
        return bool(self.events)

    # -- events ---------------------------------------------------------------------------------------------

    def register_event(self, value: Any, time_ms: int) -> EventId:
        """Stores an event; it stays until `release_event`, and as long as nodes need it."""
        number = self.counts.get(time_ms, 0)
        if not number:  # events come in the order of time: the count of an earlier one is not asked for again
            self.counts = {time: count for time, count in self.counts.items() if time > time_ms}
        self.counts[time_ms] = number + 1
        event = (time_ms, number)
        self.events[event] = [1, value]
        return event

    def release_event(self, event: EventId) -> None:
        """One need less."""
        stored = self.events.get(event)
        if stored is not None and _release(stored):
            del self.events[event]

    # -- nodes ----------------------------------------------------------------------------------------------

    def put(self, step: str, event: EventId, before: NodeId | None, version: Version) -> NodeId:
        """The node of an event in the role of a step, with one more edge to the node before it."""
        if before is not None:
            self.lock_node(before, version)
        node_id = (event, step)
        node = self.nodes.get(node_id)
        if node is None:
            node = self.nodes[node_id] = [0, []]
            self.events[event][_LOCKS] += 1
        node[_EDGES].append([0, before, version])
        return node_id

    def lock_node(self, node_id: NodeId, version: Version) -> None:
        """A partial match needs the node, and those of its edges that fit its version."""
        node = self.nodes.get(node_id)
        if node is None:
            return
        node[_LOCKS] += 1
        for edge in node[_EDGES]:
            if compatible(version, edge[_VERSION]):
                edge[_LOCKS] += 1

    def release_node(self, node_id: NodeId, version: Version) -> None:
        """A partial match does not need its path any more; what nobody else needs goes, back to its beginning."""
        pending = [(node_id, version)]
        while pending:
            current, current_version = pending.pop()
            node = self.nodes.get(current)
            if node is None:
                return
            kept = []
            for edge in node[_EDGES]:
                if compatible(current_version, edge[_VERSION]) and _release(edge):
                    if edge[_BEFORE] is not None:
                        pending.append((edge[_BEFORE], edge[_VERSION]))
                else:
                    kept.append(edge)
            node[_EDGES] = kept
            if _release(node):
                del self.nodes[current]
                self.release_event(current[0])

    # -- reading --------------------------------------------------------------------------------------------

    def paths(self, node_id: NodeId, version: Version) -> list[Path]:
        """The events on all paths from a node back to a beginning that fit a version; one, as a rule."""
        if node_id not in self.nodes:
            return []
        found: list[Path] = []
        pending: list[tuple[NodeId | None, Version, list[NodeId]]] = [(node_id, version, [])]
        while pending:
            current, current_version, behind = pending.pop()
            if current is None:
                found.append(_by_step(behind))
                continue
            behind.append(current)
            fitting = [
                edge for edge in self.nodes[current][_EDGES] if compatible(current_version, edge[_VERSION])
            ]
            for number, (_, before, edge_version) in enumerate(fitting):
                # The last one pushed is followed first; the first may go on with the list itself.
                pending.append((before, edge_version, behind.copy() if number else behind))
        return found

    def path(self, node_id: NodeId, version: Version) -> Path:
        """The events of one partial match."""
        paths = self.paths(node_id, version)
        if len(paths) > 1:
            raise InvariantError(f"a partial match of version {version} has {len(paths)} paths")
        return paths[0] if paths else {}

    def materialize(self, path: Path) -> dict[str, list[Any]]:
        """The events themselves, by step."""
        events = self.events
        return {step: [events[event][_VALUE] for event in taken] for step, taken in path.items()}


def _release(counted: list[Any]) -> bool:
    """Whether nobody needs it any more."""
    if counted[_LOCKS] <= 0:
        return True
    counted[_LOCKS] -= 1
    return bool(counted[_LOCKS] == 0)


def _by_step(backwards: list[NodeId]) -> Path:
    path: Path = {}
    for event, step in reversed(backwards):
        path.setdefault(step, []).append(event)
    return path
