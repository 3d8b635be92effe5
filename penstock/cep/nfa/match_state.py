"""What is remembered for one key between events."""

from __future__ import annotations

from typing import Any, NamedTuple

from penstock.cep.nfa.buffer import SharedBuffer
from penstock.cep.nfa.heap import NOT_STARTED, MatchHeap, PartialMatch
from penstock.cep.nfa.predicates import Questions

_SAVED = 6
"""How many fields of a partial match are saved."""


class Calm(NamedTuple):
    """Which events change nothing for a key: those before a time for which none of some conditions holds."""

    questions: Questions | None
    """None: every event may change something."""
    until_ms: int


class MatchState:
    """Partial matches, finished ones that wait for older partial matches to end, and the buffer they refer to.

    One of the partial matches is the one that has taken nothing yet. What is about the work in hand is not saved:
    whether anything has `changed`, whether a partial match `started`, which events change nothing (`calm`; None: that
    is to be found out), when a timer wakes the key, how many partial matches ran out of time or were skipped.

    It is saved as a whole once per epoch. Every event looks at every partial match of its key, so that is never the
    larger part of the work.
    """

    __slots__ = (
        "buffer",
        "calm",
        "changed",
        "completed",
        "partial",
        "pruned",
        "started",
        "timed_out",
        "wakes_ms",
    )

    def __init__(
        self,
        partial: MatchHeap,
        completed: MatchHeap | None = None,
    ) -> None:
        self.partial = partial
        self.completed = MatchHeap() if completed is None else completed
        self.buffer = SharedBuffer()
        self.changed = False
        self.started = False
        self.timed_out = self.pruned = 0
        self.calm: Calm | None = None
        self.wakes_ms = -1

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
        partial = [match[:_SAVED] for match in self.partial.items]
        completed = [match[:_SAVED] for match in self.completed.items]
        return _restored, (
            partial,
            completed,
            buffer.events,
            buffer.nodes,
            buffer.last_ms,
            buffer.number,
        )


def waiting_at(start_state: str) -> PartialMatch:
    """The partial match that has taken nothing yet."""
    return PartialMatch(start_state, None, (1,), -1, -1, NOT_STARTED)


def _restored(partial: Any, completed: Any, events: Any, nodes: Any, last_ms: int, number: int) -> MatchState:
    state = MatchState(_heap(partial), _heap(completed))
    buffer = state.buffer
    buffer.events, buffer.nodes, buffer.last_ms, buffer.number = events, nodes, last_ms, number
    return state


def _heap(matches: Any) -> MatchHeap:
    return MatchHeap(PartialMatch(*match) for match in matches)
