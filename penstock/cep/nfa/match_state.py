"""What is remembered for one key between events."""

from __future__ import annotations

from typing import Any

from penstock.cep.nfa.buffer import SharedBuffer
from penstock.cep.nfa.heap import NOT_STARTED, MatchHeap, PartialMatch


class MatchState:
    """Partial matches, finished ones that wait for older partial matches to end, and the buffer they refer to.

    One of the partial matches is the one that has taken nothing yet. `changed` and `started` are about the work in
    hand and not saved: whether anything is different, and whether a partial match began.

    It is saved as a whole once per epoch. Every event looks at every partial match of its key, so that is never the
    larger part of the work.
    """

    __slots__ = ("buffer", "changed", "completed", "partial", "started")

    def __init__(
        self,
        partial: MatchHeap,
        completed: MatchHeap | None = None,
        buffer: SharedBuffer | None = None,
    ) -> None:
        self.partial = partial
        self.completed = MatchHeap() if completed is None else completed
        self.buffer = SharedBuffer() if buffer is None else buffer
        self.changed = False
        self.started = False

    @property
    def is_idle(self) -> bool:
        """Whether no partial match has begun and none that is finished waits."""
        return not self.begun and not self.completed.items

    @property
    def begun(self) -> int:
        """How many partial matches have taken an event."""
        items = self.partial.items
        if len(items) == 1:  # the usual case, on the hot path
            return int(items[0].start != NOT_STARTED)
        return sum(match.start != NOT_STARTED for match in items)

    def __reduce__(self) -> tuple[Any, ...]:
        buffer = self.buffer
        saved = (
            [tuple(match) for match in self.partial],
            [tuple(match) for match in self.completed],
            buffer.events,
            buffer.nodes,
            buffer.counts,
        )
        return _restored, saved


def waiting_at(start_state: str) -> PartialMatch:
    """The partial match that has taken nothing yet."""
    return PartialMatch(start_state, None, (1,), -1, -1, NOT_STARTED)


def _restored(partial: Any, completed: Any, events: Any, nodes: Any, counts: Any) -> MatchState:
    return MatchState(_heap(partial), _heap(completed), SharedBuffer(events, nodes, counts))


def _heap(matches: Any) -> MatchHeap:
    return MatchHeap(PartialMatch(*match) for match in matches)
