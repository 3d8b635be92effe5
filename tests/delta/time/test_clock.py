"""Time columns as milliseconds, and the wall clock of a zone around its changes of offset."""

from __future__ import annotations

import datetime as dt
import pickle

import pytest
from hypothesis import strategies as st

from penstock.common.errors import MalformedRecordError
from penstock.delta.time.clock import WindowClock, from_ms, to_ms
from tests.delta.time.streams import given, ms

HOUR = 3_600_000


def wall(*parts):
    return ms(dt.datetime(*parts))


utc = wall


@given(st.integers(-(10**13), 10**13))
def test_milliseconds_and_datetimes_are_the_same_moments(time_ms):
    assert to_ms(from_ms(time_ms)) == time_ms


def test_parts_of_a_millisecond_are_cut_off_also_before_1970():
    assert to_ms(dt.datetime(1969, 12, 31, 23, 59, 59, 999_900)) == -1


def test_an_aware_datetime_is_taken_as_its_moment():
    oslo = dt.timezone(dt.timedelta(hours=1))
    assert to_ms(dt.datetime(2024, 1, 1, 1, tzinfo=oslo)) == utc(2024, 1, 1)


def test_a_missing_time_says_what_to_do():
    with pytest.raises(MalformedRecordError, match="filter such rows out"):
        to_ms(None)


@given(st.integers(0, 2 * 10**12))
def test_a_clock_shows_later_what_it_shows_earlier_only_in_the_hour_that_comes_twice(time_ms):
    clock = WindowClock("Europe/Oslo")
    shown = clock.wall(time_ms)
    assert clock.epoch(shown) in (time_ms, time_ms - HOUR)


def test_a_window_that_ends_in_the_hour_that_comes_twice_waits_for_the_second():
    clock = WindowClock("Europe/Oslo")
    assert clock.fires_at(wall(2024, 10, 27, 2)) == utc(2024, 10, 27) - 1
    assert clock.fires_at(wall(2024, 10, 27, 3)) == utc(2024, 10, 27, 2) - 1
    assert clock.fires_at(wall(2024, 10, 27, 4)) == utc(2024, 10, 27, 3) - 1


def test_a_window_that_ends_in_the_hour_that_is_skipped_fires_at_the_jump():
    clock = WindowClock("Europe/Oslo")
    assert clock.fires_at(wall(2024, 3, 31, 2)) == utc(2024, 3, 31, 1) - 1
    assert clock.fires_at(wall(2024, 3, 31, 2, 30)) == utc(2024, 3, 31, 1)
    assert clock.fires_at(wall(2024, 3, 31, 4)) == utc(2024, 3, 31, 2) - 1


def test_a_clock_can_be_sent_to_a_task():
    clock = pickle.loads(pickle.dumps(WindowClock("Asia/Kathmandu")))
    assert clock.wall(0) == 5 * HOUR + HOUR // 2
    assert not pickle.loads(pickle.dumps(WindowClock())).has_zone
