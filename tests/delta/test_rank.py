"""Top-N, ORDER BY ... LIMIT and LIMIT: the rows that sorting the whole table would put there."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.delta.base import DELETE, INSERT, UNMATCHED_RETRACTIONS, UPDATE_AFTER, UPDATE_BEFORE
from penstock.delta.limit import Limit
from penstock.delta.rank import Rank
from penstock.delta.sort_limit import SortLimit
from tests.delta.harness import Harness, changelogs, counted, cut, inserts, table_of

rows = st.tuples(st.sampled_from(["p", None]), st.one_of(st.none(), st.integers(0, 40)), st.integers(0, 2))


def in_arrival_order(history):
    """The rows left; a row that goes takes the earliest like it."""
    left = []
    for row, kind in history:
        if kind == INSERT:
            left.append(row)
        else:
            left.remove(row)
    return left


def number(value):
    return -1 if value is None else value


def model(history, start, end, with_rank, descending):
    """Sorts each partition by its second column; sorted() keeps arrival order among equals."""
    result = []
    left = in_arrival_order(history)
    for key in {row[0] for row in left}:
        sign = -1 if descending else 1
        group = sorted((row for row in left if row[0] == key), key=lambda row: sign * number(row[1]))
        for at, row in enumerate(group[start - 1 : end], start):
            result.append((*row, at) if with_rank else row)
    return counted(result)


@pytest.mark.parametrize("with_rank", [True, False])
@pytest.mark.parametrize("retracts", [True, False])
@given(st.data(), st.integers(1, 3), st.integers(0, 3), st.booleans())
def test_any_cut_gives_the_first_rows_of_each_partition(with_rank, retracts, data, start, more, descending):
    history = data.draw(changelogs(rows, 60, retracts=retracts))
    end = start + more
    harness = Harness(
        lambda: Rank(
            (0,),
            ((1, not descending),),
            start=start,
            end=end,
            outputs_rank=with_rank,
            input_retracts=retracts,
        )
    )
    found = harness.run(data.draw(cut(history)), data.draw(st.sets(st.integers(1, 4))))
    assert found == model(history, start, end, with_rank, descending)


@given(st.permutations(range(50)), st.permutations(range(50)))
def test_leaders_that_ran_out_are_picked_anew(coming, going):
    harness = Harness(lambda: Rank((), ((0, True),), end=3))
    harness.epoch(inserts([(value,) for value in coming]))
    left = set(coming)
    for value in [*range(30), *going]:
        if value in left:
            left.remove(value)
            harness.epoch([((value,), DELETE)])
            assert harness.table.counts() == counted((value,) for value in sorted(left)[:3])


@given(st.data(), st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9), st.booleans()), max_size=40))
def test_upserts_replace_the_row_of_their_key(data, changes):
    history = [
        ((key, value if there else None), UPDATE_AFTER if there else DELETE) for key, value, there in changes
    ]
    harness = Harness(lambda: Rank((), ((1, True), (0, True)), end=2, upsert_key=(0,)))
    found = harness.run(data.draw(cut(history)), data.draw(st.sets(st.integers(1, 4))))
    last = {}
    for row, kind in history:
        last.pop(row[0], None)
        if kind == UPDATE_AFTER:
            last[row[0]] = row
    assert found == counted(sorted(last.values(), key=lambda row: (row[1], row[0]))[:2])


def test_a_new_best_row_shifts_the_ranks_below():
    harness = Harness(lambda: Rank((), ((0, False),), end=2, outputs_rank=True))
    harness.epoch(inserts([(70,), (60,)]))
    assert harness.epoch(inserts([(85,)])) == [
        ((70, 1), UPDATE_BEFORE),
        ((85, 1), UPDATE_AFTER),
        ((60, 2), UPDATE_BEFORE),
        ((70, 2), UPDATE_AFTER),
    ]


def test_without_the_rank_only_rows_that_leave_or_enter_are_told():
    harness = Harness(lambda: Rank((), ((0, False),), end=2))
    harness.epoch(inserts([(70,), (60,)]))
    assert harness.epoch(inserts([(85,)])) == [((60,), DELETE), ((85,), INSERT)]


def test_the_last_rank_may_be_a_column():
    harness = Harness(lambda: Rank((0,), ((1, True),), end=None, end_column=2))
    harness.epoch(inserts([("a", 1, 1), ("a", 2, 1), ("b", 1, 2), ("b", 2, 2), ("b", 3, 2)]))
    assert Counter(harness.table.rows()) == Counter([("a", 1, 1), ("b", 1, 2), ("b", 2, 2)])


def test_a_row_that_goes_but_was_never_there_is_counted_and_ignored():
    harness = Harness(lambda: Rank((), ((0, True),), end=2))
    assert harness.epoch([((5,), DELETE)]) == []
    assert harness.metrics == {UNMATCHED_RETRACTIONS: 1}


def test_limit_zero_gives_nothing():
    harness = Harness(lambda: SortLimit(((0, True),), limit=0))
    assert harness.epoch(inserts([(1,), (2,)])) == []
    assert harness.epoch([((1,), DELETE)]) == []


@given(st.data(), changelogs(rows), st.integers(0, 4), st.integers(0, 3))
def test_order_by_limit_offset(data, history, limit, offset):
    order = ((1, True), (0, False), (2, False))
    harness = Harness(lambda: SortLimit(order, limit=limit, offset=offset))
    found = harness.run(data.draw(cut(history)))
    expected = sorted(table_of(history), key=lambda row: (number(row[1]), -ord((row[0] or "\0")[0]), -row[2]))
    assert found == counted(expected[offset : offset + limit])


@given(st.data(), changelogs(rows), st.integers(0, 4), st.integers(0, 3))
def test_limit_of_a_changing_table_takes_the_oldest_rows_left(data, history, limit, offset):
    harness = Harness(lambda: SortLimit((), limit=limit, offset=offset))
    found = harness.run(data.draw(cut(history)))
    assert found == counted(in_arrival_order(history)[offset : offset + limit])


@given(st.data(), changelogs(rows, retracts=False), st.integers(0, 4), st.integers(0, 3))
def test_limit_of_rows_that_only_come_passes_the_first_ones(data, history, limit, offset):
    harness = Harness(lambda: Limit(limit, offset))
    harness.run(data.draw(cut(history)), data.draw(st.sets(st.integers(1, 4))))
    assert [token for token, _ in harness.changes] == [row for row, _ in history][offset : offset + limit]
    assert all(kind == INSERT for _, kind in harness.changes)
