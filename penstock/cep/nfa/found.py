"""What comes out of the automaton: matches, and partial matches that ran out of time.

A match can say why it is one: which event took which edge of the automaton.

    for taken in match.why():
        print(taken)                    # small ─▶ large: ('ann', 0.5) at 1000, because <lambda>
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from penstock.cep.nfa.buffer import Path
from penstock.cep.nfa.choices import Edge
from penstock.cep.pattern.conditions import condition_text


class TakenEdge(NamedTuple):
    """One event of a match, and the edge of the automaton by which it was taken.

    `source` and `target` are states as `Pattern.to_dot()` names them; a step with a quantifier has several.
    """

    event: Any
    timestamp: int
    step: str
    source: str
    target: str
    condition: str

    def __str__(self) -> str:
        return f"{self.source} ─▶ {self.target}: {self.event!r} at {self.timestamp}, because {self.condition}"


class FoundMatch(dict[str, list[Any]]):
    """The events of a match by step, steps in the order of their first events.

    A dict in all respects; where it is sent to other subtasks or stored it is a plain one, which can say no more.
    """

    __slots__ = ("_edges", "_path", "_values")

    def __init__(self, path: Path, values: Sequence[Any], edges: Sequence[Edge]) -> None:
        super().__init__()
        self._path, self._values, self._edges = path, values, edges
        for ((_, step), _), value in zip(path, values, strict=True):
            if step in self:
                self[step].append(value)
            else:
                self[step] = [value]

    def why(self) -> list[TakenEdge]:
        """Which event took which edge, in the order of events."""
        hops = zip(self._path, self._values, strict=True)
        return [
            _taken(value, time_ms, self._edges[number])
            for (((time_ms, _), step), number), value in hops
            if number < len(self._edges)
            and self._edges[number].source.step == step  # else the pattern was changed
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def _taken(event: Any, time_ms: int, edge: Edge) -> TakenEdge:
    source, target, condition = edge.source, edge.target, edge.transition.condition
    return TakenEdge(event, time_ms, source.step, source.name, target.name, condition_text(condition))


class TimedOut(NamedTuple):
    """A partial match that did not end in time, and when its time was over."""

    match: FoundMatch
    time_ms: int
