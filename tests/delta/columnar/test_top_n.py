"""The columnar Top-N and deduplication change their results, in every epoch, as the operators by rows do."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.datatypes import DataTypes
from penstock.common.errors import InvariantError
from penstock.delta.base import DELETE
from penstock.delta.columnar import top_n
from penstock.delta.columnar.top_n import ColumnarDeduplicate, ColumnarTopN
from penstock.delta.deduplicate import Deduplicate
from penstock.delta.rank import Rank
from penstock.delta.rows import canonical_bytes
from penstock.state.arranged import arrangement, runs
from tests.delta.arrow_rows import ByRows
from tests.delta.harness import Harness, changelogs, cut

TYPES = [DataTypes.BIGINT(), DataTypes.STRING(), DataTypes.TIMESTAMP(3), DataTypes.DOUBLE()]
ARROW = [pa.int64(), pa.string(), pa.timestamp("us"), pa.float64()]
moments = st.integers(0, 4).map(lambda s: dt.datetime(2024, 1, 1, 0, 0, s))
rows = st.tuples(
    st.sampled_from([1, 2, None]),
    st.sampled_from(["a", "b", "ü", None]),
    moments,
    st.sampled_from([0.0, -0.0, float("nan")]),
)
histories = changelogs(rows, retracts=False)


def told(changes):
    return sorted((canonical_bytes(row), kind) for row, kind in changes)


def in_sequence(changes):
    return [(canonical_bytes(row), kind) for row, kind in changes]


def compare(make, reference, epochs, restarts, marks=False):
    mine, theirs = Harness(make), Harness(reference)
    for number, (changes,) in enumerate(epochs):
        if number in restarts:
            mine.restart()
            theirs.restart()
        row_watermarks = [1000 + i for i in range(len(changes))] if marks else None
        results = [harness.epoch(changes, row_watermarks=row_watermarks) for harness in (mine, theirs)]
        assert told(results[0]) == told(results[1])
        if marks:
            watermarks = [h._operator.output.watermarks or [] for h in (mine, theirs)]
            by_row = [
                sorted(zip(told_in(r), w, strict=True)) for r, w in zip(results, watermarks, strict=True)
            ]
            assert by_row[0] == by_row[1]
    assert mine.table.counts() == theirs.table.counts()


def told_in(changes):
    return [(canonical_bytes(row), kind) for row, kind in changes]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(arrangement, "FANOUT", 2)
    monkeypatch.setattr(arrangement, "_SMALL_ROWS", 3)
    monkeypatch.setattr(runs, "CHUNK_ROWS", 4)
    monkeypatch.setattr(top_n, "_PORTION", 3)


ORDERS = [[(2, True)], [(1, False), (2, True)], [(1, True)], []]


@settings(deadline=None, max_examples=150)
@given(
    st.data(), histories, st.sampled_from([(0,), (0, 1), ()]), st.sampled_from(ORDERS), st.integers(1, 3),
    st.integers(1, 4), st.booleans(), st.booleans(), st.sets(st.integers(0, 5)),
)  # fmt: skip
def test_ranks(data, history, partition, order, start, count, outputs_rank, emit_before, restarts):
    options = {
        "start": start,
        "end": start + count - 1,
        "outputs_rank": outputs_rank,
        "emit_update_before": emit_before,
    }
    columnar = ColumnarTopN(TYPES, partition, order, **options)
    epochs = data.draw(cut(history))
    compare(
        lambda: ByRows(columnar, ARROW),
        lambda: Rank(partition, order, input_retracts=False, **options),
        epochs
        if emit_before or not outputs_rank
        else epochs[:1],  # tables fold only with both halves of a change
        restarts,
    )


@settings(deadline=None, max_examples=150)
@given(
    st.data(), histories, st.sampled_from([(0,), (0, 1)]), st.booleans(), st.sampled_from([None, 2]),
    st.sets(st.integers(0, 5)),
)  # fmt: skip
def test_one_row_per_key_and_its_watermarks(data, history, key, keep_last, rowtime, restarts):
    options = {"keep_last": keep_last, "rowtime_column": rowtime}
    compare(
        lambda: ByRows(ColumnarDeduplicate(TYPES, key, **options), ARROW),
        lambda: Deduplicate(key, **options),
        data.draw(cut(history)),
        restarts,
        marks=True,
    )


def test_a_row_that_goes_is_an_error():
    harness = Harness(lambda: ByRows(ColumnarDeduplicate(TYPES, (0,)), ARROW))
    with pytest.raises(InvariantError, match="taken back"):
        harness.epoch([((1, "a", dt.datetime(2024, 1, 1), 0.0), DELETE)])
