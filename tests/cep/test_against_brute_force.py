"""Random patterns over random events, against `brute_force.py`."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.cep import AfterMatchSkipStrategy, Pattern
from penstock.cep.nfa.nfa import NFA
from penstock.cep.nfa.predicates import Look
from tests.cep.brute_force import ANY, RELAXED, STRICT, Match, Step, end_of, matches, skipped, start_of

LETTERS = "abc"


@st.composite
def patterns(draw: Any) -> list[Step]:
    steps = []
    for number in range(draw(st.integers(1, 4))):
        minimum = draw(st.integers(1, 3))
        steps.append(
            Step(
                f"s{number}",
                "".join(sorted(draw(st.sets(st.sampled_from(LETTERS), min_size=1, max_size=2)))),
                draw(st.sampled_from([STRICT, RELAXED, ANY])),
                minimum,
                minimum + draw(st.integers(0, 2)),
                draw(st.sampled_from([STRICT, RELAXED, ANY])),
            )
        )
    return steps


def pattern_of(steps: list[Step], strategy: AfterMatchSkipStrategy | None = None) -> Pattern:
    pattern: Any = None
    for step in steps:
        follow = {STRICT: "next", RELAXED: "followed_by", ANY: "followed_by_any"}[step.contiguity]
        pattern = (
            Pattern.begin(step.name, strategy) if pattern is None else getattr(pattern, follow)(step.name)
        )
        pattern.where(lambda event, letters=step.letters: event[1] in letters)
        if (step.minimum, step.maximum) != (1, 1):
            pattern.times(step.minimum, step.maximum)
            {STRICT: pattern.consecutive, RELAXED: lambda: None, ANY: pattern.allow_combinations}[
                step.inner
            ]()
    return pattern  # type: ignore[no-any-return]


def found_in(pattern: Pattern, events: str) -> list[Match]:
    nfa = NFA(pattern)
    state = nfa.initial_state()
    found: list[Match] = []
    for position, letter in enumerate(events):
        for match in nfa.process(state, Look((position, letter), position + 1, 0)):
            found.append({step: [event[0] for event in taken] for step, taken in match.items()})
    return found


def as_set(found: list[Match]) -> list[str]:
    return sorted(map(repr, found))


@settings(max_examples=400, deadline=None)
@given(patterns(), st.text(LETTERS, max_size=9))
def test_the_automaton_finds_what_trying_everything_finds(steps: list[Step], events: str) -> None:
    assert as_set(found_in(pattern_of(steps), events)) == as_set(matches(steps, events))


@settings(max_examples=200, deadline=None)
@given(patterns(), st.text(LETTERS, max_size=9), st.sampled_from(["next", "past_last"]))
def test_skip_strategies_leave_no_overlaps(steps: list[Step], events: str, kind: str) -> None:
    """Which of several matches with the same start is kept is the automaton's choice; the rest follows from it."""
    if kind == "next":
        strategy = AfterMatchSkipStrategy.skip_to_next()
    else:
        strategy = AfterMatchSkipStrategy.skip_past_last_event()
    found = found_in(pattern_of(steps, strategy), events)
    everything = matches(steps, events)
    assert all(match in everything for match in found)

    def survives(match: Match, other: Match) -> bool:
        return start_of(other) > (start_of(match) if kind == "next" else end_of(match))

    assert skipped(found, survives) == found
    starts = [start_of(match) for match in found]
    assert starts == sorted(set(starts))
