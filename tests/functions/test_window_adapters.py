"""Joins and co-groups over tagged elements, and folding many elements at once."""

from __future__ import annotations

from typing import Any

from penstock.functions import (
    AggregateFunction,
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    ReduceFunction,
)
from penstock.functions.window_adapters import (
    CoGroupWindowFunction,
    JoinWindowFunction,
    TaggedKeySelector,
    fold_elements,
    tag_left,
    tag_right,
)
from penstock.functions.wrap import as_function, function_name

TAGGED = [tag_left("a"), tag_right(1), tag_left("b"), tag_right(2)]


def test_a_join_function_sees_every_pair_in_order():
    function = JoinWindowFunction(as_function(lambda x, y: f"{x}{y}", JoinFunction))
    assert list(function.apply("k", None, TAGGED)) == ["a1", "a2", "b1", "b2"]


def test_a_flat_join_may_leave_pairs_out():
    class Equal(FlatJoinFunction):
        def join(self, first: Any, second: Any) -> Any:
            if second == 2:
                yield first

    assert list(JoinWindowFunction(Equal()).apply("k", None, TAGGED)) == ["a", "b"]


def test_a_co_group_function_gets_both_sides_even_if_one_is_empty():
    function = CoGroupWindowFunction(as_function(lambda x, y: [(x, y)], CoGroupFunction))
    assert list(function.apply("k", None, TAGGED)) == [(["a", "b"], [1, 2])]
    assert list(function.apply("k", None, TAGGED[:1])) == [(["a"], [])]


def test_each_side_has_its_own_key_selector():
    selector = TaggedKeySelector(len, lambda value: value)
    assert (selector(tag_left("abc")), selector(tag_right(3))) == (3, 3)


def test_elements_are_reduced_at_once():
    total = as_function(lambda x, y: x + y, ReduceFunction)
    assert fold_elements(total, [1, 2, 3]) == 6
    assert fold_elements(lambda x, y: x + y, iter([1])) == 1


def test_elements_are_aggregated_at_once():
    class Mean(AggregateFunction):
        def create_accumulator(self) -> Any:
            return (0, 0)

        def add(self, value: Any, accumulator: Any) -> Any:
            return accumulator[0] + value, accumulator[1] + 1

        def get_result(self, accumulator: Any) -> Any:
            return accumulator[0] / accumulator[1]

        def merge(self, acc_a: Any, acc_b: Any) -> Any:
            return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]

    assert fold_elements(Mean(), [1, 2, 6]) == 3.0


def test_messages_name_the_user_function():
    class Pair(CoGroupFunction):
        def co_group(self, first: Any, second: Any) -> Any:
            return []

    assert function_name(CoGroupWindowFunction(Pair())) == "Pair"
