"""A match says which event took which edge of the automaton."""

from __future__ import annotations

import pickle
from typing import Any

from penstock.cep import FoundMatch, Pattern, PatternProcessFunction, TimedOutPartialMatchHandler
from penstock.cep.nfa.nfa import NFA
from penstock.cep.nfa.predicates import Look
from penstock.cep.operator import CepOperator
from penstock.common import Types
from penstock.functions.output_tag import OutputTag
from penstock.testing import KeyedOneInputOperatorTestHarness


def is_a(event: str) -> bool:
    return event.startswith("a")


def is_b(event: str) -> bool:
    return event.startswith("b")


def is_c(event: str) -> bool:
    return event.startswith("c")


def pattern() -> Pattern:
    return (
        Pattern.begin("a").where(is_a).followed_by("b").where(is_b).times(2).next("c").where(is_c).within(100)
    )


def found(*events: str) -> list[FoundMatch]:
    nfa = NFA(pattern())
    state = nfa.initial_state()
    return [m for at, event in enumerate(events, start=1) for m in nfa.process(state, Look(event, at, 0))]


def test_each_event_of_a_match_has_its_edge() -> None:
    [match] = found("a1", "x", "b1", "b2", "c1")
    assert match == {"a": ["a1"], "b": ["b1", "b2"], "c": ["c1"]}
    assert [(t.event, t.timestamp, t.step, t.source, t.target) for t in match.why()] == [
        ("a1", 1, "a", "a", "b:0"),
        ("b1", 3, "b", "b:0", "b"),
        ("b2", 4, "b", "b", "c"),
        ("c1", 5, "c", "c", "$endState$"),
    ]
    assert str(match.why()[0]) == "a ─▶ b:0: 'a1' at 1, because is_a"


def test_the_edges_are_those_of_the_drawing() -> None:
    [match] = found("a1", "b1", "b2", "c1")
    lines = pattern().to_dot(match).splitlines()
    bold = [line.strip() for line in lines if "penwidth" in line]
    assert bold[0] == '"a" -> "b:0" [style=solid, label="take: is_a\\n1: \'a1\'", penwidth=3];'
    assert len(bold) == 4
    assert "penwidth" not in pattern().to_dot()


def test_matches_that_share_events_tell_their_own_way() -> None:
    nfa = NFA(Pattern.begin("a").where(is_a).one_or_more().followed_by("b").where(is_b))
    state = nfa.initial_state()
    matches = [m for at, e in enumerate(("a1", "a2", "b1"), 1) for m in nfa.process(state, Look(e, at, 0))]
    assert [[t.event for t in match.why()] for match in matches] == [
        [event for events in match.values() for event in events] for match in matches
    ]
    assert len(matches) == 3


def test_a_match_that_is_sent_away_is_a_plain_dict() -> None:
    [match] = found("a1", "b1", "b2", "c1")
    sent = pickle.loads(pickle.dumps(match))
    assert (type(sent), sent) == (dict, match)


class Why(PatternProcessFunction, TimedOutPartialMatchHandler):
    def process_match(self, match: Any, ctx: Any) -> Any:
        yield "-".join(f"{t.source}>{t.target}" for t in match.why())

    def process_timed_out_match(self, match: Any, ctx: Any) -> None:
        ctx.output(OutputTag("late"), "-".join(f"{t.source}>{t.target}" for t in match.why()))


def test_functions_may_ask_also_after_a_restore_and_about_timeouts() -> None:
    def harness(**options: Any) -> KeyedOneInputOperatorTestHarness:
        operator = CepOperator(Why(), pattern(), lambda event: "k")
        return KeyedOneInputOperatorTestHarness(operator, key_type=Types.STRING(), **options)

    first = harness()
    for at, event in enumerate(("a1", "b1", "a2"), start=1):
        first.process_element(event, at)
    first.process_watermark(3)
    again = harness(restore=first.snapshot())
    for at, event in enumerate(("b2", "c1"), start=4):
        again.process_element(event, at)
    again.process_watermark(1_000)
    assert again.extract_output_values() == ["a>b:0-b:0>b-b>c-c>$endState$"]
    assert [record.value for record in again.get_side_output(OutputTag("late"))] == ["a>b:0-b:0>b"]
