"""Groups on columns change as those of the rows do, wherever epochs are cut and processes restart."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.datatypes import DataTypes
from penstock.delta.aggregates import AggSpec
from penstock.delta.columnar import group_aggregate, hashed_log, members
from penstock.delta.columnar.group_aggregate import ColumnarGroupAggregate, split_calls
from penstock.delta.columnar.members import MOST_CALLS
from penstock.delta.group_aggregate import GroupAggregate
from penstock.delta.local.aggregate import PreAggregate
from tests.delta.arrow_rows import ByColumns
from tests.delta.harness import Harness, inserts

INT, BIGINT, STRING = DataTypes.INT(), DataTypes.BIGINT(), DataTypes.STRING()
TYPES = [STRING, INT, BIGINT, STRING, DataTypes.BOOLEAN(), DataTypes.BOOLEAN(), DataTypes.DECIMAL(10, 2)]
ARROW = [pa.string(), pa.int32(), pa.int64(), pa.string(), pa.bool_(), pa.bool_(), pa.decimal128(10, 2)]
PLAIN = [
    AggSpec("COUNT", (), BIGINT),
    AggSpec("SUM", (2,), BIGINT),
    AggSpec("MAX", (2,), BIGINT, filter=4),
    AggSpec("AVG", (1,), INT),
    AggSpec("SUM", (6,), DataTypes.DECIMAL(38, 2)),
    AggSpec("COUNT", (2,), BIGINT, filter=5),
]
DISTINCT = [
    AggSpec("COUNT", (2,), BIGINT, distinct=True),
    AggSpec("COUNT", (), BIGINT),
    AggSpec("COUNT", (2,), BIGINT, distinct=True, filter=4),
    AggSpec("COUNT", (3,), BIGINT, distinct=True, filter=5),
    AggSpec("COUNT", (2,), BIGINT, distinct=True, filter=5),
    AggSpec("MIN", (6,), DataTypes.DECIMAL(10, 2)),
    AggSpec("COUNT", (6,), BIGINT, distinct=True),
    AggSpec("MAX", (3,), STRING),
]
rows = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "", None]),
        st.sampled_from([1, -7, 2**31 - 1, None]),
        st.sampled_from([0, 1, 2, 3, 2**62, None]),
        st.sampled_from(["x", "yé", "\U0001f600", None]),
        st.booleans() | st.none(),
        st.booleans() | st.none(),
        st.decimals(-3, 3, places=2) | st.none(),
    ),
    max_size=12,
)


def columnar(keys, specs):
    split = split_calls(specs, TYPES, False)
    local = None if split.distinct else PreAggregate(keys, specs, TYPES)
    operator = ColumnarGroupAggregate(keys, specs, TYPES, split, pre_aggregated=local is not None)
    return ByColumns(operator, ARROW, local=local)


@pytest.mark.parametrize(
    ("keys", "specs"),
    [
        (keys, specs)
        for keys in [(0,), (0, 1), (), (2,), (6, 4)]
        for specs in (PLAIN, DISTINCT, [])
        if keys or specs
    ],
)
@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(rows, st.booleans()), max_size=6))
def test_changes_are_those_of_the_rows(keys, specs, epochs):
    harness = Harness(lambda: columnar(keys, specs))
    plain = Harness(lambda: GroupAggregate(keys, specs, input_retracts=False))
    for found, restarts in epochs:
        if restarts:
            harness.restart()
        changes, expected = harness.epoch(inserts(found)), plain.epoch(inserts(found))
        assert sorted(map(repr, changes)) == sorted(map(repr, expected))
        for (row, kind), (_, following) in pairwise(changes):
            assert kind != 1 or following == 2, f"-U {row} without its +U"


@pytest.mark.parametrize("specs", [PLAIN, DISTINCT])
@settings(max_examples=25, deadline=None)
@given(st.lists(rows, max_size=6))
def test_names_that_share_a_hash_are_told_apart(specs, epochs):
    def same(columns, count):
        return pa.array([7] * count, pa.uint64()).to_numpy()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashed_log, "row_hashes", same)
        patch.setattr(members, "row_hashes", same)
        harness = Harness(lambda: columnar((0, 1), specs))
        plain = Harness(lambda: GroupAggregate((0, 1), specs, input_retracts=False))
        for found in epochs:
            changes, expected = harness.epoch(inserts(found)), plain.epoch(inserts(found))
            assert sorted(map(repr, changes)) == sorted(map(repr, expected))


class LoggedMembers(members.ColumnMembers):
    """Keeps values as version 0.1.0 did at first: a log of tables, sorted by place, a row per pair."""

    def __init__(self, context, name, key_types, column, filters, key_names=None):
        super().__init__(context, f"unused-{name}", key_types, column, filters)
        self._log = hashed_log.HashedLog(context, name, key_types, self._names)

    def _together(self, batches):
        arranged, begins = hashed_log.in_places(batches, self._names)
        bits = np.bitwise_or.reduceat(np.asarray(arranged.column("__bits")), begins)
        kept = arranged.take(pa.array(begins))
        return kept.set_column(kept.column_names.index("__bits"), "__bits", pa.array(bits))

    def new_values(self, table, keys, of_key, groups):
        owner, values, bits = self._pairs(table, of_key)
        columns = [column.take(pa.array(owner)) for column in keys.columns]
        pairs = pa.table([*columns, values], names=self._names)
        places = self._log.places(pairs, groups[owner])
        seen = np.zeros(len(owner), np.int64)
        for found, stored in self._log.find(pairs, places):
            seen[found] |= np.asarray(stored.column("__bits"))
        new = np.flatnonzero(bits & ~seen)
        new = new[np.argsort(places[new], kind="stable")]
        batch = pairs.take(pa.array(new)).append_column("__bits", pa.array((bits | seen)[new]))
        if len(new):
            self._log.append(batch.append_column("__place", pa.array(places[new])), self._together)
        fresh = bits & ~seen
        return [
            np.bincount(owner[(fresh >> call) & 1 == 1], minlength=len(groups)).astype(np.int64)
            for call in range(len(self._filters))
        ]


@settings(max_examples=25, deadline=None)
@given(before=st.lists(rows, min_size=1, max_size=4), after=st.lists(rows, min_size=1, max_size=3))
def test_values_that_a_savepoint_has_as_tables_are_taken_over(before, after):
    plain = Harness(lambda: GroupAggregate((0,), DISTINCT, input_retracts=False))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_aggregate, "ColumnMembers", LoggedMembers)
        harness = Harness(lambda: columnar((0,), DISTINCT))
        for found in before:
            harness.epoch(inserts(found))
            plain.epoch(inserts(found))
    for found in [*after, *before]:
        harness.restart()
        changes, expected = harness.epoch(inserts(found)), plain.epoch(inserts(found))
        assert sorted(map(repr, changes)) == sorted(map(repr, expected))


def test_more_calls_over_a_column_than_a_number_has_bits_stay_with_the_rows():
    calls = [AggSpec("COUNT", (2,), BIGINT, distinct=True, filter=4)] * MOST_CALLS
    assert split_calls(calls, TYPES, False) is not None
    assert split_calls([*calls, calls[0]], TYPES, False) is None


def test_calls_that_need_python_stay_with_the_rows():
    assert split_calls([AggSpec("LISTAGG", (3,), STRING)], TYPES, False) is None
    assert split_calls([AggSpec("SUM", (2,), BIGINT, distinct=True)], TYPES, False) is None
    assert split_calls([AggSpec("COUNT", (2, 1), BIGINT, distinct=True)], TYPES, False) is None
