"""Regular joins: after any two histories, cut anywhere, the result is the join of what the tables hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.delta import row_store
from penstock.delta.base import DELETE, INSERT, UNMATCHED_RETRACTIONS
from penstock.delta.join import JoinType, RegularJoin
from tests.delta.harness import Harness, changelogs, counted, cut, inserts, table_of

rows = st.tuples(st.sampled_from([1, 2, None]), st.integers(0, 2))


def less(left, right):
    return None if right[1] is None else left[1] < right[1]


def model(kind, left, right, matches):
    """The join by nested loops."""
    result, pad = [], (None, None)
    for one in left:
        partners = [other for other in right if matches(one, other)]
        if kind is JoinType.SEMI:
            result += [one] if partners else []
        elif kind is JoinType.ANTI:
            result += [] if partners else [one]
        else:
            result += [one + other for other in partners]
            if not partners and kind in (JoinType.LEFT, JoinType.FULL):
                result.append(one + pad)
    if kind in (JoinType.RIGHT, JoinType.FULL):
        result += [pad + other for other in right if not any(matches(one, other) for one in left)]
    return counted(result)


def equal(left, right):
    return left[0] is not None and left[0] == right[0]


@pytest.mark.parametrize("kind", JoinType)
@given(st.data(), changelogs(rows), changelogs(rows))
def test_a_join_on_a_key_equals_nested_loops(kind, data, left, right):
    harness = Harness(lambda: RegularJoin(kind, (0,), (0,), left_width=2, right_width=2))
    found = harness.run(data.draw(cut(left, right)), data.draw(st.sets(st.integers(1, 4))))
    assert found == model(kind, table_of(left), table_of(right), equal)


@pytest.mark.parametrize("kind", JoinType)
@given(st.data(), changelogs(rows), changelogs(rows))
def test_a_join_with_a_residual_predicate_equals_nested_loops(kind, data, left, right):
    harness = Harness(lambda: RegularJoin(kind, (0,), (0,), left_width=2, right_width=2, residual=less))
    found = harness.run(data.draw(cut(left, right)), data.draw(st.sets(st.integers(1, 4))))
    assert found == model(kind, table_of(left), table_of(right), lambda a, b: equal(a, b) and a[1] < b[1])


@pytest.mark.parametrize("kind", [JoinType.INNER, JoinType.FULL])
@given(st.data(), changelogs(rows), changelogs(rows))
def test_null_safe_keys_match_each_other(kind, data, left, right):
    harness = Harness(lambda: RegularJoin(kind, (0,), (0,), left_width=2, right_width=2, null_safe=(True,)))
    found = harness.run(data.draw(cut(left, right)))
    assert found == model(kind, table_of(left), table_of(right), lambda a, b: a[0] == b[0])


@given(st.data(), changelogs(rows, 8), changelogs(rows, 8))
def test_without_keys_it_is_a_cross_join(data, left, right):
    harness = Harness(lambda: RegularJoin(JoinType.INNER, (), (), left_width=2, right_width=2))
    found = harness.run(data.draw(cut(left, right)))
    assert found == model(JoinType.INNER, table_of(left), table_of(right), lambda a, b: True)


def three_valued_equal(left, right):
    return None if left[0] is None or right[0] is None else left[0] == right[0]


@given(st.data(), changelogs(rows), changelogs(rows))
def test_not_in_is_three_valued(data, left, right):
    harness = Harness(
        lambda: RegularJoin(
            JoinType.ANTI, (), (), left_width=2, right_width=2, residual=three_valued_equal, null_aware=True
        )
    )
    found = harness.run(data.draw(cut(left, right)))
    not_false = lambda a, b: three_valued_equal(a, b) is not False  # noqa: E731
    assert found == model(JoinType.ANTI, table_of(left), table_of(right), not_false)


@given(st.data(), changelogs(rows, retracts=False), changelogs(rows, retracts=False))
def test_an_inner_join_of_rows_that_only_come_only_adds_rows(data, left, right):
    harness = Harness(lambda: RegularJoin(JoinType.INNER, (0,), (0,), left_width=2, right_width=2))
    harness.run(data.draw(cut(left, right)))
    assert all(kind == INSERT for _, kind in harness.changes)


@pytest.mark.parametrize("kind", JoinType)
@pytest.mark.parametrize("residual", [None, less])
def test_keys_with_many_rows_move_to_map_state_and_join_the_same(kind, residual, monkeypatch):
    monkeypatch.setattr(row_store, "SMALL", 2)
    left = [*inserts([(1, n % 4) for n in range(7)]), ((1, 0), DELETE)]
    right = inserts([(1, n) for n in range(5)]) + [((1, n), DELETE) for n in range(5)] + inserts([(1, 2)])
    harness = Harness(lambda: RegularJoin(kind, (0,), (0,), left_width=2, right_width=2, residual=residual))
    found = harness.run([([change], []) for change in left] + [([], [change]) for change in right], {3, 9})
    holds = equal if residual is None else lambda a, b: equal(a, b) and a[1] < b[1]
    assert found == model(kind, table_of(left), table_of(right), holds)


def test_a_row_that_meets_its_match_in_the_same_epoch_was_never_padded():
    harness = Harness(lambda: RegularJoin(JoinType.LEFT, (0,), (0,), left_width=2, right_width=1))
    assert harness.epoch(inserts([(1, "l")]), inserts([(1,)])) == [((1, "l", 1), INSERT)]


def test_a_padded_row_goes_when_a_match_comes_and_comes_back():
    harness = Harness(lambda: RegularJoin(JoinType.LEFT, (0,), (0,), left_width=2, right_width=1))
    assert harness.epoch(inserts([(1, "l")]), []) == [((1, "l", None), INSERT)]
    assert harness.epoch([], inserts([(1,)])) == [((1, "l", None), DELETE), ((1, "l", 1), INSERT)]
    assert harness.epoch([], [((1,), DELETE)]) == [((1, "l", 1), DELETE), ((1, "l", None), INSERT)]


def test_rows_with_lists_and_maps_join():
    harness = Harness(lambda: RegularJoin(JoinType.INNER, (0,), (0,), left_width=2, right_width=2))
    harness.epoch(inserts([(1, [1, None])]), inserts([(1, {"k": [2]})]))
    assert harness.table.rows() == [(1, [1, None], 1, {"k": [2]})]
    harness.epoch([((1, [1, None]), DELETE)], [])
    assert harness.table.rows() == []


def test_a_row_that_goes_but_was_never_there_is_counted_and_ignored():
    harness = Harness(lambda: RegularJoin(JoinType.FULL, (0,), (0,), left_width=2, right_width=2))
    assert harness.epoch([((1, 1), DELETE)], inserts([(1, 2)])) == [((None, None, 1, 2), INSERT)]
    assert harness.metrics == {UNMATCHED_RETRACTIONS: 1}


def test_expired_rows_do_not_match():
    harness = Harness(
        lambda: RegularJoin(JoinType.INNER, (0,), (0,), left_width=2, right_width=2, left_state_ttl_ms=1000)
    )
    harness.epoch(inserts([(1, 1)]), [])
    assert harness.epoch([], inserts([(1, 2)]), now=999) == [((1, 1, 1, 2), INSERT)]
    assert harness.epoch([], inserts([(1, 3)]), now=1000) == []
