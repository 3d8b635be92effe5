"""map, flat_map, filter, reduce and their keyed and two-input siblings."""

from __future__ import annotations

import pytest

from penstock.common.errors import UserFunctionError
from penstock.common.ids import MAX_TIMESTAMP, MAX_WATERMARK
from penstock.common.typeinfo import Types
from penstock.functions import CoFlatMapFunction, CoMapFunction, MapFunction
from penstock.operators.co import CoFlatMapOperator, CoMapOperator, KeyedCoMapOperator
from penstock.operators.keyed_map import KeyedFilterOperator, KeyedFlatMapOperator, KeyedMapOperator
from penstock.operators.map import FilterOperator, FlatMapOperator, MapOperator
from penstock.operators.reduce import ReduceOperator
from penstock.state.descriptors import ValueStateDescriptor
from penstock.testing import (
    KeyedOneInputOperatorTestHarness,
    KeyedTwoInputOperatorTestHarness,
    OneInputOperatorTestHarness,
    StreamRecord,
    TwoInputOperatorTestHarness,
)


class Nth(MapFunction):
    """How many elements of the key came so far."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("n", Types.INT()))

    def map(self, value):
        self.count.update((self.count.value() or 0) + 1)
        return value, self.count.value()

    def flat_map(self, value):
        yield from [self.map(value)] * value[1]

    def filter(self, value):
        return self.map(value)[1] == 1


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (MapOperator(lambda v: v * 2), [StreamRecord(2, 10), StreamRecord(4, 20), StreamRecord(6, 30)]),
        (FilterOperator(lambda v: v != 2), [StreamRecord(1, 10), StreamRecord(3, 30)]),
        (
            FlatMapOperator(lambda v: [v] * (v - 1) if v > 1 else None),
            [StreamRecord(2, 20), StreamRecord(3, 30), StreamRecord(3, 30)],
        ),
    ],
)
def test_results_have_the_timestamps_of_their_elements(operator, expected):
    harness = OneInputOperatorTestHarness(operator)
    harness.process_elements([1, 2, 3], [10, 20, 30])
    assert harness.get_output() == expected


def test_keyed_variants_see_the_state_of_their_key():
    def run(kind):
        harness = KeyedOneInputOperatorTestHarness(kind(Nth(), lambda v: v[0]))
        harness.process_elements([("a", 1), ("b", 2), ("a", 1)])
        return harness.extract_output_values()

    assert run(KeyedMapOperator) == [(("a", 1), 1), (("b", 2), 1), (("a", 1), 2)]
    assert run(KeyedFlatMapOperator) == [(("a", 1), 1), (("b", 2), 1), (("b", 2), 1), (("a", 1), 2)]
    assert run(KeyedFilterOperator) == [("a", 1), ("b", 2)]


def test_reduce_emits_every_step_and_in_batch_mode_the_last_one_of_each_key():
    def reduce(batch):
        operator = ReduceOperator(lambda a, b: (a[0], a[1] + b[1]), lambda v: v[0])
        harness = KeyedOneInputOperatorTestHarness(operator, batch_mode=batch)
        harness.process_elements([("a", 1), ("a", 2), ("b", 5)], [1, 2, 3])
        harness.process_watermark(MAX_WATERMARK)
        return [e for e in harness.get_output() if isinstance(e, StreamRecord)]

    assert reduce(False) == [
        StreamRecord(("a", 1), 1),
        StreamRecord(("a", 3), 2),
        StreamRecord(("b", 5), 3),
    ]
    assert reduce(True) == [StreamRecord(("a", 3), MAX_TIMESTAMP), StreamRecord(("b", 5), MAX_TIMESTAMP)]


def test_an_error_in_open_is_the_users():
    class Broken(MapFunction):
        def open(self, runtime_context):
            raise RuntimeError("no such model")

        def map(self, value):
            return value

    with pytest.raises(UserFunctionError, match=r"MapFunction 'Broken' failed in open\(\)"):
        OneInputOperatorTestHarness(MapOperator(Broken()))


def test_co_functions_call_the_method_of_each_input():
    class Both(CoMapFunction, CoFlatMapFunction):
        def map1(self, value):
            return f"left {value}"

        def map2(self, value):
            return None if value == 0 else f"right {value}"

        def flat_map1(self, value):
            return [value, value]

        def flat_map2(self, value):
            return None

    for operator, expected in [
        (CoMapOperator(Both()), ["left 1", "right 2"]),
        (CoFlatMapOperator(Both()), [1, 1]),
    ]:
        harness = TwoInputOperatorTestHarness(operator)
        harness.process_element1(1)
        harness.process_element2(0)
        harness.process_element2(2)
        assert harness.extract_output_values() == expected


def test_keyed_inputs_share_the_state_of_a_key():
    class Balance(CoMapFunction):
        def open(self, runtime_context):
            self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.INT()))

        def map1(self, value):
            self.total.update((self.total.value() or 0) + value[1])
            return value[0], self.total.value()

        def map2(self, value):
            return self.map1((value[1], -value[0]))

    harness = KeyedTwoInputOperatorTestHarness(KeyedCoMapOperator(Balance(), lambda v: v[0], lambda v: v[1]))
    harness.process_element1(("a", 10))
    harness.process_element2((3, "a"))
    harness.process_element2((3, "b"))
    assert harness.extract_output_values() == [("a", 10), ("a", 7), ("b", -3)]
