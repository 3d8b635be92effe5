from __future__ import annotations

import datetime

import pytest

from penstock.common import Duration, Instant, Time
from penstock.common.time import to_millis


def test_durations_compare_by_length():
    assert Duration.of_seconds(60) == Duration.of_minutes(1)
    assert Duration.of_hours(1) < Duration.of_days(1)
    assert len({Duration.of_millis(1), Duration.of_nanos(1_000_000)}) == 1


def test_every_length_of_time_has_milliseconds():
    spans = [Duration.of_seconds(2), Time.seconds(2), datetime.timedelta(seconds=2), 2_000]
    assert [to_millis(span) for span in spans] == [2_000] * 4
    assert to_millis(Duration.of_nanos(-1)) == -1  # rounds down, as Java does
    with pytest.raises(TypeError):
        to_millis("2 s")


def test_instants_before_1970_keep_their_milliseconds():
    assert Instant.of_epoch_milli(-1) == Instant(-1, 999_000_000)
    for milli in (-1_001, -1, 0, 1_500):
        assert Instant.of_epoch_milli(milli).to_epoch_milli() == milli
    assert Instant(0, 5_000).to_datetime().microsecond == 5


def test_times_add_up_their_units():
    assert Time.days(1) == Time.hours(24) == Time.minutes(1440) == Time.seconds(86_400)
    assert str(Time.seconds(2)) == "2000 ms"
