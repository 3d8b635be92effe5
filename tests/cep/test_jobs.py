"""Patterns in whole programs: the API, several subtasks, epochs, batch mode, side outputs."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
from cep_cases import CepCase, as_job, cases_of
from ways import Way

from penstock.cep import (
    CEP,
    Pattern,
    PatternFlatSelectFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternStream,
    RichIterativeCondition,
    TimedOutPartialMatchHandler,
)
from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.common.errors import JobExecutionError, TypeMismatchError
from penstock.common.time import Duration
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import DataStream, OutputTag, RuntimeExecutionMode, StreamExecutionEnvironment
from penstock.state.descriptors import ValueStateDescriptor
from tests.runtime.in_process import run_in_process

FOLDER = pathlib.Path(__file__).parent.parent / "conformance" / "cep"
KEYED = [case for case in cases_of(FOLDER) if case.keyed and "error" not in case.expected]
OTHERS = [case for case in cases_of(FOLDER) if not case.keyed and not case.in_processing_time][::12]


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    run_in_process(monkeypatch, None)


@pytest.mark.parametrize("case", KEYED + OTHERS, ids=lambda case: case.name)
def test_cases_at_parallelism_3_in_several_epochs(case: CepCase) -> None:
    assert as_job(case, {}, Way(epochs=3, parallelism=3)) is None


# -- the API ------------------------------------------------------------------------------------------------------


class TimeField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[2])


PAYMENTS = [("ann", 0.5, 1_000), ("bob", 0.2, 2_000), ("ann", 900.0, 31_000), ("bob", 700.0, 90_000)]


def payments(parallelism: int = 2, batch: bool = False, items: list[Any] = PAYMENTS) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    env.set_parallelism(parallelism)
    if batch:
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeField())
    row = Types.TUPLE([Types.STRING(), Types.DOUBLE(), Types.LONG()])
    return env.from_collection(items, row).assign_timestamps_and_watermarks(strategy)


def small_then_large() -> Pattern:
    small = Pattern.begin("small").where(lambda p: p[1] < 1)
    return small.followed_by("large").where(lambda p: p[1] > 500).within(Duration.of_minutes(1))


def fraud(parallelism: int = 2, batch: bool = False) -> PatternStream:
    return CEP.pattern(
        payments(parallelism, batch).key_by(lambda p: p[0], Types.STRING()), small_then_large()
    )


def collected(stream: DataStream) -> list[Any]:
    with stream.execute_and_collect() as results:  # type: ignore[union-attr]
        return sorted(results)


@pytest.mark.parametrize("batch", [False, True], ids=["streaming", "batch"])
def test_select_gives_one_result_for_each_match(batch: bool) -> None:
    stream = fraud(batch=batch).select(lambda match: match["large"][0][0], output_type=Types.STRING())
    assert collected(stream) == ["ann"]


def test_flat_select_gives_any_number() -> None:
    class Twice(PatternFlatSelectFunction):
        def flat_select(self, pattern: Any) -> Iterator[str]:
            yield pattern["small"][0][0]
            yield pattern["large"][0][0]

    assert collected(fraud().flat_select(Twice())) == ["ann", "ann"]


def test_timeouts_of_select_go_to_a_side_output() -> None:
    class Name(PatternSelectFunction):
        def select(self, pattern: Any) -> str:
            return str(pattern["small"][0][0])

    tag = OutputTag("late payers")
    matches = fraud().select(tag, lambda match, time: f"{match['small'][0][0]} at {time}", Name())
    assert collected(matches.union(matches.get_side_output(tag))) == ["ann", "bob at 62000"]


def test_timeouts_of_flat_select_may_be_none() -> None:
    tag = OutputTag("gone")
    matches = fraud().flat_select(tag, lambda match, time: None, lambda match: [len(match)])
    assert collected(matches.union(matches.get_side_output(tag))) == [2]


def test_process_has_a_context_and_a_runtime_context() -> None:
    class Handler(PatternProcessFunction, TimedOutPartialMatchHandler):
        def open(self, runtime_context: Any) -> None:
            self.matches = runtime_context.get_metrics_group().counter("found")

        def process_match(self, match: Any, ctx: PatternProcessFunction.Context) -> Iterator[Any]:
            self.matches.inc()
            yield ("match", ctx.timestamp())

        def process_timed_out_match(self, match: Any, ctx: PatternProcessFunction.Context) -> Iterator[Any]:
            yield OutputTag("timeout"), ("timeout", ctx.timestamp())

    matches = fraud().process(Handler())
    both = matches.union(matches.get_side_output(OutputTag("timeout")))
    assert collected(both) == [("match", 31_000), ("timeout", 62_000)]


def test_a_rich_condition_is_opened_but_has_no_state() -> None:
    class Above(RichIterativeCondition):
        def open(self, runtime_context: Any) -> None:
            super().open(runtime_context)
            self.limit = 100.0

        def filter(self, value: Any, ctx: Any) -> bool:
            return bool(value[1] > self.limit)

    stream = CEP.pattern(payments(), Pattern.begin("large").where(Above()))
    assert collected(stream.select(lambda match: match["large"][0][1])) == [700.0, 900.0]

    class WithState(Above):
        def open(self, runtime_context: Any) -> None:
            runtime_context.get_state(ValueStateDescriptor("limits", Types.LONG()))

    stream = CEP.pattern(payments(), Pattern.begin("large").where(WithState()))
    with pytest.raises(JobExecutionError, match="state 'limits' in a function or condition of a pattern"):
        collected(stream.select(len))


def test_a_stream_without_keys_is_matched_by_one_subtask() -> None:
    pattern = Pattern.begin("all").times(4).consecutive()
    stream = CEP.pattern(payments(parallelism=3), pattern).select(lambda match: len(match["all"]))
    assert collected(stream) == [4]


def test_elements_without_timestamps_are_told() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = CEP.pattern(env.from_collection([1, 2]), Pattern.begin("any"))
    with pytest.raises(JobExecutionError, match="without timestamps"):
        collected(stream.select(len))
    found = CEP.pattern(env.from_collection([1, 2]), Pattern.begin("any")).in_processing_time()
    assert collected(found.select(lambda match: match["any"][0])) == [1, 2]


def test_a_failing_condition_names_its_step_and_the_event() -> None:
    pattern = Pattern.begin("small").where(lambda p: p.amount < 1)
    with pytest.raises(JobExecutionError, match=r"step 'small' failed on event \('ann', 0.5, 1000\)"):
        collected(CEP.pattern(payments(), pattern).select(len))


def test_arguments_that_are_no_functions_are_refused() -> None:
    with pytest.raises(TypeMismatchError, match="select takes a function"):
        fraud().select()
    with pytest.raises(TypeMismatchError, match="PatternSelectFunction"):
        fraud().select("amount")
    with pytest.raises(TypeMismatchError, match="expected a Pattern"):
        CEP.pattern(payments(), "a b c")  # type: ignore[arg-type]
    with pytest.raises(TypeMismatchError, match="comparator"):
        CEP.pattern(payments(), small_then_large(), comparator=3)  # type: ignore[arg-type]
