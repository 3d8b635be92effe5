"""Functions of pairs: interval joins, window joins and co-groups (Java API, in PyFlink's spelling)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from penstock.functions.base import Function

__all__ = ["CoGroupFunction", "FlatJoinFunction", "JoinFunction", "ProcessJoinFunction"]


class ProcessJoinFunction(Function):
    """Handles the pairs that an interval join finds."""

    class Context(ABC):
        """The timestamps of the pair; valid during one call."""

        @abstractmethod
        def get_left_timestamp(self) -> int:
            """Event time of the left element."""

        @abstractmethod
        def get_right_timestamp(self) -> int:
            """Event time of the right element."""

        @abstractmethod
        def get_timestamp(self) -> int:
            """Event time of what is emitted: the later one of the two."""

    @abstractmethod
    def process_element(
        self, left: Any, right: Any, ctx: ProcessJoinFunction.Context
    ) -> Iterable[Any] | None:
        """Called for every pair."""


class JoinFunction(Function):
    """One result for each pair of elements with the same key and window."""

    @abstractmethod
    def join(self, first: Any, second: Any) -> Any:
        """Called for every pair."""


class FlatJoinFunction(Function):
    """Any number of results for each pair of elements with the same key and window."""

    @abstractmethod
    def join(self, first: Any, second: Any) -> Iterable[Any] | None:
        """Called for every pair."""


class CoGroupFunction(Function):
    """Sees all elements of both streams with the same key and window; either side may be empty."""

    @abstractmethod
    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterable[Any] | None:
        """Called for every key and window."""
