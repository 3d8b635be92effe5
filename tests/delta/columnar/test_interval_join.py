"""The columnar interval join gives what the one by rows gives, wherever epochs are cut and processes restart."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from penstock.common.errors import InvariantError
from penstock.delta.base import INSERT, Batch, DeltaContext
from penstock.delta.columnar import interval_join
from penstock.delta.columnar.interval_join import ColumnarIntervalJoin
from penstock.delta.join import JoinType
from penstock.delta.time.interval_join import IntervalJoin
from tests.delta.arrow_rows import ByRows, table_of
from tests.delta.time.streams import TimeHarness, at, counted_rows, cuts, given, replay, stream, timed_rows

TYPES = [pa.int32(), pa.string(), pa.timestamp("us")]
BOUNDS = [(-5, 5), (0, 10), (-8, -2), (3, 9), (2, 1)]
rows = timed_rows([st.sampled_from([1, 2, 7, None]), st.sampled_from(["a", "b"])], max_time=40, max_size=15)


def columnar(keys, bounds):
    return ByRows(ColumnarIntervalJoin(keys, keys, 2, 2, *bounds), TYPES, TYPES)


def by_rows(keys, bounds):
    return IntervalJoin(JoinType.INNER, keys, keys, 2, 2, *bounds, left_width=3, right_width=3)


@pytest.mark.parametrize("keys", [(0,), (0, 1)])
@given(st.data(), rows, rows, st.integers(0, 12), st.sampled_from(BOUNDS))
def test_pairs_and_their_watermarks_are_those_of_the_join_by_rows(keys, data, left, right, delay, bounds):
    inputs = [stream(left, 2, delay), stream(right, 2, delay)]
    plan = data.draw(cuts(*inputs))
    harness, output = replay(lambda: columnar(keys, bounds), inputs, plan)
    _, expected = replay(lambda: by_rows(keys, bounds), inputs, plan)
    assert sorted(map(repr, output)) == sorted(map(repr, expected))
    assert not harness.has_state()


def test_many_pairs_are_made_in_portions(monkeypatch):
    monkeypatch.setattr(interval_join, "_PAIRS", 7)
    left = [(1, str(i), at(i)) for i in range(20)]
    inputs = [stream(left, 2, 50), stream(left, 2, 50)]
    _, output = replay(lambda: columnar((0,), (-3, 3)), inputs)
    _, expected = replay(lambda: by_rows((0,), (-3, 3)), inputs)
    assert counted_rows(output) == counted_rows(expected)


def test_a_row_of_a_foreign_key_group_is_refused():
    harness = TimeHarness(lambda: columnar((0,), (-5, 5)))
    harness.step([Batch([(1, "a", at(0))], [INSERT]), Batch()])
    backend = harness._backend
    context = DeltaContext(backend, subtask_index=1, parallelism=2, max_parallelism=16)
    backend.begin_epoch(harness._restore_point(), 0)
    operator = ColumnarIntervalJoin((0,), (0,), 2, 2, -5, 5)
    operator.open(context)
    operator.begin_epoch()
    everything = Batch([(i, "a", at(0)) for i in range(50)], [INSERT] * 50)
    operator.process_table(0, table_of(everything, TYPES))
    with pytest.raises(InvariantError, match="does not own its key"):
        operator.end_epoch()
    backend.abort_epoch()
