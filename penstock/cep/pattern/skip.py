"""After-match skip strategies: which other matches go away when a match is found.

    events                 a1  a2  b1  b2        pattern a+ followed by b; the match a1 a2 b1 was found
    no_skip                every match stays
    skip_to_next           matches that began with a1 go
    skip_past_last_event   matches that began with a1 … b1 go
    skip_to_first("b")     matches that began before b1 go
    skip_to_last("a")      matches that began before a2 go

A strategy looks at event ids only, pairs of time and number (`nfa/buffer.py`), so it knows nothing of the automaton.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from penstock.common.errors import CepRuntimeError, TypeMismatchError

__all__ = ["AfterMatchSkipStrategy", "SkipToElementStrategy"]

EventId = tuple[int, int]
"""Time of an event and its number among those of the same time."""

Match = Mapping[str, Sequence[EventId]]


class AfterMatchSkipStrategy(ABC):
    """Given to `Pattern.begin`; made by its static methods."""

    is_skip_strategy = True
    """False only for `no_skip`: then matches leave at once, else only when no older partial match lives."""

    pattern_name: str | None = None
    """The step that is skipped to, if any."""

    @staticmethod
    def no_skip() -> AfterMatchSkipStrategy:
        """Every possible match is given. The default."""
        return _NoSkip()

    @staticmethod
    def skip_to_next() -> AfterMatchSkipStrategy:
        """Drops what began with the same event as the match."""
        return _SkipToNext()

    @staticmethod
    def skip_past_last_event() -> AfterMatchSkipStrategy:
        """Drops what began before the match ended."""
        return _SkipPastLast()

    @staticmethod
    def skip_to_first(pattern_name: str) -> SkipToElementStrategy:
        """Drops what began before the first event that the match took for a step."""
        return SkipToElementStrategy(pattern_name, 0)

    @staticmethod
    def skip_to_last(pattern_name: str) -> SkipToElementStrategy:
        """Drops what began before the last event that the match took for a step."""
        return SkipToElementStrategy(pattern_name, -1)

    @abstractmethod
    def pruning_id(self, matches: Iterable[Match]) -> EventId | None:
        """The event up to which beginnings are dropped; None: nothing is."""

    @abstractmethod
    def should_prune(self, start: EventId, pruning_id: EventId) -> bool:
        """Whether a match that began at `start` goes."""


class _NoSkip(AfterMatchSkipStrategy):
    is_skip_strategy = False

    def pruning_id(self, matches: Iterable[Match]) -> EventId | None:
        return None

    def should_prune(self, start: EventId, pruning_id: EventId) -> bool:
        return False


class _SkipRelativeToMatch(AfterMatchSkipStrategy):
    """The pruning event itself cannot begin a match either."""

    def should_prune(self, start: EventId, pruning_id: EventId) -> bool:
        return start <= pruning_id


class _SkipToNext(_SkipRelativeToMatch):
    def pruning_id(self, matches: Iterable[Match]) -> EventId | None:
        return min((events[0] for match in matches for events in match.values()), default=None)


class _SkipPastLast(_SkipRelativeToMatch):
    def pruning_id(self, matches: Iterable[Match]) -> EventId | None:
        return max((events[-1] for match in matches for events in match.values()), default=None)


class SkipToElementStrategy(AfterMatchSkipStrategy):
    """Skips to the first or last event of a step.

    A match without an event for that step skips nothing, unless `throw_exception_on_miss` was asked for; then that
    fails the job, and so does skipping to the event that the match begins with, which would find it again forever.
    """

    def __init__(self, pattern_name: str, index: int, throws: bool = False) -> None:
        if not isinstance(pattern_name, str):
            raise TypeMismatchError(f"expected the name of a step, got {pattern_name!r}")
        self.pattern_name = pattern_name
        self.throws = throws
        self._index = index

    def throw_exception_on_miss(self) -> SkipToElementStrategy:
        """The same strategy, which fails where it cannot skip."""
        return SkipToElementStrategy(self.pattern_name or "", self._index, throws=True)

    def should_prune(self, start: EventId, pruning_id: EventId) -> bool:
        return start < pruning_id

    def pruning_id(self, matches: Iterable[Match]) -> EventId | None:
        found: EventId | None = None
        for match in matches:
            events = match.get(self.pattern_name or "")
            if events:
                found = events[self._index] if found is None else max(found, events[self._index])
            elif self.throws:
                raise CepRuntimeError(
                    f"Could not skip to {self.pattern_name}. No such element in the found match {_shown(match)}",
                    do="let the step match always, or leave out throw_exception_on_miss()",
                )
            if self.throws and found == min(event for events in match.values() for event in events):
                raise CepRuntimeError(
                    "Could not skip to first element of a match.",
                    do="skip to a step that cannot be the first of a match",
                )
        return found


def _shown(match: Match) -> str:
    steps = (
        f"{step}=[{', '.join(f'EventId{{id={number}, timestamp={time}}}' for time, number in events)}]"
        for step, events in match.items()
    )
    return "{" + ", ".join(steps) + "}"
