"""Operators that end their windows by the clock of the epoch."""

from __future__ import annotations

from penstock.common.datatypes import DataTypes
from penstock.delta.aggregates import AggSpec
from penstock.delta.base import INSERT
from penstock.delta.sort_time import SortEpoch
from penstock.delta.time.session import SessionRows
from penstock.delta.time.window_aggregate import AttachedWindow, AttachedWindowAggregate
from tests.delta.harness import Harness
from tests.delta.time.streams import at


def aggregate():
    count = AggSpec("COUNT", (), DataTypes.BIGINT(False))
    return AttachedWindowAggregate((0,), AttachedWindow(1, 2), [count], processing_time=True)


def in_window(key, start, end):
    return (key, at(start), at(end)), INSERT


def test_a_window_answers_in_the_epoch_whose_clock_has_passed_its_last_millisecond():
    harness = Harness(aggregate)
    assert harness.epoch([in_window("a", 0, 10)], now=3) == []
    assert harness.epoch([in_window("a", 0, 10)], now=8) == []
    assert harness.epoch(now=9) == [(("a", 2, at(0), at(10)), INSERT)]


def test_the_watermark_neither_ends_a_window_nor_makes_a_row_late():
    harness = Harness(aggregate)
    assert harness.epoch([in_window("a", 0, 10)], now=3, watermark=50, row_watermarks=[40]) == []
    assert harness.epoch(now=10) == [(("a", 1, at(0), at(10)), INSERT)]


def test_a_row_whose_window_has_ended_is_answered_at_once():
    harness = Harness(aggregate)
    assert harness.epoch([in_window("a", 0, 10)], now=12) == [(("a", 1, at(0), at(10)), INSERT)]


def test_a_session_is_not_taken_up_again_after_its_gap_although_its_timer_comes_late():
    harness = Harness(lambda: SessionRows((0,), None, 10))
    assert harness.epoch([(("a",), INSERT)], now=0) == []
    late = harness.epoch([(("a",), INSERT)], now=30)
    assert late == [(("a", at(0), at(10), at(9)), INSERT)]
    assert harness.epoch(now=39) == [(("a", at(30), at(40), at(39)), INSERT)]


def test_rows_of_an_epoch_are_sorted_by_what_follows_the_processing_time():
    harness = Harness(lambda: SortEpoch([(0, False)]))
    rows = [((value,), INSERT) for value in (2, 3, 1)]
    assert harness.epoch(rows) == [((value,), INSERT) for value in (3, 2, 1)]
