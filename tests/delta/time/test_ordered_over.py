"""OVER ordered by a column: after any history the table of results is that of the rows which are there."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import strategies as st

from penstock.common.datatypes import BigIntType, IntType
from penstock.delta.aggregates import AggSpec
from penstock.delta.time.ordered_over import OrderedOver
from penstock.delta.time.over_functions import OrderFunction
from tests.delta.harness import Harness, changelogs, counted, cut, inserts, table_of
from tests.delta.time.streams import given

COUNT, SUM = AggSpec("COUNT", (), BigIntType()), AggSpec("SUM", (2,), IntType())
RANK = OrderFunction("RANK")
rows = st.tuples(st.sampled_from("ab"), st.sampled_from([None, 1, 2, 3]), st.integers(0, 4))


def order(row):
    return (row[1] is not None, row[1] or 0)


def model(rows):
    """For each row the count and sum of the rows of its key that are not behind it."""
    result = []
    for row in rows:
        before = [other for other in rows if other[0] == row[0] and order(other) <= order(row)]
        first = [other for other in before if order(other) < order(row)]
        result.append((*row, len(before), sum(other[2] for other in before), len(first) + 1))
    return counted(result)


@given(st.data(), changelogs(rows))
def test_a_range_frame_has_the_results_of_the_rows_that_are_there(data, history):
    harness = Harness(lambda: OrderedOver((0,), ((1, True),), False, (COUNT, SUM, RANK)))
    found = harness.run(data.draw(cut(history)), data.draw(st.sets(st.integers(1, 4))))
    assert found == model(table_of(history))


def test_a_running_total_by_price_is_corrected_by_later_rows():
    """The corpus case over/non_time_order."""
    harness = Harness(lambda: OrderedOver((0,), ((1, True),), True, (SUM,)))
    price = Decimal
    harness.epoch(inserts([("ACME", price("10.50"), 100), ("ACME", price("10.75"), 50)]))
    harness.epoch(inserts([("ACME", price("10.25"), None), ("ACME", price("11.00"), 75)]))
    harness.epoch(inserts([("ACME", None, 25)]))
    assert sorted(row[3] for row in harness.table.rows()) == [25, 25, 125, 175, 250]
    harness.epoch(inserts([("ACME", price("9.75"), 200)]))
    assert sorted(row[3] for row in harness.table.rows()) == [25, 225, 225, 325, 375, 450]
