"""Top-N and deduplication per window against sorting all rows that were not late."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock.common.errors import ValidationError
from penstock.delta.time.window_rank import WindowDeduplicate, WindowRank
from tests.delta.time.streams import counted_rows, cuts, given, ms, multiset, replay, stream
from tests.delta.time.test_window_join import WINDOW, in_time, rows, with_windows


def groups(events):
    found = {}
    for row in in_time(events):
        found.setdefault((row[0], row[3]), []).append(row)
    return found.values()


@given(st.data(), rows, st.integers(0, 12), st.integers(1, 3), st.integers(0, 2))
def test_a_window_keeps_its_best_rows_in_order(data, arrivals, delay, start, more):
    events = stream(with_windows(arrivals), 2, delay)
    harness, output = replay(
        lambda: WindowRank(
            (0,), WINDOW, ((1, False), (2, True)), rank_start=start, rank_end=start + more, emit_rank=True
        ),
        [events],
        data.draw(cuts(events)),
    )
    expected = []
    for group in groups(events):
        best = sorted(group, key=lambda row: (-row[1], row[2]))
        expected += [(*row, rank) for rank, row in enumerate(best, 1) if start <= rank <= start + more]
    assert counted_rows(output) == multiset(expected)
    assert all(watermark < ms(row[4]) - 1 for row, _, watermark in output)
    assert not harness.has_state()


@pytest.mark.parametrize("keep_last", [False, True])
@given(st.data(), rows, st.integers(0, 12))
def test_deduplication_keeps_the_first_or_last_row_by_time(keep_last, data, arrivals, delay):
    events = stream(with_windows(arrivals), 2, delay)
    _, output = replay(
        lambda: WindowDeduplicate((0,), WINDOW, 2, keep_last=keep_last), [events], data.draw(cuts(events))
    )
    expected = []
    for group in groups(events):
        in_order = sorted(group, key=lambda row: row[2])
        expected.append(in_order[-1] if keep_last else in_order[0])
    assert counted_rows(output) == multiset(expected)


def test_row_numbers_begin_at_one():
    with pytest.raises(ValidationError, match="row numbers from 0"):
        WindowRank((), WINDOW, ((1, True),), rank_start=0, rank_end=3)
