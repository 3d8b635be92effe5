"""Random streams, windows, triggers, lateness and epoch cuts: the operators do what the plain model does."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.common.typeinfo import Types
from penstock.functions import AggregateFunction, ProcessWindowFunction
from penstock.functions.output_tag import OutputTag
from penstock.operators.window import WindowOperator
from penstock.operators.window_aligned import AlignedWindowOperator
from penstock.operators.window_factory import build_window_operator
from penstock.operators.window_panes import PaneWindowOperator
from penstock.operators.window_sessions import SessionWindowOperator
from penstock.testing import KeyedOneInputOperatorTestHarness, StreamRecord
from penstock.windowing import (
    CountTrigger,
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from tests.windowing.window_model import MAX, Case, Model

LATE = OutputTag("late")


class Elements(ProcessWindowFunction):
    """Everything there is to know about a firing."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        window = context.window()
        yield key, window.start, window.end, list(elements)


class Unwrap(ProcessWindowFunction):
    """After an aggregate that collects: the one element is the list of all."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        (collected,) = elements
        yield key, context.window().start, context.window().end, list(collected)


class Collect(AggregateFunction):
    """Collects into a list that is changed in place, the worst case for shared accumulators."""

    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: list[Any]) -> list[Any]:
        return accumulator

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        acc_a.extend(acc_b)
        return acc_a


@st.composite
def cases(draw: Any, kinds: tuple[str, ...]) -> Case:
    kind = draw(st.sampled_from(kinds))
    size = draw(st.integers(1, 12))
    case = Case(kind, size, lateness=draw(st.sampled_from((0, 0, 3, 15))))
    if kind == "sliding":
        case.slide = draw(st.integers(1, 14))
        case.offset = draw(st.integers(0, case.slide - 1))
    elif kind == "tumbling":
        case.offset = draw(st.integers(0, size - 1))
    elif kind == "cumulative":
        case.slide = draw(st.integers(1, 4))
        case.size = case.slide * draw(st.integers(1, 4))
    return case


events = st.lists(
    st.one_of(
        st.tuples(st.just("element"), st.sampled_from("aab"), st.integers(-12, 12)),
        st.tuples(st.just("element"), st.sampled_from("aab"), st.integers(-12, 12)),
        st.tuples(st.just("watermark"), st.integers(0, 4)),
        st.tuples(st.just("cut")),
        st.tuples(st.just("restore")),
        st.tuples(st.just("abort")),
    ),
    min_size=8,
    max_size=60,
)


def assigner_of(case: Case) -> Any:
    if case.kind == "tumbling":
        return TumblingEventTimeWindows(case.size, case.offset)
    if case.kind == "sliding":
        return SlidingEventTimeWindows(case.size, case.slide, case.offset)
    if case.kind == "cumulative":
        return CumulativeEventTimeWindows(case.size, case.slide)
    return EventTimeSessionWindows(case.size)


def trigger_of(case: Case) -> Any:
    trigger: Any = None if case.early is None else CountTrigger(case.early)
    if case.purge:
        trigger = PurgingTrigger(trigger or EventTimeTrigger())
    return trigger


def run_both(case: Case, steps: list[Any], **functions: Any) -> tuple[Model, list[Any], list[Any]]:
    """The model's and the operator's answers to the same steps."""
    operator = build_window_operator(
        assigner=assigner_of(case),
        trigger=trigger_of(case),
        allowed_lateness_ms=case.lateness,
        late_tag=LATE,
        key_selector=lambda value: value[0],
        **functions,
    )
    model = Model(case)
    harness = KeyedOneInputOperatorTestHarness(operator, key_type=Types.STRING())
    outputs = [harness.output]
    saved = None
    watermark = -1
    for number, step in enumerate(steps):
        if step[0] == "element":
            value, time = (step[1], number), watermark + step[2]
            model.element(step[1], value, time)
            harness.process_element(value, time)
        elif step[0] == "watermark":
            watermark += step[1]
            if watermark > model.watermark:
                model.advance(watermark)
            harness.process_watermark(watermark)
        elif step[0] == "cut":
            harness.cut()
        elif step[0] == "restore":
            saved = harness.snapshot()
            harness = KeyedOneInputOperatorTestHarness(operator, key_type=Types.STRING(), restore=saved)
            outputs.append(harness.output)
        else:
            harness.snapshot()
            kept = (len(harness.output.events), len(harness.output.side.get("late", ())))
            harness.process_element(("a", -1), 20)
            harness.process_watermark(watermark + 3)
            harness.abort_epoch()
            del harness.output.events[kept[0] :]
            del harness.output.side.setdefault("late", [])[kept[1] :]
    model.advance(MAX)
    harness.process_watermark(MAX)
    records = [e for out in outputs for e in out.events if isinstance(e, StreamRecord)]
    late = [record.value for out in outputs for record in out.side.get("late", ())]
    return model, [(*record.value, record.timestamp) for record in records], late


def per_key(results: list[Any]) -> dict[Any, list[Any]]:
    """Firings of one key are in order; between keys the order is open."""
    by_key: dict[Any, list[Any]] = defaultdict(list)
    for result in results:
        by_key[result[0]].append(result)
    return dict(by_key)


SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@SETTINGS
@given(cases(("tumbling", "sliding", "cumulative", "session")), events)
def test_process_function_sees_the_elements_that_the_model_puts_into_each_window(case, steps):
    model, results, late = run_both(case, steps, process_function=Elements())
    assert per_key(results) == per_key(model.results)
    assert late == model.late


@SETTINGS
@given(cases(("tumbling", "sliding", "session")), events, st.integers(1, 4), st.booleans())
def test_count_triggers_fire_early_and_purge_as_in_the_model(case, steps, early, purge):
    case.early, case.purge = early, purge
    model, results, late = run_both(case, steps, process_function=Elements())
    assert per_key(results) == per_key(model.results)
    assert late == model.late


@SETTINGS
@given(cases(("tumbling", "sliding", "session")), events)
def test_purging_event_time_trigger_drops_what_has_fired(case, steps):
    case.purge = True
    model, results, late = run_both(case, steps, process_function=Elements())
    assert per_key(results) == per_key(model.results)
    assert late == model.late


@SETTINGS
@given(cases(("tumbling", "sliding", "session")), events)
def test_aggregates_are_the_same_on_the_fast_paths(case, steps):
    model, results, late = run_both(case, steps, aggregate=Collect(), process_function=Unwrap())
    assert per_key(sort_elements(results)) == per_key(sort_elements(model.results))
    assert late == model.late


@SETTINGS
@given(cases(("tumbling", "sliding", "session")), events)
def test_reduce_is_the_same_on_the_fast_paths(case, steps):
    model, results, late = run_both(
        case, steps, reduce=lambda a, b: (a[0], a[1] + b[1]), process_function=Elements()
    )
    expected = [
        (key, start, end, [(key, sum(number for _, number in elements))], time)
        for key, start, end, elements, time in model.results
    ]
    assert per_key(results) == per_key(expected)
    assert late == model.late


def sort_elements(results: list[Any]) -> list[Any]:
    """Panes put a window's elements together by time, not by arrival."""
    return [(key, start, end, sorted(elements), time) for key, start, end, elements, time in results]


