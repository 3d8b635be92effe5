"""DISTINCT, INTERSECT and EXCEPT against counting."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.delta.base import DELETE, INSERT, UNMATCHED_RETRACTIONS
from penstock.delta.distinct import Distinct
from penstock.delta.set_ops import SetOperation, SetOpType
from tests.delta.harness import Harness, changelogs, counted, cut, inserts, table_of

values = st.sampled_from([1, None, "x", 0.0, -0.0, float("nan"), [1, None], {"k": 1}])
rows = st.tuples(values, st.integers(0, 1))


@given(st.data(), changelogs(rows))
def test_distinct_has_each_row_that_is_left_once(data, history):
    found = Harness(lambda: Distinct(2)).run(data.draw(cut(history)))
    assert found == Counter(set(counted(table_of(history))))


def test_a_distinct_row_that_comes_again_says_nothing_even_when_state_expires():
    harness = Harness(lambda: Distinct(1, state_ttl_ms=1000))
    assert harness.epoch(inserts([(1,), (1,)])) == [((1,), INSERT)]
    assert harness.epoch(inserts([(1,)]), now=500) == []
    assert harness.epoch(inserts([(1,)]), now=1400) == []
    assert harness.epoch(inserts([(1,)]), now=2400) == [((1,), INSERT)]


MODELS = {
    SetOpType.INTERSECT_ALL: lambda left, right: left & right,
    SetOpType.EXCEPT_ALL: lambda left, right: left - right,
    SetOpType.INTERSECT: lambda left, right: Counter(set(left) & set(right)),
    SetOpType.EXCEPT: lambda left, right: Counter(set(left) - set(right)),
}


@pytest.mark.parametrize("operation", SetOpType)
@given(st.data(), changelogs(rows), changelogs(rows))
def test_set_operations_equal_those_of_counters(operation, data, left, right):
    harness = Harness(lambda: SetOperation(operation, 2))
    found = harness.run(data.draw(cut(left, right)), data.draw(st.sets(st.integers(1, 4))))
    assert found == MODELS[operation](counted(table_of(left)), counted(table_of(right)))


def test_a_row_that_goes_but_was_never_there_does_not_count_later():
    harness = Harness(lambda: SetOperation(SetOpType.INTERSECT_ALL, 1))
    assert harness.epoch([((1,), DELETE)], inserts([(1,)])) == []
    assert harness.epoch(inserts([(1,)]), []) == [((1,), INSERT)]
    assert harness.metrics == {UNMATCHED_RETRACTIONS: 1}
