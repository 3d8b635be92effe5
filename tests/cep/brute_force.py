"""Patterns matched the slow and obvious way: try every choice of events.

A *choice* gives each step a list of positions. It is a match if the events fulfil the conditions, if what was passed
over may be passed over, and if the step took as many events as its quantifier asks. Contiguity between two taken
positions is a rule about the events that lie between them:

    strict          there are none
    relaxed         none of them fulfils the condition of the step that takes the later one
    any             no rule

This is a model for single steps and steps with a number of events, in patterns without skip strategy, groups, NOT
steps and greed; `skipped` adds the skip strategies on top of the matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

STRICT, RELAXED, ANY = "strict", "relaxed", "any"


@dataclass(frozen=True)
class Step:
    """A step: the letters it accepts, how it follows, from how many to how many events, and how these follow."""

    name: str
    letters: str
    contiguity: str = STRICT
    minimum: int = 1
    maximum: int = 1
    inner: str = RELAXED
    optional: bool = False

    def fits(self, event: str) -> bool:
        return event in self.letters


Match = dict[str, list[int]]


def matches(steps: Sequence[Step], events: str) -> list[Match]:
    """All matches, each once, by positions; in the order of their last event."""
    found: list[Match] = []
    for start in range(len(events)):
        for match in _from(steps, events, [], start):
            if match and match not in found:
                found.append(match)
    return found


def _from(steps: Sequence[Step], events: str, taken: list[tuple[str, int]], start: int) -> Iterator[Match]:
    if not steps:
        yield _by_step(taken)
        return
    step, rest = steps[0], steps[1:]
    if step.optional:
        yield from _from(rest, events, taken, start)
    for positions in _choices(step, events, taken[-1][1] if taken else None, start):
        yield from _from(rest, events, [*taken, *((step.name, p) for p in positions)], start)


def _choices(step: Step, events: str, after: int | None, start: int) -> Iterator[list[int]]:
    """Positions for one step: the first follows `after` (or is the start), the others follow each other."""
    firsts = [start] if after is None else range(after + 1, len(events))
    for first in firsts:
        rule = STRICT if after is None else step.contiguity
        if step.fits(events[first]) and (after is None or _may_pass(step, events, after, first, rule)):
            yield from _more(step, events, [first])


def _more(step: Step, events: str, positions: list[int]) -> Iterator[list[int]]:
    if len(positions) >= step.minimum:
        yield positions
    if len(positions) == step.maximum:
        return
    for following in range(positions[-1] + 1, len(events)):
        if step.fits(events[following]) and _may_pass(step, events, positions[-1], following, step.inner):
            yield from _more(step, events, [*positions, following])


def _may_pass(step: Step, events: str, before: int, position: int, rule: str) -> bool:
    between = events[before + 1 : position]
    if rule == STRICT:
        return not between
    return rule == ANY or not any(step.fits(event) for event in between)


def _by_step(taken: Sequence[tuple[str, int]]) -> Match:
    match: Match = {}
    for name, position in taken:
        match.setdefault(name, []).append(position)
    return match


def skipped(found: Sequence[Match], survives: Callable[[Match, Match], bool]) -> list[Match]:
    """What is left if each match, oldest start first, drops those that `survives` does not spare."""
    left = sorted(found, key=_start)
    kept = []
    while left:
        match = left.pop(0)
        kept.append(match)
        left = [other for other in left if survives(match, other)]
    return kept


def _start(match: Match) -> int:
    return min(position for positions in match.values() for position in positions)


def start_of(match: Match) -> int:
    """Position of the first event."""
    return _start(match)


def end_of(match: Match) -> int:
    """Position of the last event."""
    return max(position for positions in match.values() for position in positions)
