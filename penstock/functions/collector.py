"""`Collector` of the Java API: collects what a function emits where the caller wants a list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["Collector"]


class Collector:
    """Gathers elements by `collect`; iterating hands them over.

    Functions here emit by `yield`. A function ported from Java may fill a Collector and return it: it is
    iterable.
    """

    def __init__(self) -> None:
        self._elements: list[Any] = []

    def collect(self, record: Any) -> None:
        """Adds an element."""
        self._elements.append(record)

    def collect_all(self, records: Iterable[Any]) -> None:
        """Adds several elements."""
        self._elements.extend(records)

    def close(self) -> None:
        """Nothing to release; here because Java's has it."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self._elements)

    def __len__(self) -> int:
        return len(self._elements)
