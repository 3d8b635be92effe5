"""Window joins, co-groups and interval joins."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Time, Types, WatermarkStrategy
from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.datastream import FlatJoinFunction, OutputTag, ProcessJoinFunction
from penstock.datastream.window import CountEvictor, CountTrigger, TumblingEventTimeWindows
from tests.datastream.programs import new_env, operator_of

TIMED = Types.TUPLE([Types.STRING(), Types.INT()])
SECOND = TumblingEventTimeWindows.of(Time.seconds(1))


def timed(env: Any, *elements: tuple[str, int]) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v, t: v[1])
    return env.from_collection(list(elements), TIMED).assign_timestamps_and_watermarks(strategy)


def two_streams() -> tuple[Any, Any]:
    env = new_env(1)
    left = timed(env, ("a", 100), ("b", 200), ("a", 1_500))
    right = timed(env, ("a", 300), ("a", 900), ("c", 950))
    return left, right


def key(value: Any) -> Any:
    return value[0]


@pytest.mark.usefixtures("in_process")
class TestRunning:
    def test_a_join_gives_every_pair_of_a_window(self):
        left, right = two_streams()
        joined = left.join(right).where(key).equal_to(key).window(SECOND).apply(lambda x, y: (x[1], y[1]))
        assert sorted(joined.execute_and_collect()) == [(100, 300), (100, 900)]

    def test_a_flat_join_function(self):
        class Later(FlatJoinFunction):
            def join(self, first: Any, second: Any) -> Any:
                if second[1] > 500:
                    yield second[1]

        left, right = two_streams()
        joined = left.join(right).where(key).equal_to(key).window(SECOND).apply(Later(), Types.INT())
        assert list(joined.execute_and_collect()) == [900]

    def test_a_co_group_sees_both_sides_even_if_one_is_empty(self):
        def sizes(first: Any, second: Any) -> Any:
            return [(len(first), len(second))]

        left, right = two_streams()
        grouped = left.co_group(right).where(key).equal_to(key).window(SECOND).apply(sizes)
        assert sorted(grouped.execute_and_collect()) == [(0, 1), (1, 0), (1, 0), (1, 2)]

    def test_trigger_and_evictor_of_a_join(self):
        left, right = two_streams()
        grouped = (
            left.co_group(right).where(key).equal_to(key).window(SECOND)
            .trigger(CountTrigger.of(3)).evictor(CountEvictor.of(2)).allowed_lateness(Time.seconds(1))
            .apply(lambda first, second: [len(first) + len(second)])
        )  # fmt: skip
        assert list(grouped.execute_and_collect()) == [2]


def test_where_and_equal_to_come_before_the_window():
    left, right = two_streams()
    with pytest.raises(ValidationError, match="where"):
        left.join(right).equal_to(key)
    with pytest.raises(ValidationError, match="keys of the two streams"):
        left.join(right).where(key).window(SECOND)
    with pytest.raises(ValidationError, match="different types"):
        left.join(right).where(key, Types.STRING()).equal_to(key, Types.INT())
    with pytest.raises(TypeMismatchError, match="DataStream"):
        left.join([1])


@pytest.mark.usefixtures("in_process")
def test_an_interval_join_pairs_elements_that_are_close():
    left, right = two_streams()
    joined = (
        left.key_by(key, Types.STRING()).interval_join(right.key_by(key, Types.STRING()))
        .between(Time.milliseconds(-1_000), Time.milliseconds(200)).process(Pairs(), None)
    )  # fmt: skip
    pairs = sorted((a[1], b[1]) for a, b in joined.execute_and_collect())
    assert pairs == [(100, 300), (1_500, 900)]


class Pairs(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        yield left, right


def test_an_interval_join_is_one_operator_over_two_keyed_streams():
    left, right = two_streams()
    joined = (
        left.key_by(key, Types.STRING()).interval_join(right.key_by(key, Types.STRING())).in_event_time()
        .between(Time.seconds(-2), Time.seconds(1)).lower_bound_exclusive().upper_bound_exclusive()
        .side_output_left_late_data(OutputTag("left")).process(Pairs(), TIMED)
    )  # fmt: skip
    step = joined.transformation
    assert step.is_keyed and len(step.inputs) == 2
    assert joined.get_type() == TIMED


def test_interval_bounds_must_be_in_order():
    left, right = two_streams()
    join = left.key_by(key).interval_join(right.key_by(key))
    with pytest.raises(ValidationError, match="above upper bound"):
        join.between(Time.seconds(1), Time.seconds(-1))
    with pytest.raises(TypeMismatchError, match="OutputTag"):
        join.between(0, 0).side_output_right_late_data("late")


def test_interval_joins_need_keys_of_one_type():
    left, right = two_streams()
    with pytest.raises(ValidationError, match="different types"):
        left.key_by(key, Types.STRING()).interval_join(right.key_by(key))


def test_the_interval_join_operator_is_built():
    left, right = two_streams()
    joined = left.key_by(key).interval_join(right.key_by(key)).between(0, 5).process(Pairs())
    assert operator_of(joined).input_count == 2
