"""Window aggregates against a model that keeps every row and looks at every window."""

from __future__ import annotations

import datetime as dt
import json
import pathlib
import pickle
from zoneinfo import ZoneInfo

import pytest
from hypothesis import strategies as st

from penstock.common.datatypes import BigIntType
from penstock.common.errors import MalformedRecordError, ValidationError
from penstock.common.ids import MIN_WATERMARK
from penstock.delta.aggregates import AggSpec
from penstock.delta.base import DELETE, INSERT, Batch
from penstock.delta.time.window_aggregate import AttachedWindow, AttachedWindowAggregate, WindowAggregate
from penstock.delta.time.windows import cumulate, hop, tumble
from tests.delta.time.streams import (
    Event,
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
COUNT = AggSpec("COUNT", (), BIGINT)
SUM = AggSpec("SUM", (1,), BIGINT)
WINDOWS = {
    "tumble": tumble(10),
    "offset": tumble(10, 3),
    "hop": hop(12, 4),
    "hop-offset": hop(9, 3, -2),
    "cumulate": cumulate(12, 3),
    "cumulate-offset": cumulate(12, 4, 5),
}
rows = timed_rows([st.sampled_from(["a", "b", None]), st.integers(-3, 9)])


def windows_of(spec, time):
    """All windows of a time, each as (start, end), found by trying."""
    found = []
    for end in range(time - 40, time + 40):
        if (end - spec.offset_ms) % spec.step_ms:
            continue
        if spec.cumulates:
            start = end - 1 - (end - 1 - spec.offset_ms) % spec.size_ms
        else:
            start = end - spec.size_ms
        if start <= time < end:
            found.append((start, end))
    return found


def model(spec, events):
    """Per key and window the rows that came before the watermark passed its end."""
    groups = {}
    for event in events:
        key, value, time = event.row
        for window in windows_of(spec, ms(time)):
            if event.before < window[1] - 1:
                groups.setdefault((key, window), []).append(value)
    if spec.cumulates:  # a step without rows of its own repeats the one before
        ends = {}
        for (key, (start, end)), values in groups.items():
            ends.setdefault((key, start), []).append((end, values))
        for (key, start), found in ends.items():
            first = min(end for end, _ in found)
            assert {end for end, _ in found} == set(range(first, start + spec.size_ms + 1, spec.step_ms))
    return multiset((key, len(vs), sum(vs), at(s), at(e)) for (key, (s, e)), vs in groups.items())


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("name", WINDOWS)
@given(st.data(), rows, st.integers(0, 25))
def test_windows_hold_the_rows_that_were_not_late_wherever_epochs_are_cut(
    name, within, data, arrivals, delay
):
    spec, events = WINDOWS[name], stream(arrivals, 2, delay)
    harness, output = replay(
        lambda: WindowAggregate((0,), 2, spec, (COUNT, SUM)), [events], data.draw(cuts(events)), within=within
    )
    assert counted_rows(output) == model(spec, events)
    ends = [row[4] for row, _, _ in output]
    assert ends == sorted(ends)
    assert all(at(watermark) < end - dt.timedelta(milliseconds=1) for (*_, end), _, watermark in output)
    assert not harness.has_state()


@pytest.mark.parametrize("name", WINDOWS)
@given(st.data(), rows)
def test_rows_that_are_taken_back_leave_their_windows(name, data, arrivals):
    spec = WINDOWS[name]
    gone = [row for row in arrivals if row[1] > 5]
    kinds = [INSERT] * len(arrivals) + [DELETE] * len(gone)
    events = stream([*arrivals, *gone], 2, delay=10_000, kinds=kinds)
    _, output = replay(
        lambda: WindowAggregate((0,), 2, spec, (COUNT, SUM), input_retracts=True),
        [events],
        data.draw(cuts(events)),
    )
    kept = stream([row for row in arrivals if row[1] <= 5], 2, delay=10_000)
    assert counted_rows(output) == model(spec, kept)


@given(st.data(), rows, st.integers(0, 15))
def test_attached_windows_are_aggregated_as_they_come(data, arrivals, delay):
    spec = WINDOWS["hop"]
    events = stream(arrivals, 2, delay)
    exploded = [
        type(event)((*event.row, at(start), at(end)), event.kind, event.before, event.after)
        for event in events
        for start, end in windows_of(spec, ms(event.row[2]))
    ]
    harness, output = replay(
        lambda: AttachedWindowAggregate((0,), AttachedWindow(3, 4), (COUNT, SUM)),
        [exploded],
        data.draw(cuts(exploded)),
    )
    assert counted_rows(output) == model(spec, events)
    assert not harness.has_state()


def taps():
    moments = [("a", 1, 2), ("b", 2, 7), ("c", 4, 12), ("d", 8, 8), ("e", 16, 3), ("f", 32, 21)]
    return [(card, fee, dt.datetime(2024, 1, 1, 12, 0, second)) for card, fee, second in moments]


def test_a_late_row_counts_in_the_hopping_windows_that_are_open():
    events = stream(taps(), 2)
    harness, output = replay(lambda: WindowAggregate((), 2, hop(10_000, 5_000), (COUNT, SUM)), [events])
    assert [row[:2] for row, _, _ in output] == [(1, 1), (2, 3), (3, 14), (1, 4), (1, 32), (1, 32)]
    assert harness.metrics["numLateRecordsDropped"] == 1


def test_cumulate_reports_every_step_again_without_new_data():
    events = stream([("a", 7, at(1))], 2)
    operator = WindowAggregate((), 2, cumulate(12, 3), (SUM,))
    _, output = replay(lambda: operator, [events])
    assert [row for row, _, _ in output] == [(7, at(0), at(end)) for end in (3, 6, 9, 12)]


def test_daily_windows_follow_the_session_zone_across_the_change_to_summer_time():
    moments = [1711836000000, 1711839600000, 1711846800000, 1711922399000, 1711922400000]
    events = stream([("h", 1, at(moment)) for moment in moments], 2, delay=1000)
    _, output = replay(
        lambda: WindowAggregate((), 2, tumble(86_400_000), (COUNT,), zone="Europe/Oslo"), [events]
    )
    day = lambda month, number: dt.datetime(2024, month, number)  # noqa: E731
    assert [row for row, _, _ in output] == [
        (1, day(3, 30), day(3, 31)),
        (3, day(3, 31), day(4, 1)),
        (1, day(4, 1), day(4, 2)),
    ]


def test_window_time_of_a_zoned_window_is_the_instant_of_its_last_millisecond():
    events = stream([("h", 1, at(1711922400000))], 2)
    properties = ("window_time", "window_start")
    _, output = replay(
        lambda: WindowAggregate((), 2, tumble(86_400_000), (), properties=properties, zone="Europe/Oslo"),
        [events],
    )
    last = dt.datetime(2024, 4, 1, 21, 59, 59, 999_000)
    assert [row for row, _, _ in output] == [(last, dt.datetime(2024, 4, 1))]


def test_processing_time_windows_fire_by_the_clock_of_the_epoch():
    harness = TimeHarness(lambda: WindowAggregate((0,), None, tumble(10), (COUNT,)))
    assert not harness.step([Batch([("a",), ("a",)], [INSERT] * 2)], now=3).rows
    assert not harness.step([Batch([("a",)], [INSERT])], now=8).rows
    assert harness.step([Batch([("a",)], [INSERT])], now=12).rows == [("a", 3, at(0), at(10))]


def test_a_row_without_time_fails_with_a_clear_message():
    harness = TimeHarness(lambda: WindowAggregate((), 0, tumble(10), (COUNT,)))
    with pytest.raises(MalformedRecordError, match="rowtime must not be null"):
        harness.step([Batch([(None,)], [INSERT])])


def test_slide_and_step_must_divide_the_size():
    with pytest.raises(ValidationError, match="integral multiple of slide"):
        hop(10, 4)
    with pytest.raises(ValidationError, match="integral multiple of step"):
        cumulate(10, 4)


def test_the_operator_can_be_sent_to_a_task():
    operator = pickle.loads(pickle.dumps(WindowAggregate((0,), 2, hop(10, 5), (SUM,), zone="Europe/Oslo")))
    assert operator.key_columns(0) == (0,)


@given(st.data(), rows, st.integers(0, 15))
def test_pre_aggregated_rows_count_for_the_rows_they_stand_for(data, arrivals, delay):
    spec = WINDOWS["tumble"]
    events = stream(arrivals, 2, delay)
    in_time = {}
    for event in events:
        end = spec.slice_end(ms(event.row[2]))
        if event.before < end - 1:
            in_time.setdefault((event.row[0], end), []).append(event.row[1])
    partial = [
        Event((key, len(values), sum(values), at(end - 1)), INSERT, MIN_WATERMARK, MIN_WATERMARK)
        for (key, end), values in in_time.items()
    ]
    specs = (AggSpec("COUNT", (1,), BIGINT, partial=True), AggSpec("SUM", (2,), BIGINT, partial=True))
    _, output = replay(
        lambda: WindowAggregate((0,), 3, spec, specs, row_count_column=1), [partial], data.draw(cuts(partial))
    )
    assert counted_rows(output) == model(spec, events)


def flink_answer(case):
    """Input rows, and what Flink 2.3 answered with a watermark after every row."""
    found = json.loads((pathlib.Path(__file__).parent / "flink_answers.json").read_text())[case]
    return found["rows"], found["final"]


def by_row(events):
    return [(1,)] * len(events), {2}


def test_half_hourly_windows_across_both_changes_of_the_clock_are_those_of_flink():
    given_rows, expected = flink_answer("hop_across_dst")
    events = stream([(number, at(epoch)) for number, epoch in given_rows], 1, 1000)
    specs = (COUNT, AggSpec("SUM", (0,), BIGINT))
    window = hop(3_600_000, 1_800_000)
    properties = ("window_start", "window_end", "window_time")
    for plan in (None, by_row(events)):
        _, output = replay(
            lambda: WindowAggregate((), 1, window, specs, properties=properties, zone="Europe/Oslo"),
            [events],
            plan,
        )
        oslo = ZoneInfo("Europe/Oslo")
        found = [
            [
                *row[2:4],
                row[4].replace(tzinfo=dt.timezone.utc).astimezone(oslo).replace(tzinfo=None),
                *row[:2],
            ]
            for row, _, _ in output
        ]
        texts = [[v.isoformat(" ", "milliseconds") for v in row[:3]] + row[3:] for row in found]
        assert sorted(texts) == sorted(expected)


def test_late_rows_count_in_the_steps_of_cumulate_that_are_open_as_in_flink():
    given_rows, expected = flink_answer("cumulate_late_rows")
    events = stream([(key, value, dt.datetime.fromisoformat(time)) for key, value, time in given_rows], 2)
    for plan in (None, by_row(events)):
        _, output = replay(
            lambda: WindowAggregate((0,), 2, cumulate(20_000, 5_000), (COUNT, SUM)), [events], plan
        )
        found = [[row[0], f"ts:{row[3]}", f"ts:{row[4]}", *row[1:3]] for row, _, _ in output]
        assert sorted(found) == sorted(expected)
