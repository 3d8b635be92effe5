"""Session windows against a model that holds sessions as sets of rows."""

from __future__ import annotations

import datetime as dt
from itertools import groupby
from operator import itemgetter

import pytest
from hypothesis import strategies as st

from penstock.common.errors import ValidationError
from penstock.delta.base import INSERT, Batch
from penstock.delta.time.session import SessionRows
from tests.delta.time.streams import (
    TimeHarness,
    at,
    counted_rows,
    cuts,
    given,
    ms,
    multiset,
    replay,
    stream,
    timed_rows,
)

GAP = 5
rows = timed_rows([st.sampled_from(["a", "b"]), st.integers(0, 9)], max_time=40)


def model(events):
    """Sessions as (key, start, end, rows): a row joins those that touch its window and are still open."""
    sessions = []
    for event in events:
        key, _, time = event.row
        start, end = ms(time), ms(time) + GAP
        near = [
            s for s in sessions if s[0] == key and s[1] <= end and start <= s[2] and s[2] - 1 > event.before
        ]
        if not near and end - 1 <= event.before:
            continue
        sessions = [s for s in sessions if s not in near]
        members = [row for s in near for row in s[3]] + [event.row]
        sessions.append(
            (key, min([start, *(s[1] for s in near)]), max([end, *(s[2] for s in near)]), members)
        )
    return sessions


@given(st.data(), rows, st.integers(0, 15))
def test_sessions_hold_what_came_while_they_were_open_wherever_epochs_are_cut(data, arrivals, delay):
    events = stream(arrivals, 2, delay)
    harness, output = replay(lambda: SessionRows((0,), 2, GAP), [events], data.draw(cuts(events)))
    assert counted_rows(output) == multiset(
        (*row, at(start), at(end), at(end - 1)) for _, start, end, members in model(events) for row in members
    )
    ends = [row[4] for row, _, _ in output]
    assert ends == sorted(ends)
    assert all(watermark < ms(row[4]) - 1 for row, _, watermark in output)
    assert not harness.has_state()


def seconds(*rows):
    return [(key, value, dt.datetime(2024, 1, 1, 0, 0, second)) for key, value, second in rows]


def test_a_late_row_counts_in_an_open_session_and_not_in_a_closed_one():
    arrivals = seconds(
        *[("a", 1, 5), ("a", 2, 9), ("a", 4, 13), ("a", 8, 6), ("b", 16, 6)],
        *[("a", 32, 30), ("a", 64, 18), ("a", 128, 24)],
    )
    harness, output = replay(lambda: SessionRows((0,), 2, 5000), [stream(arrivals, 2, 2000)])
    sessions = groupby((row for row, _, _ in output), key=itemgetter(0, 4))
    assert [(key, sorted(row[1] for row in rows)) for (key, _), rows in sessions] == [
        ("a", [1, 2, 4, 8]),
        ("a", [128]),
        ("a", [32]),
    ]
    assert harness.metrics["numLateRecordsDropped"] == 2


def test_rows_exactly_one_gap_apart_stay_in_one_session():
    events = stream([("a", 1, at(0)), ("a", 1, at(5)), ("a", 1, at(11))], 2, 20)
    _, output = replay(lambda: SessionRows((0,), 2, 5), [events])
    first, second = (at(0), at(10)), (at(11), at(16))
    assert [row[3:5] for row, _, _ in output] == [first, first, second]


def test_processing_time_sessions_end_by_the_clock_of_the_epoch():
    harness = TimeHarness(lambda: SessionRows((0,), None, 5))
    one = Batch([("a",)], [INSERT])
    assert not harness.step([one], now=1).rows
    assert not harness.step([one], now=4).rows
    assert harness.step([one], now=20).rows == [("a", at(1), at(9), at(8))] * 2


def test_the_gap_must_be_positive():
    with pytest.raises(ValidationError, match="gap"):
        SessionRows((0,), 2, 0)
