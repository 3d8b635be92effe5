"""Windows on columns are those of the rows: whatever is late, wherever epochs are cut and processes restart."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from penstock.common.datatypes import DataTypes
from penstock.delta.aggregates import AggSpec
from penstock.delta.base import INSERT, Batch
from penstock.delta.columnar.sliced_windows import ColumnarWindowAggregate, can_be_columns
from penstock.delta.local.aggregate import PreAggregate, SliceTime
from penstock.delta.time.window_aggregate import WindowAggregate
from penstock.delta.time.windows import WINDOW_END, WINDOW_START, WINDOW_TIME, cumulate, hop, tumble
from tests.delta.arrow_rows import ByColumns
from tests.delta.time.streams import TimeHarness, at, cuts, given, replay, stream, timed_rows

INT, BIGINT, DECIMAL = DataTypes.INT(), DataTypes.BIGINT(), DataTypes.DECIMAL(10, 2)
TYPES = [DataTypes.STRING(), INT, DECIMAL, DataTypes.BOOLEAN(), DataTypes.TIMESTAMP(3)]
ARROW = [pa.string(), pa.int32(), pa.decimal128(10, 2), pa.bool_(), pa.timestamp("us")]
SPECS = [
    AggSpec("COUNT", (), BIGINT),
    AggSpec("COUNT", (1,), BIGINT, filter=3),
    AggSpec("SUM", (1,), INT),
    AggSpec("SUM", (2,), DataTypes.DECIMAL(38, 2)),
    AggSpec("AVG", (1,), INT),
    AggSpec("MAX", (1,), INT, filter=3),
    AggSpec("MIN", (4,), DataTypes.TIMESTAMP(3)),
]
PROPERTIES = (WINDOW_START, WINDOW_END, WINDOW_TIME)
WINDOWS = [
    tumble(10), tumble(7, 3), tumble(7, -3), hop(12, 4), hop(9, 3, 1), hop(20, 2),
    cumulate(15, 5), cumulate(12, 2, 1),
]  # fmt: skip
rows = timed_rows(
    [
        st.sampled_from(["a", "b", None]),
        st.sampled_from([None, -3, 7, 2**31 - 1]),
        st.decimals(-9, 9, places=2) | st.none(),
        st.booleans() | st.none(),
    ],
    max_time=80,
)


def columnar(window, keys=(0,)):
    local = PreAggregate(keys, SPECS, TYPES, SliceTime(4, window))
    return ByColumns(ColumnarWindowAggregate(local, window, PROPERTIES), ARROW, local=local)


def by_rows(window, keys=(0,)):
    return WindowAggregate(keys, 4, window, SPECS, properties=PROPERTIES)


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("window", WINDOWS)
@given(st.data(), rows, st.integers(0, 30))
def test_results_and_their_watermarks_are_those_of_the_rows(window, within, data, found, delay):
    inputs = [stream(found, 4, delay)]
    plan = data.draw(cuts(*inputs))
    harness, output = replay(lambda: columnar(window), inputs, plan, within=within)
    plain, expected = replay(lambda: by_rows(window), inputs, plan, within=within)
    assert sorted(map(repr, output)) == sorted(map(repr, expected))
    assert harness.metrics == plain.metrics
    assert not harness.has_state()
    ends = [row[-2] for row, _, _ in output]
    assert ends == sorted(ends)


@given(st.data(), rows)
def test_a_window_over_all_rows_has_no_key(data, found):
    inputs = [stream(found, 4, 5)]
    plan = data.draw(cuts(*inputs))
    _, output = replay(lambda: columnar(hop(12, 4), ()), inputs, plan)
    _, expected = replay(lambda: by_rows(hop(12, 4), ()), inputs, plan)
    assert sorted(map(repr, output)) == sorted(map(repr, expected))


@pytest.mark.parametrize("zone", [None, "Asia/Kolkata"])
def test_windows_of_processing_time_end_by_the_clock(zone):
    day = 24 * 3_600_000

    def made():
        local = PreAggregate((0,), SPECS[:3], TYPES)
        operator = ColumnarWindowAggregate(local, tumble(day), PROPERTIES, zone=zone, processing_time=True)
        return ByColumns(operator, ARROW, local=local)

    def plain():
        return WindowAggregate((0,), None, tumble(day), SPECS[:3], properties=PROPERTIES, zone=zone)

    def outputs(make):
        harness, found = TimeHarness(make), []
        for number, now in enumerate((5, day // 2, day - 1, day, 3 * day)):
            batch = Batch([(key, number, None, True, at(0)) for key in "aba"], [INSERT] * 3)
            found.append(sorted(harness.step([batch] if number < 4 else [], now=now).rows))
            harness.restart()
        assert not harness.has_state()
        return found

    assert outputs(made) == outputs(plain)


def test_results_that_arrow_would_round_otherwise_stay_with_the_rows():
    def columns(*specs):
        return can_be_columns(PreAggregate((0,), specs, TYPES, SliceTime(4, tumble(10))))

    narrow_sum, average = AggSpec("SUM", (2,), DataTypes.DECIMAL(20, 2)), AggSpec("AVG", (2,), DECIMAL)
    assert columns(SPECS[0])
    assert not columns(SPECS[0], narrow_sum)
    assert not columns(average)
