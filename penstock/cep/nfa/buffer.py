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
from penstock.common.ids import MIN_TIMESTAMP

Hop = tuple[NodeId, int]
"""A node, and the number of the automaton's edge that took its event."""

Path = list[Hop]
"""What a partial match has taken, in the order of events."""

# A node is [locks, edges], an edge is [locks, node before or None, version, number of the automaton's edge], an event
# is [locks, value]: plain lists, because they are made and saved by the million. These are the places in them. The
# edges of a node are lists by the first digit of their versions, which is another one for each beginning: hundreds of
# partial matches may share a node, and none of them looks at the edges of matches that began elsewhere.
_LOCKS, _EDGES, _BEFORE, _VERSION, _VALUE = 0, 1, 1, 2, 1


class SharedBuffer:
    """The buffer of one key: events, nodes, and the time of the last event and how many there were at that time."""

    __slots__ = ("events", "last_ms", "nodes", "number")

    def __init__(self) -> None:
        self.events: dict[EventId, list[Any]] = {}
        self.nodes: dict[NodeId, list[Any]] = {}
        self.last_ms = MIN_TIMESTAMP
        self.number = 0

    def __bool__(self) -> bool:
        return bool(self.events)

    # -- events ---------------------------------------------------------------------------------------------

    def register_event(self, value: Any, time_ms: int) -> EventId:
        """Stores an event; it stays until `release_event`, and as long as nodes need it."""
        if time_ms > self.last_ms:
            self.last_ms, self.number = time_ms, 0
        elif time_ms < self.last_ms:  # a clock that was set back
            self.last_ms = time_ms
            self.number = 1 + max((number for time, number in self.events if time == time_ms), default=-1)
        event = (time_ms, self.number)
        self.number += 1
        self.events[event] = [1, value]
        return event

    def release_event(self, event: EventId) -> None:
        """One need less."""
        stored = self.events.get(event)
        if stored is not None and _release(stored):
            del self.events[event]

    # -- nodes ----------------------------------------------------------------------------------------------

    def put(
        self, step: str, event: EventId, before: NodeId | None, version: Version, edge_number: int
    ) -> NodeId:
        """The node of an event in the role of a step, with one more edge to the node before it."""
        if before is not None:
            self.lock_node(before, version)
        node_id = (event, step)
        node = self.nodes.get(node_id)
        if node is None:
            node = self.nodes[node_id] = [0, {}]
            self.events[event][_LOCKS] += 1
        _add_edge(node, [0, before, version, edge_number])
        return node_id

    def lock_node(self, node_id: NodeId, version: Version) -> None:
        """A partial match needs the node, and those of its edges that fit its version."""
        node = self.nodes.get(node_id)
        if node is None:
            return
        node[_LOCKS] += 1
        for edge in node[_EDGES].get(version[0], ()):
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
            for edge in node[_EDGES].pop(current_version[0], ()):
                if compatible(current_version, edge[_VERSION]) and _release(edge):
                    if edge[_BEFORE] is not None:
                        pending.append((edge[_BEFORE], edge[_VERSION]))
                else:
                    kept.append(edge)
            if kept:
                node[_EDGES][current_version[0]] = kept
            if _release(node):
                del self.nodes[current]
                self.release_event(current[0])

    def move(
        self, step: str, event: EventId, before: NodeId, version: Version, edge_number: int
    ) -> tuple[NodeId, Version]:
        """What `put`, a lock of the new node and a release of the node before it come to for a partial match that
        takes an event and does not branch; the new node, and the version of the partial match there."""
        node_id, behind = (event, step), (*version, 0)
        node = self.nodes.get(node_id)
        if node is None:
            self.nodes[node_id] = [1, {version[0]: [[1, before, version, edge_number]]}]
            self.events[event][_LOCKS] += 1
        else:
            _add_edge(node, [0, before, version, edge_number])
            self.lock_node(node_id, behind)
        return node_id, behind

    # -- reading --------------------------------------------------------------------------------------------

    def paths(self, node_id: NodeId, version: Version) -> list[Path]:
        """All paths from a beginning to a node that fit a version; one, as a rule."""
        if node_id not in self.nodes:
            return []
        found: list[Path] = []
        pending: list[tuple[NodeId | None, Version, Path]] = [(node_id, version, [])]
        while pending:
            current, current_version, behind = pending.pop()
            if current is None:
                behind.reverse()
                found.append(behind)
                continue
            of_beginning = self.nodes[current][_EDGES].get(current_version[0], ())
            edges = [edge for edge in of_beginning if compatible(current_version, edge[_VERSION])]
            others = behind.copy() if len(edges) > 1 else behind
            for place, (_, before, edge_version, number) in enumerate(edges):
                # The last one pushed is followed first; the first may go on with the list itself.
                mine = others.copy() if place else behind
                mine.append((current, number))
                pending.append((before, edge_version, mine))
        return found

    def path(self, node_id: NodeId, version: Version) -> Path:
        """What one partial match has taken."""
        paths = self.paths(node_id, version)
        if len(paths) > 1:
            raise InvariantError(f"a partial match of version {version} has {len(paths)} paths")
        return paths[0] if paths else []

    def values(self, path: Path) -> list[Any]:
        """The events of a path themselves."""
        events = self.events
        return [events[event][_VALUE] for (event, _), _ in path]

    def by_step(self, path: Path) -> dict[str, list[Any]]:
        """The events of a path, by step, steps in the order in which they were first taken."""
        return _grouped(path, self.values(path))


def ids_by_step(path: Path) -> dict[str, list[EventId]]:
    """The ids of a path's events, by step, steps in the order in which they were first taken."""
    return _grouped(path, [event for (event, _), _ in path])


def _grouped(path: Path, items: list[Any]) -> dict[str, list[Any]]:
    grouped: dict[str, list[Any]] = {}
    for ((_, step), _), item in zip(path, items, strict=True):
        if step in grouped:
            grouped[step].append(item)
        else:
            grouped[step] = [item]
    return grouped


def _add_edge(node: list[Any], edge: list[Any]) -> None:
    digit = edge[_VERSION][0]
    if digit in node[_EDGES]:
        node[_EDGES][digit].append(edge)
    else:
        node[_EDGES][digit] = [edge]


def _release(counted: list[Any]) -> bool:
    """Whether nobody needs it any more."""
    if counted[_LOCKS] <= 0:
        return True
    counted[_LOCKS] -= 1
    return bool(counted[_LOCKS] == 0)
