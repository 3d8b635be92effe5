"""IntervalJoinOperator against all pairs, and its bounds, lateness and clean-up."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.functions.output_tag import OutputTag
from penstock.operators.interval_join import IntervalJoinOperator
from penstock.testing import KeyedTwoInputOperatorTestHarness, StreamRecord


def pair(left, right, ctx):
    yield left, right, ctx.get_left_timestamp(), ctx.get_right_timestamp(), ctx.get_timestamp()


def join(lower, upper, lower_exclusive=False, upper_exclusive=False, left_late=None, right_late=None):
    def key(value):
        return value[0]

    return KeyedTwoInputOperatorTestHarness(
        IntervalJoinOperator(
            pair, lower, upper, lower_exclusive, upper_exclusive, left_late, right_late, key, key
        )
    )


def test_pairs_within_the_bounds_join_with_the_later_timestamp():
    harness = join(-2, 1)
    harness.process_element1(("k", "l"), 10)
    for time in (7, 8, 11, 12):
        harness.process_element2(("k", time), time)
    harness.process_element2(("other", 10), 10)
    assert harness.get_output() == [
        StreamRecord((("k", "l"), ("k", 8), 10, 8, 10), 10),
        StreamRecord((("k", "l"), ("k", 11), 10, 11, 11), 11),
    ]


def test_exclusive_bounds_do_not_join():
    harness = join(-2, 1, lower_exclusive=True, upper_exclusive=True)
    harness.process_element1(("k", "l"), 10)
    for time in (8, 9, 10, 11):
        harness.process_element2(("k", time), time)
    assert [value[1][1] for value in harness.extract_output_values()] == [9, 10]


def test_elements_behind_the_watermark_go_to_the_late_output_of_their_side():
    harness = join(-2, 1, left_late=OutputTag("late-left"))
    harness.process_both_watermarks(20)
    harness.process_element1(("k", "l"), 19)
    harness.process_element2(("k", "r"), 19)
    harness.process_element1(("k", "in time"), 20)
    assert harness.get_side_output("late-left") == [StreamRecord(("k", "l"), 19)]
    assert harness.counter("numLateRecordsDropped") == 1


def test_buffers_are_empty_when_nothing_can_join_any_more():
    harness = join(-5, 3)
    harness.process_element1(("k", 1), 10)
    harness.process_element2(("k", 2), 11)
    harness.process_both_watermarks(100)
    harness.context.keyed_state.set_current_key("k")
    assert [list(buffer.keys()) for buffer in harness.operator._buffers] == [[], []]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from("ab"), st.integers(0, 20), st.booleans()), max_size=25),
    st.integers(-6, 6),
    st.integers(0, 6),
)
def test_every_pair_within_the_bounds_is_found_once_wherever_epochs_end(elements, lower, width):
    harness = join(lower, lower + width)
    left, right = [], []
    for number, (is_left, key, time, cut) in enumerate(elements):
        value = (key, number)
        if is_left:
            left.append((value, time))
            harness.process_element1(value, time)
        else:
            right.append((value, time))
            harness.process_element2(value, time)
        # Nothing with a smaller timestamp follows, so this watermark makes nothing late.
        harness.process_both_watermarks(min((t for _, _, t, _ in elements[number + 1 :]), default=0) - 1)
        if cut:
            harness.cut()
    expected = [
        (one, two, t1, t2, max(t1, t2))
        for one, t1 in left
        for two, t2 in right
        if one[0] == two[0] and t1 + lower <= t2 <= t1 + lower + width
    ]
    assert sorted(harness.extract_output_values()) == sorted(expected)
