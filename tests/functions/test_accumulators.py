"""Accumulators, alone and merged over subtasks."""

from __future__ import annotations

import pytest

from penstock.functions.accumulators import (
    AverageAccumulator,
    DoubleCounter,
    Histogram,
    IntCounter,
    IntMaximum,
    IntMinimum,
    ListAccumulator,
    LongCounter,
    merge_accumulators,
)


def filled(accumulator, *values):
    for value in values:
        accumulator.add(value)
    return accumulator


@pytest.mark.parametrize(
    "kind, first, second, result",
    [
        (IntCounter, [1, 2], [3], 6),
        (LongCounter, [2**40], [1], 2**40 + 1),
        (DoubleCounter, [0.5], [0.25], 0.75),
        (IntMinimum, [4, 2], [3], 2),
        (IntMaximum, [4, 2], [9], 9),
        (AverageAccumulator, [1, 2], [6], 3.0),
        (ListAccumulator, ["a"], ["b"], ["a", "b"]),
        (Histogram, [3, 1, 3], [1], {1: 2, 3: 2}),
    ],
)
def test_subtasks_merge_into_one_result(kind, first, second, result):
    reports = [{"x": filled(kind(), *first)}, {"x": filled(kind(), *second)}, {"x": kind()}]
    assert merge_accumulators(reports) == {"x": result}
    assert merge_accumulators(reports) == {"x": result}  # the reports are as they were


def test_a_counter_counts_by_one_and_resets():
    counter = IntCounter()
    counter.add()
    counter.add(4)
    assert counter.get_local_value() == 5
    counter.reset_local()
    assert counter.get_local_value() == 0


def test_one_name_for_two_kinds_is_refused():
    with pytest.raises(TypeError, match="IntCounter in one subtask and a Histogram"):
        merge_accumulators([{"x": IntCounter()}, {"x": Histogram()}])


def test_nothing_was_added():
    assert merge_accumulators([{"min": IntMinimum(), "avg": AverageAccumulator()}]) == {
        "min": None,
        "avg": 0.0,
    }
