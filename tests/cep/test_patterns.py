"""Patterns are refused when they are built, with the step and what would be right."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.cep import (
    AfterMatchSkipStrategy,
    IterativeCondition,
    MalformedPatternError,
    Pattern,
    SimpleCondition,
    WithinType,
)
from penstock.cep.nfa.compiler import compile_pattern
from penstock.common.errors import TypeMismatchError
from penstock.common.time import Duration


def a_then_b() -> Pattern:
    return Pattern.begin("a").where(lambda e: e == "a").followed_by("b").where(lambda e: e == "b")


@pytest.mark.parametrize(
    ("build", "message", "step"),
    [
        (lambda: a_then_b().greedy(), "singleton", "'b'"),
        (lambda: a_then_b().consecutive(), "Consecutive not applicable", "'b'"),
        (lambda: a_then_b().one_or_more().times(2), "Already applied quantifier", "'b'"),
        (lambda: a_then_b().until(lambda e: True), "looping", "'b'"),
        (lambda: a_then_b().one_or_more().until(lambda e: True).until(lambda e: True), "Only one", "'b'"),
        (lambda: a_then_b().not_next("c").optional(), "NOT pattern cannot be optional", "'c'"),
        (lambda: a_then_b().not_followed_by("c").one_or_more(), "not applicable to NOT", "'c'"),
        (lambda: a_then_b().optional().not_followed_by("c"), "optional path to NOT", "'b'"),
        (lambda: a_then_b().times(0), "positive number", "'b'"),
        (lambda: a_then_b().times(3, 2), "from: 3", "'b'"),
        (lambda: Pattern.begin(a_then_b()).where(lambda e: True), "where clause", "'GroupPattern'"),
    ],
)
def test_a_call_that_means_nothing_is_refused_with_its_step(
    build: Callable[[], Pattern], message: str, step: str
) -> None:
    with pytest.raises(MalformedPatternError, match=message) as refused:
        build()
    assert refused.value.where is not None and step in refused.value.where
    assert refused.value.do or "from" in message


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (a_then_b().followed_by("a"), "Duplicate pattern name: a"),
        (a_then_b().next(Pattern.begin("a")), "Duplicate pattern name: a"),
        (a_then_b().not_followed_by("c"), "without windowTime"),
        (Pattern.begin("a", AfterMatchSkipStrategy.skip_to_first("x")).next("b"), "can not be found"),
        (
            Pattern.begin("a").next("b").within(9, WithinType.PREVIOUS_AND_CURRENT).within(5),
            "cannot be larger",
        ),
    ],
)
def test_steps_that_do_not_go_together_are_refused_when_compiled(pattern: Pattern, message: str) -> None:
    with pytest.raises(MalformedPatternError, match=message):
        compile_pattern(pattern)


def test_a_window_may_be_the_second_argument_of_times() -> None:
    times = Pattern.begin("a").times(3, Duration.of_seconds(2)).get_times()
    assert times is not None and (times.from_times, times.to_times, times.window_ms) == (3, 3, 2000)


def test_plain_callables_are_conditions_by_their_number_of_arguments() -> None:
    simple = Pattern.begin("a").where(lambda event: event).get_condition()
    iterative = Pattern.begin("a").where(lambda event, ctx: event).get_condition()
    assert isinstance(simple, SimpleCondition)
    assert isinstance(iterative, IterativeCondition) and not isinstance(iterative, SimpleCondition)


def test_what_is_no_condition_is_refused_with_its_step() -> None:
    with pytest.raises(TypeMismatchError) as refused:
        Pattern.begin("a").where("price > 3")  # type: ignore[arg-type]
    assert refused.value.where == "step 'a'"


def test_a_pattern_can_be_drawn() -> None:
    pattern = a_then_b().one_or_more().next("c")
    dot = pattern.to_dot()
    assert '"a" -> "b:1" [style=solid' in dot
    assert '"$endState$" [shape=doublecircle]' in dot
    assert pattern._repr_svg_().count("<circle") == dot.count("[shape=") - 1
