"""Interval joins against nested loops: a pair counts if neither row came after the other was given up."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import strategies as st

from penstock.common.errors import ValidationError
from penstock.delta.base import INSERT, Batch
from penstock.delta.join import JoinType
from penstock.delta.time.interval_join import IntervalJoin
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

rows = timed_rows([st.sampled_from([1, 2, None]), st.integers(0, 3)], max_time=40, max_size=15)
KINDS = [JoinType.INNER, JoinType.LEFT, JoinType.RIGHT, JoinType.FULL]
BOUNDS = [(-5, 5), (0, 10), (-8, -2), (3, 9), (2, 1)]


def less(left, right):
    return left[1] <= right[1]


def join(kind, lower, upper, residual=None, time=2):
    return IntervalJoin(
        kind, (0,), (0,), time, time, lower, upper, left_width=3, right_width=3, residual=residual
    )


def model(kind, lower, upper, left, right, residual):
    def matches(one, other):
        if one.row[0] is None or one.row[0] != other.row[0]:
            return False
        one_time, other_time = ms(one.row[2]), ms(other.row[2])
        in_bounds = lower <= one_time - other_time <= upper
        in_time = one.before <= other_time + upper and other.before <= one_time - lower
        return in_bounds and in_time and (residual is None or residual(one.row, other.row))

    pad = (None,) * 3
    result = [one.row + other.row for one in left for other in right if matches(one, other)]
    if kind in (JoinType.LEFT, JoinType.FULL):
        result += [one.row + pad for one in left if not any(matches(one, other) for other in right)]
    if kind in (JoinType.RIGHT, JoinType.FULL):
        result += [pad + other.row for other in right if not any(matches(one, other) for one in left)]
    return multiset(result)


@pytest.mark.parametrize("residual", [None, less])
@pytest.mark.parametrize("kind", KINDS)
@given(st.data(), rows, rows, st.integers(0, 12), st.sampled_from(BOUNDS))
def test_an_interval_join_equals_nested_loops_wherever_epochs_are_cut(
    kind, residual, data, left, right, delay, bounds
):
    inputs = [stream(left, 2, delay), stream(right, 2, delay)]
    harness, output = replay(lambda: join(kind, *bounds, residual), inputs, data.draw(cuts(*inputs)))
    assert counted_rows(output) == model(kind, *bounds, *inputs, residual)
    assert not harness.has_state()


@pytest.mark.parametrize("kind", KINDS)
@given(st.data(), rows, rows, st.sampled_from(BOUNDS))
def test_rows_in_time_give_results_in_time_for_the_delayed_watermark(kind, data, left, right, bounds):
    inputs = [stream(sorted(side, key=lambda row: row[2]), 2, 1) for side in (left, right)]
    _, output = replay(lambda: join(kind, *bounds), inputs, data.draw(cuts(*inputs)))
    for row, _, watermark in output:
        assert watermark < min(ms(time) for time in (row[2], row[5]) if time is not None)


def test_late_rows_that_nobody_gave_up_make_no_difference_between_which_side_came_first():
    left, right = stream([(1, 0, at(20)), (1, 1, at(3))], 2), stream([(1, 0, at(5))], 2)
    whole = replay(lambda: join(JoinType.FULL, -5, 20), [left, right])[1]
    right_first = replay(lambda: join(JoinType.FULL, -5, 20), [left, right], ([(0, 1), (2, 0)], ()))[1]
    assert counted_rows(whole) == counted_rows(right_first)
    assert ((1, 1, at(3), 1, 0, at(5))) in [row for row, _, _ in whole]


def test_parcels_delivered_within_half_an_hour():
    """The corpus case join/interval_full."""
    day = dt.datetime(2024, 3, 1)
    time = lambda hour, minute, second=0: day.replace(hour=hour, minute=minute, second=second)  # noqa: E731
    shipped = [(1, time(10, 0)), (2, time(10, 5)), (3, time(10, 7)), (4, time(11, 0)), (5, time(11, 30))]
    delivered = [
        *[(1, time(10, 20)), (1, time(10, 30)), (2, time(10, 36))],
        *[(4, time(10, 59, 59)), (9, time(11, 10)), (5, time(11, 30))],
    ]
    inputs = [stream(shipped, 1, 60_000), stream(delivered, 1, 60_000)]
    operator = IntervalJoin(JoinType.FULL, (0,), (0,), 1, 1, -30 * 60_000, 0, left_width=2, right_width=2)
    _, output = replay(lambda: operator, inputs)
    none = (None, None)
    assert counted_rows(output) == multiset(
        [
            *[shipped[0] + delivered[0], shipped[0] + delivered[1], shipped[4] + delivered[5]],
            *[shipped[1] + none, shipped[2] + none, shipped[3] + none],
            *[none + delivered[2], none + delivered[3], none + delivered[4]],
        ]
    )


def test_processing_time_joins_by_the_clock_of_the_epoch():
    harness = TimeHarness(lambda: join(JoinType.LEFT, -5, 0, time=None))
    one, two = ("k", 1, None), ("k", 2, None)
    assert not harness.step([Batch([one], [INSERT])], now=10).rows
    assert harness.step([Batch(), Batch([two], [INSERT])], now=14).rows == [one + two]
    assert not harness.step([Batch([two], [INSERT])], now=15).rows
    assert harness.step([Batch(), Batch([two], [INSERT])], now=21).rows == [two + (None,) * 3]


def test_only_inner_and_outer_joins_have_an_interval_form():
    with pytest.raises(ValidationError, match="semi"):
        join(JoinType.SEMI, 0, 1)
