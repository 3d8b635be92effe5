"""The columnar join changes its result, in every epoch, exactly as the join by rows does."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.datatypes import DataTypes
from penstock.common.errors import InvariantError
from penstock.delta.base import DELETE, INSERT, UNMATCHED_RETRACTIONS, UPDATE_AFTER, UPDATE_BEFORE, WEIGHT
from penstock.delta.columnar import join as columnar_join
from penstock.delta.columnar.join import ColumnarJoin
from penstock.delta.join import JoinType, RegularJoin
from penstock.delta.rows import canonical_bytes
from penstock.state.arranged import arrangement, runs
from tests.delta.arrow_rows import ByRows
from tests.delta.harness import Harness, changelogs, cut, inserts

TYPES = [DataTypes.BIGINT(), DataTypes.STRING(), DataTypes.DOUBLE()]
ARROW = [pa.int64(), pa.string(), pa.float64()]
KEYS = [(0,), (0, 1), ()]
values = st.sampled_from([0.0, -0.0, float("nan"), 1.5, None])
rows = st.tuples(st.sampled_from([1, 2, 300, None]), st.sampled_from(["a", "b", None]), values)
# Joined with nothing but NULLs a row looks as if it stood alone; only the join by rows sees that nothing changes.
rows = rows.filter(lambda row: row != (None, None, None))
matching = rows.filter(lambda row: row[0] is not None)
kinds = st.sampled_from([INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE])


def by_columns(join_type, keys, null_safe=(), retracts=(True, True)):
    operator = ColumnarJoin(
        join_type, keys, keys, left_types=TYPES, right_types=TYPES, null_safe=null_safe,
        left_retracts=retracts[0], right_retracts=retracts[1],
    )  # fmt: skip
    return ByRows(operator, ARROW, ARROW)


def by_rows(join_type, keys, null_safe=()):
    return RegularJoin(join_type, keys, keys, left_width=3, right_width=3, null_safe=null_safe)


def told(changes):
    return Counter((canonical_bytes(row), WEIGHT[kind]) for row, kind in changes)


def net(changes):
    """The same, where a row that goes and comes in one epoch counts for nothing."""
    sums = Counter()
    for row, kind in changes:
        sums[canonical_bytes(row)] += WEIGHT[kind]
    return {row: weight for row, weight in sums.items() if weight}


def compare(make, reference, epochs, restarts=(), told=told):
    mine, theirs = Harness(make), Harness(reference)
    for number, inputs in enumerate(epochs):
        if number in restarts:
            mine.restart()
            theirs.restart()
        assert told(mine.epoch(*inputs)) == told(theirs.epoch(*inputs))
    assert mine.metrics.get(UNMATCHED_RETRACTIONS, 0) == theirs.metrics.get(UNMATCHED_RETRACTIONS, 0)


@pytest.mark.parametrize("join_type", JoinType)
@settings(deadline=None, max_examples=60)
@given(st.data(), changelogs(rows), changelogs(rows), st.sets(st.integers(0, 5)))
def test_changes_of_any_two_tables(join_type, data, left, right, restarts):
    keys = data.draw(st.sampled_from(KEYS))
    null_safe = data.draw(st.sampled_from([(), (True,) * len(keys), (False, True)[: len(keys)]]))
    epochs = data.draw(cut(left, right))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrangement, "FANOUT", data.draw(st.sampled_from([2, 4])))
        patch.setattr(arrangement, "_SMALL_ROWS", 3)
        patch.setattr(runs, "CHUNK_ROWS", 4)
        patch.setattr(columnar_join, "_PAIRS", 5)
        compare(
            lambda: by_columns(join_type, keys, null_safe),
            lambda: by_rows(join_type, keys, null_safe),
            epochs,
            restarts,
        )


@pytest.mark.parametrize("join_type", JoinType)
@settings(deadline=None, max_examples=40)
@given(
    st.data(),
    st.lists(st.tuples(matching, kinds), max_size=20),
    st.lists(st.tuples(matching, kinds), max_size=20),
)
def test_rows_that_go_without_having_come_are_ignored_and_counted(join_type, data, left, right):
    compare(
        lambda: by_columns(join_type, (0,)), lambda: by_rows(join_type, (0,)), data.draw(cut(left, right))
    )


@pytest.mark.parametrize("join_type", JoinType)
@settings(deadline=None, max_examples=40)
@given(st.data(), changelogs(rows, retracts=False), changelogs(rows), st.booleans())
def test_inputs_whose_rows_only_come(join_type, data, growing, changing, swapped):
    inputs, retracts = (growing, changing), (False, True)
    if swapped:
        inputs, retracts = (changing, growing), (True, False)
    epochs = data.draw(cut(*inputs))
    # Equal rows of the input whose rows only come are not told apart, so one may leave for the other.
    compare(
        lambda: by_columns(join_type, (0,), (), retracts), lambda: by_rows(join_type, (0,)), epochs, told=net
    )
    both = data.draw(cut(growing, growing))
    compare(lambda: by_columns(join_type, (0,), (), (False, False)), lambda: by_rows(join_type, (0,)), both)


def test_many_partners_of_one_row_come_in_portions(monkeypatch):
    monkeypatch.setattr(columnar_join, "_PAIRS", 7)
    many = inserts([(1, str(i), None) for i in range(40)])
    make = [lambda: by_columns(JoinType.FULL, (0,)), lambda: by_rows(JoinType.FULL, (0,))]
    compare(*make, [(many, []), ([], inserts([(1, "x", None)])), ([], [((1, "x", None), DELETE)])])


def test_a_row_that_goes_from_an_input_whose_rows_only_come_is_an_error():
    harness = Harness(lambda: by_columns(JoinType.INNER, (0,), (), (False, False)))
    with pytest.raises(InvariantError, match="taken back"):
        harness.epoch([((1, "a", None), DELETE)], [])
