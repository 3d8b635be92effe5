"""OVER by time against a simulation of Flink's operators, one row and one watermark after the other."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import strategies as st

from penstock.common.datatypes import BigIntType
from penstock.common.errors import NotSupportedError
from penstock.common.ids import MAX_WATERMARK
from penstock.delta.aggregates import AggSpec
from penstock.delta.base import INSERT, Batch
from penstock.delta.time.over import EventTimeOver, ProcessingTimeOver
from penstock.delta.time.over_functions import OrderFunction, OverFrame
from tests.delta.time.streams import (
    TimeHarness,
    at,
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
AGGREGATES = (AggSpec("COUNT", (), BIGINT), AggSpec("SUM", (1,), BIGINT), AggSpec("MIN", (1,), BIGINT))
rows = timed_rows([st.sampled_from(["a", "b"]), st.integers(0, 9)], max_time=40)
FRAMES = [
    OverFrame(True),
    OverFrame(True, 0),
    OverFrame(True, 2),
    OverFrame(False),
    OverFrame(False, 0),
    OverFrame(False, 7),
]


class Key:
    """What Flink's functions know of a key."""

    def __init__(self):
        self.rows, self.waiting, self.timers = [], {}, set()
        self.answered = self.cleanup = None

    def take(self, frame, row, watermark):
        time = ms(row[2])
        if frame.preceding is None:
            if time <= watermark:
                return
        elif self.answered is not None and time <= self.answered:
            return
        self.waiting.setdefault(time, []).append(row)
        self.timers.add(time)
        if frame.preceding is None or frame.rows:
            return
        if self.cleanup is None or self.cleanup < time + frame.preceding + 1:
            self.cleanup = time + int(frame.preceding * 1.5) + 1
            self.timers.add(self.cleanup)

    def fire(self, frame, watermark):
        for time in sorted(timer for timer in self.timers if timer <= watermark):
            self.timers.discard(time)
            if self.cleanup is not None and self.cleanup <= time:
                self.__init__()
                return
            group = self.waiting.pop(time, [])
            self.answered = time  # also by a timer of a clean-up that was put off
            for index, row in enumerate(group):
                before = self.rows + (group[: index + 1] if frame.rows else group)
                if frame.preceding is not None and frame.rows:
                    before = before[-(frame.preceding + 1) :]
                elif frame.preceding is not None:
                    before = [other for other in before if ms(other[2]) >= time - frame.preceding]
                values = [other[1] for other in before]
                yield (*row, len(values), sum(values), min(values))
            self.rows += group


def model(frame, events):
    keys, output = {}, []
    for event in events:
        keys.setdefault(event.row[0], Key()).take(frame, event.row, event.before)
        if event.after > event.before:
            for key in keys.values():
                output.extend(key.fire(frame, event.after))
    for key in keys.values():
        output.extend(key.fire(frame, MAX_WATERMARK))
    return multiset(output)


@pytest.mark.parametrize("frame", FRAMES, ids=str)
@given(st.data(), rows, st.integers(0, 12))
def test_frames_by_event_time_are_those_of_flink_wherever_epochs_are_cut(frame, data, arrivals, delay):
    events = stream(arrivals, 2, delay)
    harness, output = replay(
        lambda: EventTimeOver((0,), 2, frame, AGGREGATES), [events], data.draw(cuts(events))
    )
    assert counted_rows(output) == model(frame, events)
    times = {key: [row[2] for row, _, _ in output if row[0] == key] for key in "ab"}
    may_begin_anew = frame.preceding is not None and not frame.rows
    assert may_begin_anew or all(of_key == sorted(of_key) for of_key in times.values())
    on_time = {event.row for event in events if event.before < ms(event.row[2])}
    late = {event.row for event in events if event.before >= ms(event.row[2])}
    assert all(watermark < ms(row[2]) for row, _, watermark in output if row[:3] in on_time - late)
    assert "s/waiting" not in harness.has_state() and "t/event" not in harness.has_state()


def taps(*rows):
    return [(key, value, dt.datetime(2024, 1, 1, 0, 0, second)) for key, value, second in rows]


TAPS = taps(
    *[("a", 1, 5), ("b", 2, 10), ("a", 4, 7), ("a", 8, 6), ("a", 16, 5), ("a", 32, 3)],
    *[("b", 64, 20), ("a", 128, 7), ("a", 256, 8)],
)


