"""Whatever is done before the exchange, the operator's answer is that over the rows themselves."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from penstock.common.datatypes import DataTypes
from penstock.delta.aggregates import AggSpec
from penstock.delta.base import INSERT, Batch
from penstock.delta.columns import can_group, can_order
from penstock.delta.group_aggregate import GroupAggregate
from penstock.delta.local.aggregate import PreAggregate, SliceTime, can_be_partial
from penstock.delta.local.top_n import LocalTopN
from penstock.delta.rank import Rank
from penstock.delta.time.window_aggregate import WindowAggregate
from penstock.delta.time.windows import cumulate, hop, tumble
from tests.delta.arrow_rows import WithLocal, batch_of, table_of
from tests.delta.harness import Harness, inserts
from tests.delta.time.streams import at, counted_rows, cuts, given, replay, stream, timed_rows

INT, BIGINT, BOOLEAN = DataTypes.INT(), DataTypes.BIGINT(), DataTypes.BOOLEAN()
DECIMAL, TIME = DataTypes.DECIMAL(10, 2), DataTypes.TIMESTAMP(3)
TYPES = [DataTypes.STRING(), INT, DECIMAL, BOOLEAN, TIME]
ARROW = [pa.string(), pa.int32(), pa.decimal128(10, 2), pa.bool_(), pa.timestamp("us")]
SPECS = [
    AggSpec("COUNT", (), BIGINT),
    AggSpec("COUNT", (1,), BIGINT),
    AggSpec("COUNT", (), BIGINT, filter=3),
    AggSpec("SUM", (1,), INT),
    AggSpec("SUM", (1,), INT, filter=3),
    AggSpec("SUM", (2,), DataTypes.DECIMAL(38, 2)),
    AggSpec("AVG", (1,), INT),
    AggSpec("AVG", (2,), DataTypes.DECIMAL(38, 6)),
    AggSpec("MIN", (2,), DECIMAL),
    AggSpec("MAX", (1,), INT, filter=3),
    AggSpec("MAX", (4,), TIME),
]
COLUMNAR_SPECS = [spec for spec in SPECS if (spec.function, spec.args) != ("AVG", (2,))]
columns = [
    st.sampled_from(["a", "b", None]),
    st.one_of(st.none(), st.integers(-(2**31), 2**31 - 1)),
    st.one_of(st.none(), st.integers(-500, 500).map(lambda n: Decimal(n).scaleb(-2))),
    st.one_of(st.none(), st.booleans()),
]
rows = timed_rows(columns, max_time=40)


@given(st.data(), rows)
def test_a_pre_aggregated_group_by_gives_the_same_table_in_every_epoch(data, found):
    local = PreAggregate((0,), SPECS, TYPES)
    small = GroupAggregate(
        (0,), local.partial_specs(), input_retracts=False, row_count_column=local.row_count_column
    )
    ahead, plain = Harness(lambda: WithLocal(local, small, ARROW)), Harness(lambda: whole())
    at_ = data.draw(st.integers(0, len(found)))
    for part in (found[:at_], found[at_:]):
        assert _kinds(ahead.epoch(inserts(part))) == _kinds(plain.epoch(inserts(part)))


def whole():
    return GroupAggregate((0,), SPECS, input_retracts=False)


def _kinds(changes):
    return sorted(map(repr, changes))


@pytest.mark.parametrize("window", [tumble(10), tumble(7, 3), hop(12, 4), hop(9, 3, 1), cumulate(15, 5)])
@given(st.data(), rows, st.integers(0, 12))
def test_pre_aggregated_slices_give_the_windows_of_the_rows(window, data, found, delay):
    local = PreAggregate((0,), SPECS, TYPES, SliceTime(4, window))
    inputs = [stream(found, 4, delay)]
    plan = data.draw(cuts(*inputs))

    def sliced():
        operator = WindowAggregate(
            (0,), local.time_column, window, local.partial_specs(), row_count_column=local.row_count_column
        )
        return WithLocal(local, operator, ARROW)

    _, output = replay(sliced, inputs, plan)
    _, expected = replay(lambda: WindowAggregate((0,), 4, window, SPECS), inputs, plan)
    assert counted_rows(output) == counted_rows(expected)


@pytest.mark.parametrize(
    "order", [[(1, True)], [(1, False)], [(2, False), (1, True)], [(4, True), (0, False)]]
)
@given(rows, st.integers(1, 3), st.sampled_from([(0,), (0, 3), ()]))
def test_local_top_n_keeps_what_can_be_in_the_result(order, found, end, partition):
    local = LocalTopN(partition, order, end, TYPES)

    def make():
        return Rank(partition, order, end=end, outputs_rank=True, input_retracts=False)

    ahead, plain = Harness(lambda: WithLocal(local, make(), ARROW)), Harness(make)
    assert _kinds(ahead.epoch(inserts(found))) == _kinds(plain.epoch(inserts(found)))


def test_local_top_n_drops_rows_and_keeps_the_order_of_arrival():
    found = [("a", n, None, None, at(0)) for n in (3, 9, 1, 9, 4)]
    kept = batch_of(LocalTopN((0,), [(1, False)], 2, TYPES)(table_of(Batch(found, [INSERT] * 5), ARROW)))
    assert [row[1] for row in kept.rows] == [9, 9]


def test_sums_of_floats_and_distinct_wait_for_the_operator():
    types = [DataTypes.DOUBLE(), INT]
    double = AggSpec("SUM", (0,), DataTypes.DOUBLE())
    assert not can_be_partial(double, types, floats=False)
    assert can_be_partial(double, types, floats=True)
    assert not can_be_partial(AggSpec("SUM", (1,), INT, distinct=True), types, floats=True)
    assert not can_be_partial(AggSpec("LISTAGG", (1,), INT), types, floats=True)
    assert not can_be_partial(AggSpec("SUM", (0,), DECIMAL), [DataTypes.DECIMAL(38, 2)], floats=True)
    assert not can_group([DataTypes.DOUBLE()])
    assert not can_order([DataTypes.DOUBLE()])
