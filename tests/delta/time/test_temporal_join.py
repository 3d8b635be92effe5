"""Temporal joins against a model that keeps all versions."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import strategies as st

from penstock.common.errors import ValidationError
from penstock.delta.base import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from penstock.delta.join import JoinType
from penstock.delta.time.temporal_join import EventTimeTemporalJoin
from tests.delta.time.streams import (
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

rows = timed_rows([st.sampled_from([1, 2, None]), st.integers(0, 3)], max_time=40, max_size=15)
kinds = st.lists(st.sampled_from([INSERT, UPDATE_AFTER, UPDATE_BEFORE, DELETE]), min_size=15, max_size=15)
KINDS = [JoinType.INNER, JoinType.LEFT]
PAD = (None,) * 3


def join(kind, residual=None):
    return EventTimeTemporalJoin(kind, (0,), (0,), 2, 2, right_width=3, residual=residual)


def model(kind, left, right, in_order):
    """`in_order`: no row is late, so the answer is simply the newest version at the row's time."""
    result = []
    for event in left:
        key, time = event.row[0], ms(event.row[2])
        as_of = time if in_order else max(time, event.before)
        versions = [
            (ms(v.row[2]), number, v)
            for number, v in enumerate(right)
            if v.kind != UPDATE_BEFORE and v.row[0] == key and key is not None and ms(v.row[2]) <= as_of
            if in_order or v.before <= as_of
        ]
        newest = max(versions, default=None, key=lambda version: version[:2])
        if newest is not None and newest[0] <= time and newest[2].kind != DELETE:
            result.append(event.row + newest[2].row)
        elif kind is JoinType.LEFT:
            result.append(event.row + PAD)
    return multiset(result)


@pytest.mark.parametrize("kind", KINDS)
@given(st.data(), rows, rows, kinds, st.integers(0, 12))
def test_rows_meet_the_version_of_their_time_wherever_epochs_are_cut(
    kind, data, left, right, right_kinds, delay
):
    inputs = [stream(left, 2, delay), stream(right, 2, delay, right_kinds)]
    _, output = replay(lambda: join(kind), inputs, data.draw(cuts(*inputs)))
    assert counted_rows(output) == model(kind, *inputs, in_order=False)


@pytest.mark.parametrize("kind", KINDS)
@given(st.data(), rows, rows, kinds)
def test_without_late_rows_the_newest_version_counts(kind, data, left, right, right_kinds):
    by_time = [sorted(side, key=lambda row: row[2]) for side in (left, right)]
    inputs = [stream(by_time[0], 2, 1), stream(by_time[1], 2, 1, right_kinds)]
    _, output = replay(lambda: join(kind), inputs, data.draw(cuts(*inputs)))
    assert counted_rows(output) == model(kind, *inputs, in_order=True)
    times = [row[2] for row, _, _ in output]
    assert times == sorted(times)
    assert all(watermark < ms(row[2]) for row, _, watermark in output)


@given(st.data(), rows)
def test_one_version_of_a_key_remains(data, right):
    inputs = [[], stream(right, 2)]
    harness, _ = replay(lambda: join(JoinType.INNER), inputs, data.draw(cuts(*inputs)))
    keys = {row[0] for row in right}
    harness._backend.begin_epoch(harness._restore_point(), 0)
    for key in keys:
        harness._backend.set_current_key((key,))
        assert len(harness._operator._versions.value()) == 1
    harness._backend.abort_epoch()
    assert harness.has_state() == (["s/versions"] if keys else [])


def test_a_deleted_key_is_absent_until_it_is_inserted_again():
    """The corpus case join/temporal_after_delete."""
    time = lambda hour, minute=0, second=0: dt.datetime(2024, 5, 1, hour, minute, second)  # noqa: E731
    buys = [
        *[(1, "EUR", time(7, 59, 59)), (2, "EUR", time(8)), (3, "GBP", time(9, 30))],
        *[(4, "EUR", time(10, 59, 59)), (5, "USD", time(11)), (6, "EUR", time(11)), (7, "GBP", time(12))],
    ]
    rates = [("EUR", 110, time(8)), ("EUR", 110, time(9)), ("EUR", 140, time(11))]
    inputs = [stream(buys, 2), stream(rates, 2, kinds=[INSERT, DELETE, INSERT])]
    operator = EventTimeTemporalJoin(JoinType.LEFT, (1,), (0,), 2, 2, right_width=3)
    _, output = replay(lambda: operator, inputs)
    found = {row[0]: row[4] for row, _, _ in output}
    assert found == {1: None, 2: 110, 3: None, 4: None, 5: None, 6: 140, 7: None}


def test_a_version_that_does_not_meet_the_residual_counts_as_none():
    inputs = [stream([(1, 5, at(10))], 2), stream([(1, 3, at(5))], 2)]
    _, output = replay(lambda: join(JoinType.LEFT, lambda left, right: left[1] < right[1]), inputs)
    assert [row for row, _, _ in output] == [(1, 5, at(10), *PAD)]


def test_only_inner_and_left_joins_have_a_temporal_form():
    with pytest.raises(ValidationError, match="full"):
        join(JoinType.FULL)
