"""Operators behind operators: what comes out carries a watermark by which it is never late for the next.

Two operators run in one epoch, one after the other, and both are advanced to the planned watermark (the second
one to less, where the first says so). The result must not depend on where the epochs are cut.
"""

from __future__ import annotations

from hypothesis import strategies as st

from penstock.common.datatypes import BigIntType
from penstock.delta.aggregates import AggSpec
from penstock.delta.join import JoinType
from penstock.delta.time.interval_join import IntervalJoin
from penstock.delta.time.over import EventTimeOver
from penstock.delta.time.over_functions import OverFrame
from penstock.delta.time.temporal_join import EventTimeTemporalJoin
from penstock.delta.time.window_aggregate import AttachedWindow, AttachedWindowAggregate, WindowAggregate
from penstock.delta.time.windows import hop, tumble
from tests.delta.time.streams import (
    at,
    cascade,
    counted_rows,
    cuts,
    given,
    ms,
    multiset,
    replay,
    stream,
    timed_rows,
)

BIGINT = BigIntType()
COUNT = AggSpec("COUNT", (), BIGINT)
rows = timed_rows([st.sampled_from(["a", "b"]), st.integers(0, 9)], max_time=60)
ALL = ("window_start", "window_end", "window_time")


def total(column):
    return AggSpec("SUM", (column,), BIGINT)


@given(st.data(), rows, st.integers(0, 12))
def test_windows_over_windows_hold_all_parts(data, arrivals, delay):
    events = stream(arrivals, 2, delay)
    output = cascade(
        lambda: WindowAggregate((0,), 2, tumble(5), (COUNT, total(1)), properties=ALL),
        lambda: WindowAggregate((0,), 5, hop(20, 10), (total(1), total(2))),
        [events],
        data.draw(cuts(events)),
    )
    whole = replay(lambda: WindowAggregate((0,), 2, tumble(5), (COUNT, total(1)), properties=ALL), [events])[
        1
    ]
    groups = {}
    for (key, count, value, *_, time), _, _ in whole:
        slot = ms(time) // 10 * 10
        for start in (slot - 10, slot):
            counts = groups.setdefault((key, start), [0, 0])
            counts[0] += count
            counts[1] += value
    assert counted_rows(output) == multiset(
        (key, count, value, at(start), at(start + 20)) for (key, start), (count, value) in groups.items()
    )


@given(st.data(), rows, st.integers(0, 12))
def test_the_same_windows_are_aggregated_again_without_the_key(data, arrivals, delay):
    events = stream(arrivals, 2, delay)
    output = cascade(
        lambda: WindowAggregate((0,), 2, hop(12, 4), (COUNT,)),
        lambda: AttachedWindowAggregate((), AttachedWindow(2, 3), (total(1),)),
        [events],
        data.draw(cuts(events)),
    )
    direct = replay(lambda: WindowAggregate((), 2, hop(12, 4), (COUNT,)), [events])[1]
    assert counted_rows(output) == counted_rows(direct)


@given(st.data(), rows, st.integers(0, 12))
def test_windows_over_a_running_total_get_every_row(data, arrivals, delay):
    events = stream(arrivals, 2, delay)
    output = cascade(
        lambda: EventTimeOver((0,), 2, OverFrame(True), (COUNT,)),
        lambda: WindowAggregate((0,), 2, tumble(10), (COUNT,)),
        [events],
        data.draw(cuts(events)),
    )
    groups = {}
    for event in events:
        if event.before < ms(event.row[2]):
            slot = (event.row[0], ms(event.row[2]) // 10 * 10)
            groups[slot] = groups.get(slot, 0) + 1
    assert counted_rows(output) == multiset((key, n, at(s), at(s + 10)) for (key, s), n in groups.items())


def in_order(arrivals):
    return stream(sorted(arrivals, key=lambda row: row[2]), 2, 1)


@given(st.data(), rows, rows, st.sampled_from([(-5, 5), (0, 10), (-8, -2), (3, 9)]))
def test_windows_over_an_outer_interval_join_get_padded_rows_in_time(data, left, right, bounds):
    inputs = [in_order(left), in_order(right)]

    def join():
        return IntervalJoin(JoinType.LEFT, (0,), (0,), 2, 2, *bounds, left_width=3, right_width=3)

    output = cascade(
        join, lambda: WindowAggregate((), 2, tumble(10), (COUNT,)), inputs, data.draw(cuts(*inputs))
    )
    groups = {}
    for row, _, _ in replay(join, inputs)[1]:
        groups[ms(row[2]) // 10 * 10] = groups.get(ms(row[2]) // 10 * 10, 0) + 1
    assert counted_rows(output) == multiset((n, at(s), at(s + 10)) for s, n in groups.items())


@given(st.data(), rows, rows)
def test_windows_over_a_temporal_join_get_every_row(data, left, right):
    inputs = [in_order(left), in_order(right)]
    output = cascade(
        lambda: EventTimeTemporalJoin(JoinType.LEFT, (0,), (0,), 2, 2, right_width=3),
        lambda: WindowAggregate((), 2, tumble(10), (COUNT,)),
        inputs,
        data.draw(cuts(*inputs)),
    )
    assert sum(row[0] for (row,) in output) == len(left)
    assert len({row[1] for (row,) in output}) == len(output)
