"""Sessions on columns are those of the rows, whatever is late, wherever epochs are cut and processes restart."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from penstock.common.datatypes import DataTypes
from penstock.common.ids import MAX_WATERMARK, MIN_WATERMARK
from penstock.delta.aggregates import AggSpec
from penstock.delta.base import INSERT, Batch
from penstock.delta.columnar.session_windows import ColumnarSessionAggregate
from penstock.delta.time.session import SessionRows
from penstock.delta.time.windows import WINDOW_END, WINDOW_START, WINDOW_TIME
from tests.delta.arrow_rows import ByColumns
from tests.delta.time.streams import TimeHarness, at, cuts, given, ms, replay, stream, timed_rows

BIGINT = DataTypes.BIGINT()
TYPES = [DataTypes.STRING(), BIGINT, DataTypes.TIMESTAMP(3)]
ARROW = [pa.string(), pa.int64(), pa.timestamp("us")]
SPECS = [AggSpec("COUNT", (), BIGINT), AggSpec("SUM", (1,), BIGINT), AggSpec("MAX", (1,), BIGINT)]
PROPERTIES = (WINDOW_START, WINDOW_END, WINDOW_TIME)
rows = timed_rows([st.sampled_from(["a", "b", None]), st.integers(-9, 9) | st.none()], max_size=30)


def columnar(keys=(0,), gap=8):
    return ByColumns(ColumnarSessionAggregate(keys, 2, gap, SPECS, TYPES, PROPERTIES), ARROW)


def sessions_of(output, keys=(0,)):
    """What the rows of sessions come to, with the watermark behind which they are put out."""
    found = {}
    for row, _, mark in output:
        key = (*(row[k] for k in keys), *row[-3:])
        found.setdefault((key, mark), []).append(row[1])
    made = []
    for (key, mark), values in found.items():
        there = [v for v in values if v is not None]
        result = (len(values), sum(there) if there else None, max(there, default=None))
        made.append(((*key[:-3], *result, *key[-3:]), INSERT, mark))
    return made


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("keys", [(0,), (), (0, 1)])
@given(st.data(), rows, st.integers(0, 25), st.sampled_from([1, 4, 8, 20]))
def test_sessions_are_those_of_the_rows(keys, within, data, found, delay, gap):
    inputs = [stream(found, 2, delay)]
    plan = data.draw(cuts(*inputs))
    harness, output = replay(lambda: columnar(keys, gap), inputs, plan, within=within)
    plain, expected = replay(lambda: SessionRows(keys, 2, gap), inputs, plan, within=within)
    assert sorted(map(repr, output)) == sorted(map(repr, sessions_of(expected, keys)))
    assert harness.metrics == plain.metrics
    assert not harness.has_state()
    assert [ms(row[-2]) for row, _, _ in output] == sorted(ms(row[-2]) for row, _, _ in output)


marks = st.integers(-5, 60)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 60), marks), max_size=25), st.integers(1, 4))
def test_rows_of_several_channels_come_with_watermarks_in_any_order(found, size):
    def outputs(make):
        harness, out = TimeHarness(make), []
        for first in range(0, len(found), size):
            part = found[first : first + size]
            batch = Batch([(k, 1, at(t)) for k, t, _ in part], [INSERT] * len(part), [w for _, _, w in part])
            batch.watermarks = [max(w, harness._context.watermark) for w in batch.watermarks]
            out.append(harness.step([batch], MIN_WATERMARK if first % 3 else min(batch.watermarks)))
        out.append(harness.step([], MAX_WATERMARK))
        made = [e for b in out for e in zip(b.rows, b.kinds, b.watermarks or [], strict=False)]
        return made, harness.metrics

    output, metrics = outputs(columnar)
    expected, plain = outputs(lambda: SessionRows((0,), 2, 8))
    assert sorted(map(repr, output)) == sorted(map(repr, sessions_of(expected)))
    assert metrics == plain
