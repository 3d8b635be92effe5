"""Whole partitions of bounded streams."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Types
from penstock.common.errors import TypeMismatchError
from penstock.datastream import AggregateFunction, MapPartitionFunction, Order
from tests.datastream.programs import new_env

PAIR = Types.TUPLE([Types.STRING(), Types.INT()])


def pairs(parallelism: int = 1) -> Any:
    return new_env(parallelism).from_collection([("a", 3), ("b", 2), ("a", 1), ("b", 5)], PAIR)


class Total(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + value[1]

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Sizes(MapPartitionFunction):
    def map_partition(self, values: Any) -> Any:
        yield len(list(values))


@pytest.mark.usefixtures("in_process")
class TestRunning:
    def test_a_subtask_is_a_partition(self):
        sizes = pairs(2).rebalance().map(lambda v: v, PAIR).full_window_partition().map_partition(Sizes())
        assert sorted(sizes.execute_and_collect()) == [2, 2]

    def test_a_key_is_a_partition_of_a_keyed_stream(self):
        keyed = pairs().key_by(lambda p: p[0], Types.STRING())
        totals = keyed.full_window_partition().aggregate(Total(), Types.INT())
        assert sorted(totals.execute_and_collect()) == [4, 7]

    def test_sorted_by_a_field_or_a_selector(self):
        partition = pairs().full_window_partition()
        by_number = partition.sort_partition(1, Order.DESCENDING)
        assert [n for _, n in by_number.execute_and_collect()] == [5, 3, 2, 1]
        by_both = pairs().full_window_partition().sort_partition(lambda p: (p[0], p[1]))
        assert list(by_both.execute_and_collect()) == [("a", 1), ("a", 3), ("b", 2), ("b", 5)]

    def test_reduced_to_one_element(self):
        reduced = pairs().full_window_partition().reduce(lambda x, y: (x[0] + y[0], x[1] + y[1]))
        assert list(reduced.execute_and_collect()) == [("abab", 11)]

    def test_a_callable_maps_a_partition(self):
        reversed_ = pairs().full_window_partition().map_partition(lambda values: reversed(list(values)))
        assert [n for _, n in reversed_.execute_and_collect()] == [5, 1, 2, 3]


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeMismatchError, match="MapPartitionFunction"):
        pairs().full_window_partition().map_partition(3)