def test_the_fast_operators_are_the_ones_under_test():
    def kind(assigner: Any, **more: Any) -> type:
        return type(build_window_operator(assigner=assigner, aggregate=Collect(), key_selector=str, **more))

    assert kind(TumblingEventTimeWindows(5, 0), allowed_lateness_ms=3) is AlignedWindowOperator
    assert kind(SlidingEventTimeWindows(6, 4, 0)) is PaneWindowOperator
    assert kind(SlidingEventTimeWindows(6, 4, 0), allowed_lateness_ms=1) is WindowOperator
    assert kind(SlidingEventTimeWindows(6, 4, 0), share_panes=False) is WindowOperator
    assert kind(SlidingEventTimeWindows(4, 6, 0)) is WindowOperator
    assert kind(EventTimeSessionWindows(4)) is SessionWindowOperator
    assert kind(EventTimeSessionWindows(4), allowed_lateness_ms=1) is WindowOperator
    assert kind(TumblingEventTimeWindows(5, 0), trigger=CountTrigger(2)) is WindowOperator


class Sum(AggregateFunction):
    """A typed accumulator: (sum, how many)."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Any, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


@pytest.mark.parametrize("assigner", [SlidingEventTimeWindows(20, 10, 0), EventTimeSessionWindows(10)])
def test_accumulators_of_a_declared_type_come_back_after_a_restore(assigner):
    operator = build_window_operator(
        assigner=assigner,
        aggregate=Sum(),
        accumulator_type=Types.TUPLE([Types.LONG(), Types.LONG()]),
        key_selector=lambda value: value[0],
    )
    harness = KeyedOneInputOperatorTestHarness(operator, key_type=Types.STRING())
    harness.process_element(("a", 1), 12)
    harness.process_element(("a", 2), 19)
    harness = KeyedOneInputOperatorTestHarness(operator, key_type=Types.STRING(), restore=harness.snapshot())
    harness.process_element(("a", 4), 18)
    harness.process_watermark(29)
    assert {record.value for record in harness.output.events if isinstance(record, StreamRecord)} == {(7, 3)}
