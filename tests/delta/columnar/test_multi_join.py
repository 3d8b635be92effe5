"""The join of many inputs changes its result, in every epoch, as joins of two do that follow each other."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.datatypes import DataTypes
from penstock.delta.base import DELETE, INSERT, WEIGHT
from penstock.delta.columnar import multi_join
from penstock.delta.columnar.multi_join import ColumnarMultiJoin
from penstock.delta.rows import canonical_bytes
from penstock.state.arranged import arrangement, runs
from tests.delta.arrow_rows import ByRows
from tests.delta.harness import Harness, changelogs, cut, inserts

TYPES = [DataTypes.BIGINT(), DataTypes.STRING()]
ARROW = [pa.int64(), pa.string()]
keys = st.sampled_from([1, 2, 300, None])
# With no other column than the key NULL, a row looks as if it were one of those that fill up.
rows = st.tuples(keys, st.sampled_from(["a", "b"]))


def multi(padded, retracts):
    count = len(padded)
    operator = ColumnarMultiJoin([TYPES] * count, [(0,)] * count, padded=padded, retracts=retracts)
    return ByRows(operator, *[ARROW] * count)


class Model:
    """All rows of all inputs; the result is made anew each time."""

    def __init__(self, padded):
        self.padded = padded
        self.inputs = [Counter() for _ in padded]

    def epoch(self, *inputs):
        before = self.result()
        for stored, changes in zip(self.inputs, inputs, strict=True):
            for row, kind in changes:
                stored[row] += WEIGHT[kind]
        after = self.result()
        return {row: n for row in {*before, *after} if (n := after[row] - before[row])}

    def result(self):
        found = Counter()
        for key in {row[0] for stored in self.inputs for row in stored}:
            for rows in product(*(self.of(i, key) for i in range(len(self.inputs)))):
                found[canonical_bytes(sum(rows, ()))] += 1
        return found

    def of(self, index, key):
        own = [row for row in self.inputs[index].elements() if row[0] == key]
        if key is None and index:
            own = []
        return own or ([(None, None)] if self.padded[index] else [])


def net(changes):
    sums = Counter()
    for row, kind in changes:
        sums[canonical_bytes(row)] += WEIGHT[kind]
    return {row: weight for row, weight in sums.items() if weight}


def check(padded, retracts, epochs, restarts=()):
    mine, model = Harness(lambda: multi(padded, retracts)), Model(padded)
    for number, inputs in enumerate(epochs):
        if number in restarts:
            mine.restart()
        changes = mine.epoch(*inputs)
        assert net(changes) == model.epoch(*inputs)
        if all(retracts):  # nothing goes and comes
            assert sum(net(changes).values(), 0) == sum(WEIGHT[kind] for _, kind in changes)
            assert sum(map(abs, net(changes).values())) == len(changes)


SHAPES = [(False,) * 3, (False, True, True), (False, True, False), (False, False, True), (False,) * 4]


@pytest.mark.parametrize("padded", SHAPES)
@settings(deadline=None, max_examples=60)
@given(st.data(), st.sets(st.integers(0, 5)))
def test_changes_of_any_tables(padded, data, restarts):
    inputs = [data.draw(changelogs(rows)) for _ in padded]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrangement, "FANOUT", data.draw(st.sampled_from([2, 4])))
        patch.setattr(arrangement, "_SMALL_ROWS", 3)
        patch.setattr(runs, "CHUNK_ROWS", 4)
        patch.setattr(multi_join, "_ROWS", 5)
        check(padded, (True,) * len(padded), data.draw(cut(*inputs)), restarts)


@pytest.mark.parametrize("padded", SHAPES)
@settings(deadline=None, max_examples=40)
@given(st.data())
def test_rows_that_only_come(padded, data):
    inputs = [data.draw(st.lists(rows, max_size=6)) for _ in padded]
    retracts = data.draw(st.tuples(*[st.booleans() for _ in padded]))
    check(padded, retracts, data.draw(cut(*[inserts(found) for found in inputs])))


def test_a_first_partner_replaces_the_row_of_nulls() -> None:
    h = Harness(lambda: multi((False, True, True), (False,) * 3))
    assert h.epoch(inserts([(1, "a")]), [], []) == [((1, "a", None, None, None, None), INSERT)]
    assert h.epoch([], [], inserts([(1, "z")])) == [
        ((1, "a", None, None, None, None), DELETE),
        ((1, "a", None, None, 1, "z"), INSERT),
    ]
    assert h.epoch(inserts([(None, "b")]), inserts([(None, "c")]), []) == [
        ((None, "b", None, None, None, None), INSERT)
    ]
