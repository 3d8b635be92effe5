"""What users write to handle matches.

A match is a dict from the names of steps to lists of events; steps that took nothing are not in it. Results are
yielded (or returned as an iterable); `yield tag, value` goes to a side output, as `ctx.output(tag, value)`
does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from penstock.functions.base import Function
from penstock.functions.output_tag import OutputTag

__all__ = [
    "EventComparator",
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternTimeoutFunction",
    "RichPatternFlatSelectFunction",
    "RichPatternSelectFunction",
    "TimedOutPartialMatchHandler",
]

Match = Mapping[str, list[Any]]


class PatternProcessFunction(Function):
    """Handles matches one by one. Also a `TimedOutPartialMatchHandler`: what ran out of time too."""

    class Context(ABC):
        """Valid during one call."""

        @abstractmethod
        def timestamp(self) -> int:
            """Time of the match: of the event that completed it (of a timeout: when the time was over)."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The clock of the epoch, in ms."""

        @abstractmethod
        def output(self, output_tag: OutputTag, value: Any) -> None:
            """Emits to a side output."""

    @abstractmethod
    def process_match(self, match: Match, ctx: PatternProcessFunction.Context) -> Iterable[Any] | None:
        """Called for every match."""


class TimedOutPartialMatchHandler(ABC):
    """Added to a `PatternProcessFunction` that also wants partial matches that ran out of time."""

    @abstractmethod
    def process_timed_out_match(
        self, match: Match, ctx: PatternProcessFunction.Context
    ) -> Iterable[Any] | None:
        """Called for every partial match whose `within` is over; for side outputs, as it is no match."""


class PatternSelectFunction(Function):
    """One result for each match."""

    @abstractmethod
    def select(self, pattern: Match) -> Any:
        """The result."""


class PatternFlatSelectFunction(Function):
    """Any number of results for each match."""

    @abstractmethod
    def flat_select(self, pattern: Match) -> Iterable[Any] | None:
        """The results."""


class PatternTimeoutFunction(Function):
    """One result for each partial match that ran out of time."""

    @abstractmethod
    def timeout(self, pattern: Match, timeout_timestamp: int) -> Any:
        """The result, for the side output."""


class PatternFlatTimeoutFunction(Function):
    """Any number of results for each partial match that ran out of time."""

    @abstractmethod
    def timeout(self, pattern: Match, timeout_timestamp: int) -> Iterable[Any] | None:
        """The results, for the side output."""


class RichPatternSelectFunction(PatternSelectFunction):
    """The same; every function here has `open` and `close`."""


class RichPatternFlatSelectFunction(PatternFlatSelectFunction):
    """The same; every function here has `open` and `close`."""


class EventComparator(ABC):
    """Orders events of the same timestamp; a callable with two arguments will do too."""

    @abstractmethod
    def compare(self, o1: Any, o2: Any) -> int:
        """Negative if `o1` comes first, positive if `o2` does, 0 if they stay as they came."""
