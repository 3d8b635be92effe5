"""Unbounded OVER on columns answers as it does row by row, wherever epochs are cut and processes restart."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from penstock.common.datatypes import DataTypes
from penstock.delta.aggregates import AggSpec
from penstock.delta.columnar.over import ColumnarOver, can_be_running
from penstock.delta.columnar.running import accumulate
from penstock.delta.time.over import EventTimeOver, ProcessingTimeOver
from penstock.delta.time.over_functions import OrderFunction, OverFrame
from tests.delta.arrow_rows import ByColumns
from tests.delta.time.streams import cuts, given, replay, stream, timed_rows

INT, BIGINT, DOUBLE, STRING = DataTypes.INT(), DataTypes.BIGINT(), DataTypes.DOUBLE(), DataTypes.STRING()
MONEY = DataTypes.DECIMAL(10, 2)
TYPES = [STRING, BIGINT, INT, DOUBLE, MONEY, STRING, DataTypes.BOOLEAN(), DataTypes.TIMESTAMP(3)]
ARROW = [
    pa.string(), pa.int64(), pa.int32(), pa.float64(), pa.decimal128(10, 2), pa.string(), pa.bool_(),
    pa.timestamp("us"),
]  # fmt: skip
TIME = 7
SPECS = [
    AggSpec("COUNT", (), BIGINT),
    AggSpec("COUNT", (1,), BIGINT, filter=6),
    AggSpec("SUM", (1,), BIGINT),
    AggSpec("SUM", (2,), INT, filter=6),
    AggSpec("AVG", (2,), INT),
    AggSpec("SUM", (3,), DOUBLE),
    AggSpec("AVG", (3,), DOUBLE),
    AggSpec("SUM", (4,), DataTypes.DECIMAL(38, 2)),
    AggSpec("MIN", (5,), STRING),
    AggSpec("MAX", (4,), MONEY),
    AggSpec("MAX", (1,), BIGINT, filter=6),
    OrderFunction("ROW_NUMBER"),
]
rows = timed_rows(
    [
        st.sampled_from(["a", "b", None]),
        st.sampled_from([-3, 2, 2**62, None]),
        st.sampled_from([1, -7, 2**31 - 1, None]),
        st.floats(-5, 5) | st.none(),
        st.decimals(-3, 3, places=2) | st.none(),
        st.sampled_from(["x", "yé", "", None]),
        st.booleans() | st.none(),
    ],
    max_size=20,
)


def columnar(keys, frame, by_event_time):
    assert can_be_running(frame, SPECS, TYPES, keys)
    return ByColumns(ColumnarOver(keys, TIME if by_event_time else None, frame, SPECS, TYPES), ARROW)


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("keys", [(0,), (), (0, 6)])
@pytest.mark.parametrize("frame", [OverFrame(True), OverFrame(False)], ids=str)
@given(st.data(), rows, st.integers(0, 12))
def test_answers_by_event_time_are_those_of_the_rows(frame, keys, within, data, found, delay):
    inputs = [stream(found, TIME, delay)]
    plan = data.draw(cuts(*inputs))
    harness, output = replay(lambda: columnar(keys, frame, True), inputs, plan, within=within)
    plain, expected = replay(lambda: EventTimeOver(keys, TIME, frame, SPECS), inputs, plan, within=within)
    assert sorted(map(repr, output)) == sorted(map(repr, expected))
    assert harness.metrics == plain.metrics
    assert [row[TIME] for row, _, _ in output] == sorted(row[TIME] for row, _, _ in output)
    assert not any("waiting" in table for table in harness.has_state())


@pytest.mark.parametrize("keys", [(0,), ()])
@pytest.mark.parametrize("frame", [OverFrame(True), OverFrame(False)], ids=str)
@given(st.data(), rows)
def test_answers_by_processing_time_are_those_of_the_rows(frame, keys, data, found):
    inputs = [stream(found, TIME)]
    plan = data.draw(cuts(*inputs))
    _, output = replay(lambda: columnar(keys, frame, False), inputs, plan, event_time=False)
    _, expected = replay(lambda: ProcessingTimeOver(keys, frame, SPECS), inputs, plan, event_time=False)
    assert [repr(row) for row, _, _ in output] == _in_order_of(found, expected)


def _in_order_of(arrivals, output):
    """The rows' operator answers key by key within an epoch; here in the order in which they came."""
    waiting = {}
    for row, _, _ in output:
        waiting.setdefault(repr(row[: len(TYPES)]), []).append(row)
    return [repr(waiting[repr(row)].pop(0)) for row in arrivals]


@pytest.mark.parametrize(
    ("frame", "spec"),
    [
        (OverFrame(True, 3), SPECS[0]),
        (OverFrame(True), AggSpec("COUNT", (1,), BIGINT, distinct=True)),
        (OverFrame(True), AggSpec("SUM", (3,), DataTypes.FLOAT())),
        (OverFrame(True), OrderFunction("RANK")),
        (OverFrame(True), AggSpec("LISTAGG", (5,), STRING)),
    ],
)
def test_what_columns_cannot_do_is_left_to_the_rows(frame, spec):
    assert not can_be_running(frame, [spec], TYPES, (0,))


@given(st.lists(st.lists(st.integers(-9, 9), min_size=1, max_size=12), min_size=1, max_size=12))
def test_running_results_of_few_large_and_of_many_small_groups(groups):
    values = np.array([value for group in groups for value in group])
    begins = np.cumsum([0, *(len(group) for group in groups[:-1])])
    found = accumulate(np.maximum, values, begins, np.full(len(groups), -3))
    assert found.tolist() == [max(-3, *group[: i + 1]) for group in groups for i in range(len(group))]
