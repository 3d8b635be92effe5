"""The automaton: what it remembers, what it forgets, how often it asks."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from penstock.cep import AfterMatchSkipStrategy, Pattern
from penstock.cep.nfa.heap import MatchHeap, PartialMatch
from penstock.cep.nfa.match_state import MatchState
from penstock.cep.nfa.nfa import NFA
from penstock.cep.nfa.predicates import Look
from penstock.common.errors import StateError, UserFunctionError


def run(nfa: NFA, state: MatchState, events: str, start: int = 1) -> list[str]:
    """Matches of one-letter events at times 1, 2, 3 …, as `a,b` by step."""
    found = []
    for time, event in enumerate(events, start=start):
        nfa.advance_time(state, time)
        found += [
            ",".join("".join(taken) for taken in match.values())
            for match in nfa.process(state, Look(event, time, 0))
        ]
    return found


def letter(name: str) -> Any:
    return lambda event: event.lower() == name


def a_then_b() -> Pattern:
    return Pattern.begin("a").where(letter("a")).followed_by("b").where(letter("b"))


def test_the_buffer_is_empty_when_nothing_is_pending() -> None:
    nfa = NFA(a_then_b().within(10))
    state = nfa.initial_state()
    assert run(nfa, state, "aAb") == ["a,b", "A,b"]
    assert state.is_idle
    assert not state.buffer.events and not state.buffer.nodes


def test_time_empties_the_buffer() -> None:
    nfa = NFA(a_then_b().within(10), handles_timeouts=True)
    state = nfa.initial_state()
    run(nfa, state, "aA")
    assert len(state.buffer.events) == 2
    found, timed_out = nfa.advance_time(state, 11)
    assert (found, [out.time_ms for out in timed_out]) == ([], [11])
    assert [out.match for out in timed_out] == [{"a": ["a"]}]
    assert list(state.buffer.events) == [(2, 0)]


def test_partial_matches_share_events() -> None:
    nfa = NFA(a_then_b().one_or_more().allow_combinations().followed_by("c").where(letter("c")))
    state = nfa.initial_state()
    run(nfa, state, "abbbb")
    assert len(state.partial) > 8, "every choice of b's that has the first is a partial match"
    assert len(state.buffer.events) == 5


def test_a_simple_condition_is_tried_once_per_event() -> None:
    asked = []

    def is_b(event: str) -> bool:
        asked.append(event)
        return event == "b"

    nfa = NFA(Pattern.begin("a").where(letter("a")).followed_by("b").where(is_b))
    run(nfa, nfa.initial_state(), "aaaax")
    assert asked == ["a", "a", "a", "x"], "not for the first event: nothing waits for b yet"


def test_a_condition_that_raises_names_the_step_and_the_event() -> None:
    nfa = NFA(Pattern.begin("first").next("second").where(lambda event: event.missing))
    with pytest.raises(UserFunctionError, match="step 'second' failed on event 'y'") as failure:
        run(nfa, nfa.initial_state(), "xy")
    assert isinstance(failure.value.__cause__, AttributeError)


def test_state_goes_on_where_it_was_saved() -> None:
    pattern = Pattern.begin("a", AfterMatchSkipStrategy.skip_past_last_event()).where(letter("a"))
    nfa = NFA(pattern.one_or_more().greedy().followed_by("b").where(letter("b")))
    for cut in range(7):
        state = nfa.initial_state()
        found = run(nfa, state, "aaxabb"[:cut])
        state = pickle.loads(pickle.dumps(state))
        assert found + run(nfa, state, "aaxabb"[cut:], start=cut + 1) == ["aaa,b"], cut


def test_a_changed_pattern_is_told() -> None:
    state = NFA(a_then_b()).initial_state()
    run(NFA(a_then_b()), state, "a")
    with pytest.raises(StateError, match="stands at 'b'"):
        run(NFA(Pattern.begin("a").next("c")), state, "x")


def match(start: int, name: str) -> PartialMatch:
    return PartialMatch(name, None, (1,), 0, 0, (start, 0))


def test_ties_leave_the_heap_as_they_leave_javas() -> None:
    heap = MatchHeap()
    heap.add_all(match(1, name) for name in "abcde")
    assert [heap.poll().state for _ in range(5)] == list("aedcb")


def test_what_is_removed_leaves_a_heap() -> None:
    heap = MatchHeap()
    heap.add_all(match(start, str(start)) for start in (5, 3, 8, 1, 9, 2, 7))
    gone = heap.remove_if(lambda m: m.start[0] in (1, 9))
    assert [m.state for m in gone] == ["1", "9"]
    assert [heap.poll().state for _ in range(len(heap))] == ["2", "3", "5", "7", "8"]