def test_a_bounded_frame_takes_a_late_row_if_its_key_has_not_answered_for_that_time():
    """Flink 2.3 answered so: a row behind the watermark waits for the next one."""
    _, output = replay(lambda: EventTimeOver((0,), 2, OverFrame(True, 5), AGGREGATES), [stream(TAPS, 2)])
    found = [(row[1], row[4]) for row, _, _ in output if row[0] == "a"]
    assert found == [(1, 1), (8, 9), (4, 13), (256, 269)]


def test_a_key_without_rows_for_one_and_a_half_ranges_begins_anew():
    """Flink 2.3 answered so."""
    _, output = replay(lambda: EventTimeOver((0,), 2, OverFrame(False, 8000), AGGREGATES), [stream(TAPS, 2)])
    found = [(row[1], row[4]) for row, _, _ in output if row[0] == "a"]
    assert found == [(1, 1), (8, 9), (4, 13), (128, 128), (256, 384)]


def test_late_rows_of_an_unbounded_frame_are_dropped_and_counted():
    """The corpus case over/late_rows."""
    arrivals = [
        *[("k", 1, at(1000)), ("k", 2, at(4000)), ("k", 4, at(2000)), ("k", 8, at(10_000))],
        *[("k", 16, at(7000)), ("k", 32, at(8500)), ("k", 64, at(8000)), ("k", 128, at(20_000))],
    ]
    harness, output = replay(
        lambda: EventTimeOver((0,), 2, OverFrame(True), AGGREGATES), [stream(arrivals, 2, 2000)]
    )
    assert [row[4] for row, _, _ in output] == [1, 3, 35, 43, 171]
    assert harness.metrics["numLateRecordsDropped"] == 3


def test_order_functions_go_row_by_row_in_the_order_of_time():
    arrivals = [("k", 3, at(5)), ("k", 1, at(1)), ("k", 4, at(5)), ("k", 9, at(8))]
    functions = (
        OrderFunction("ROW_NUMBER"),
        AggSpec("RANK", (), BIGINT),
        OrderFunction("DENSE_RANK"),
        OrderFunction("LAG", column=1),
        OrderFunction("LAG", column=1, offset=2, default=-1),
    )
    for frame in (OverFrame(True), OverFrame(False)):
        _, output = replay(
            lambda frame=frame: EventTimeOver((0,), 2, frame, functions), [stream(arrivals, 2, 9)]
        )
        assert [row[1:2] + row[3:] for row, _, _ in output] == [
            (1, 1, 1, 1, None, -1),
            (3, 2, 2, 2, 1, -1),
            (4, 3, 2, 2, 3, 1),
            (9, 4, 4, 3, 4, 3),
        ]


def test_a_function_that_looks_ahead_is_refused_when_planned():
    with pytest.raises(NotSupportedError, match="LEAD"):
        EventTimeOver((0,), 2, OverFrame(True), (OrderFunction("LEAD", column=1),))


@pytest.mark.parametrize("frame", [OverFrame(True), OverFrame(False), OverFrame(True, 1)], ids=str)
@given(st.data(), rows)
def test_processing_time_answers_in_order_of_arrival(frame, data, arrivals):
    events = stream(arrivals, 2)
    _, output = replay(
        lambda: ProcessingTimeOver((0,), frame, AGGREGATES),
        [events],
        data.draw(cuts(events)),
        event_time=False,
    )
    expected = []
    for index, row in enumerate(arrivals):
        values = [other[1] for other in arrivals[: index + 1] if other[0] == row[0]]
        if frame.preceding is not None:
            values = values[-(frame.preceding + 1) :]
        expected.append((*row, len(values), sum(values), min(values)))
    assert counted_rows(output) == multiset(expected)


def test_a_range_of_processing_time_is_forgotten_when_it_has_passed():
    harness = TimeHarness(lambda: ProcessingTimeOver((0,), OverFrame(False, 10), AGGREGATES[:2]))
    step = lambda now, *values: harness.step(  # noqa: E731
        [Batch([("a", value) for value in values], [INSERT] * len(values))], now=now
    )
    assert step(0, 1, 2).rows == [("a", 1, 2, 3), ("a", 2, 2, 3)]
    assert step(10, 4).rows == [("a", 4, 3, 7)]
    assert step(11, 8).rows == [("a", 8, 2, 12)]
    assert step(40).rows == []
    assert not harness.has_state()
