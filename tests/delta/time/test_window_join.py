"""Window joins against nested loops over the rows that were not late for their window."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock.common.errors import InvariantError
from penstock.delta.base import DELETE, Batch
from penstock.delta.join import JoinType
from penstock.delta.time.window_join import WindowJoin
from penstock.delta.time.windows import AttachedWindow, tumble
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

rows = timed_rows([st.sampled_from([1, 2, None]), st.integers(0, 3)], max_time=30, max_size=15)
WINDOW = AttachedWindow(3, 4)
SPEC = tumble(10)


def with_windows(arrivals):
    """(key, value, time, window_start, window_end)."""
    ends = [SPEC.slice_end(ms(row[2])) for row in arrivals]
    return [(*row, at(end - 10), at(end)) for row, end in zip(arrivals, ends, strict=True)]


def in_time(events):
    return [event.row for event in events if event.before < ms(event.row[4]) - 1]


def join(kind, residual=None):
    return WindowJoin(kind, (0,), (0,), WINDOW, WINDOW, left_width=5, right_width=5, residual=residual)


def less(left, right):
    return left[1] < right[1]


def model(kind, left, right, residual):
    def matches(one, other):
        same = one[0] is not None and one[0] == other[0] and one[3:] == other[3:]
        return same and (residual is None or residual(one, other))

    result, pad = [], (None,) * 5
    for one in left:
        partners = [other for other in right if matches(one, other)]
        if kind is JoinType.SEMI:
            result += [one] if partners else []
        elif kind is JoinType.ANTI:
            result += [] if partners else [one]
        else:
            result += [one + other for other in partners]
            result += [one + pad] if not partners and kind in (JoinType.LEFT, JoinType.FULL) else []
    if kind in (JoinType.RIGHT, JoinType.FULL):
        result += [pad + other for other in right if not any(matches(one, other) for one in left)]
    return multiset(result)


@pytest.mark.parametrize("residual", [None, less])
@pytest.mark.parametrize("kind", JoinType)
@given(st.data(), rows, rows, st.integers(0, 12))
def test_a_window_join_equals_nested_loops_wherever_epochs_are_cut(kind, residual, data, left, right, delay):
    inputs = [stream(with_windows(left), 2, delay), stream(with_windows(right), 2, delay)]
    harness, output = replay(lambda: join(kind, residual), inputs, data.draw(cuts(*inputs)))
    assert counted_rows(output) == model(kind, in_time(inputs[0]), in_time(inputs[1]), residual)
    assert all(watermark < ms(row[4] or row[9]) - 1 for row, _, watermark in output)
    assert not harness.has_state()


def test_a_row_that_is_taken_back_is_an_error_of_the_planner():
    harness = TimeHarness(lambda: join(JoinType.INNER))
    with pytest.raises(InvariantError, match="taken back"):
        harness.step([Batch([(1, 1, at(0), at(0), at(10))], [DELETE])])
