"""Partial and finished matches, ordered by the event they began with.

Several matches often begin with the same event, and a binary heap has its own idea of their order. It can be
seen from outside: matches that end together leave in it, timeouts are given in the order of the array, and a
skip strategy spares what comes first. So this heap moves its items exactly as `java.util.PriorityQueue` does,
of which Flink's order is a consequence; Python's `heapq` sifts in another way and breaks ties otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from penstock.cep.nfa.dewey import Version
from penstock.cep.nfa.taken import Taking

EventId = tuple[int, int]
"""Time of an event and its number among those of the same time; see `buffer.py`."""

NodeId = tuple[EventId, str]
"""An event in the role of a step."""

NOT_STARTED: EventId = (2**63 - 1, 2**31 - 1)
"""The start of a match that has taken nothing yet: behind all others."""


class PartialMatch(NamedTuple):
    """A path through the automaton: where it stands, and the last node that it has put into the buffer."""

    state: str
    node: NodeId | None
    version: Version
    start_ms: int
    previous_ms: int
    start: EventId
    taking: Taking | None = None
    """What it has taken, where conditions ask for it; not saved."""


class MatchHeap:
    """A min-heap by `start`. `items` is its array, in which order it is iterated and saved."""

    __slots__ = ("items",)

    def __init__(self, items: Iterable[PartialMatch] = ()) -> None:
        """`items` must be in the order of a heap's array, such as the one of another heap."""
        self.items = list(items)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[PartialMatch]:
        return iter(self.items)

    def peek(self) -> PartialMatch | None:
        return self.items[0] if self.items else None

    def add(self, match: PartialMatch) -> None:
        items = self.items
        place = len(items)
        items.append(match)
        start = match.start
        while place:
            parent = (place - 1) >> 1
            if start >= items[parent].start:
                break
            items[place] = items[parent]
            place = parent
        items[place] = match

    def add_all(self, matches: Iterable[PartialMatch]) -> None:
        for match in matches:
            self.add(match)

    def poll(self) -> PartialMatch:
        """Takes the first one out."""
        items = self.items
        first, last = items[0], items.pop()
        if items:
            self._sift_down(0, last)
        return first

    def remove_if(self, goes: Callable[[PartialMatch], bool]) -> list[PartialMatch]:
        """Takes out all for which `goes`, in the order of the array, and gives them."""
        gone = [match for match in self.items if goes(match)]
        if gone:
            self.items = [match for match in self.items if not goes(match)]
            for place in range(len(self.items) // 2 - 1, -1, -1):
                self._sift_down(place, self.items[place])
        return gone

    def _sift_down(self, place: int, match: PartialMatch) -> None:
        items = self.items
        count, start = len(items), match.start
        half = count >> 1
        while place < half:
            child = 2 * place + 1
            if child + 1 < count and items[child].start > items[child + 1].start:
                child += 1
            if start <= items[child].start:
                break
            items[place] = items[child]
            place = child
        items[place] = match
