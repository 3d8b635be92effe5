"""What a partial match has taken, for conditions that ask: known without a walk through the buffer.

    b3 ──▶ b2 ──▶ b1            of step "b", for one partial match
            ▲
    b4 ─────┘                   for another one, which shares what they have in common

A partial match that takes an event adds one link, whatever it has taken before. The last events, the first one and
aggregates are at hand; a list of all is made for who asks. None of it is saved: after a restore it is made anew from
the buffer.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

_SCALARS = frozenset((int, float, bool, str, type(None)))


class Taken:
    """The last event that a partial match has taken for a step, and those before it."""

    __slots__ = ("_results", "before", "count", "first", "value")

    def __init__(self, value: Any, before: Taken | None = None) -> None:
        self.value = value
        self.before = before
        self.count: int = 1 if before is None else before.count + 1
        self.first: Any = value if before is None else before.first
        self._results: dict[Any, Any] | None = None

    def back(self, steps: int) -> Taken | None:
        """The link so many steps before this one, if there is one."""
        link: Taken | None = self
        while steps and link is not None:
            link, steps = link.before, steps - 1
        return link

    def events(self) -> list[Any]:
        """All events, in order."""
        found = []
        link: Taken | None = self
        while link is not None:
            found.append(link.value)
            link = link.before
        found.reverse()
        return found

    def folded(self, key: Any, create: Callable[[], Any], add: Callable[[Any, Any], Any]) -> Any:
        """An accumulator that has taken all events in order; kept, so that the next event costs one more `add`.

        Whoever changes it takes a copy (`unshared`).
        """
        todo = []
        link: Taken | None = self
        while link is not None and (link._results is None or key not in link._results):
            todo.append(link)
            link = link.before
        result = create() if link is None or link._results is None else link._results[key]
        for link in reversed(todo):
            result = add(unshared(result), link.value)
            if link._results is None:
                link._results = {}
            link._results[key] = result
        return result


Taking = Mapping[str, Taken]
"""By step."""

NOTHING: Taking = {}


def with_event(taking: Taking, step: str, value: Any) -> Taking:
    """What a partial match has taken after one more event."""
    return {**taking, step: Taken(value, taking.get(step))}


def unshared(accumulator: Any) -> Any:
    """An accumulator that may be changed."""
    kind = type(accumulator)
    if kind in _SCALARS:
        return accumulator
    if kind is list and _SCALARS.issuperset(map(type, accumulator)):
        return accumulator.copy()
    return copy.deepcopy(accumulator)
