"""Channels of an exchange are merged by time, or evenly; each keeps its own order."""

from __future__ import annotations

import array
import functools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Types, WatermarkStrategy
from penstock.common.codecs import compile_codec
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor
from penstock.operators.time_box import TimeBox
from penstock.runtime import merging
from penstock.runtime.exchange import WATERMARK, ChannelStatus, IncomingChannel, Mark, Parcel
from penstock.runtime.merging import merged_items
from tests.runtime.in_process import collect

CODEC = compile_codec(Types.LONG())
Sent = list[tuple[str, int]]
"""("value", n), also the timestamp of n where there are any, and ("mark", watermark); ("cut", 0) ends a parcel."""


def channel(sender: int, sent: Sent, timed: bool) -> IncomingChannel:
    parcels: list[Parcel] = []
    values: list[int] = []
    marks: list[Mark] = []
    for kind, number in [*sent, ("cut", 0)]:
        if kind == "value":
            values.append(number)
        elif kind == "mark":
            marks.append(Mark(len(values), WATERMARK, number))
        else:
            start = ChannelStatus() if not parcels else None
            clock = array.array("q", values).tobytes() if timed else None
            data = CODEC.encode_batch(values) if values else b""
            parcels.append(Parcel(0, sender, len(parcels), start, len(values), data, clock, tuple(marks)))
            values, marks = [], []
    return IncomingChannel(CODEC, parcels)


def handed_over(channels: list[IncomingChannel], box: TimeBox) -> list[tuple[str, int]]:
    """Values and marks in the order in which they come; a mark with its channel."""
    found: list[tuple[str, int]] = []
    for source, item in merged_items(channels, box):
        if isinstance(item, Mark):
            assert source is not None
            found.append((f"mark of {source.sender}", item.value))
        else:
            assert item[1] is None or item[1] == item[0]
            found += [("value", value) for value in item[0]]
    return found


def unhurried() -> TimeBox:
    box = TimeBox()
    box.open(None)
    return box


def values(*numbers: int) -> Sent:
    return [("value", number) for number in numbers]


def numbers(found: list[tuple[str, int]]) -> list[int]:
    return [number for kind, number in found if kind == "value"]


def test_elements_come_in_the_order_of_their_timestamps_with_marks_in_their_places() -> None:
    first = channel(0, [*values(1, 3, 5), ("mark", 4), *values(7)], timed=True)
    second = channel(1, [*values(2, 4, 6), ("mark", 5), *values(8)], timed=True)
    assert handed_over([first, second], unhurried()) == [
        *values(1, 2, 3, 4, 5), ("mark of 0", 4), *values(6), ("mark of 1", 5), *values(7, 8)
    ]  # fmt: skip
    assert first.parcels == second.parcels == []
    assert (first.status.watermark, second.status.watermark) == (4, 5)


def test_without_timestamps_channels_are_mixed_evenly() -> None:
    channels = [channel(0, values(0, 2, 4, 6), timed=False), channel(1, values(1, 5), timed=False)]
    assert numbers(handed_over(channels, unhurried())) == [0, 1, 2, 4, 5, 6]


def test_many_elements_are_mixed_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "_FEW", 10)
    monkeypatch.setattr(merging, "_BLOCK", 4)
    channels = [channel(0, values(*range(0, 20, 2)), True), channel(1, values(*range(1, 21, 2)), True)]
    found = numbers(handed_over(channels, unhurried()))
    assert found == [0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15, 16, 18, 17, 19]


ONE = st.lists(
    st.tuples(st.sampled_from(["value", "value", "value", "mark", "cut"]), st.integers(0, 50)), max_size=25
)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@given(st.lists(ONE, min_size=2, max_size=3), st.booleans(), st.integers(1, 7), st.sampled_from([1, 3]))
def test_each_channel_keeps_its_order_and_goes_on_where_its_time_was_over(
    lists: list[Sent], timed: bool, in_time: int, block: int
) -> None:
    """Epochs that have time for some elements hand over all of them together: nothing is lost or doubled."""
    tagged = [[(kind, 100 * number + sender) for kind, number in sent] for sender, sent in enumerate(lists)]
    channels = [channel(sender, sent, timed) for sender, sent in enumerate(tagged)]
    clock = Clock()
    box = TimeBox(clock)
    found: list[tuple[str, int]] = []
    few, merging._FEW = merging._FEW, merging._FEW if block == 1 else 0
    size, merging._BLOCK = merging._BLOCK, block
    try:
        while any(c.parcels for c in channels):
            box.open(in_time * 1_000)
            rest = [c for c in channels if c.parcels]
            for source, item in merged_items(rest, box):
                if isinstance(item, Mark):
                    assert source is not None
                    found.append(("mark", item.value))
                else:
                    clock.now += len(item[0])
                    found += [("value", value) for value in item[0]]
    finally:
        merging._FEW, merging._BLOCK = few, size
    for sender, sent in enumerate(tagged):
        mine = [item for item in found if item[1] % 100 == sender]
        assert mine == [item for item in sent if item[0] != "cut"]


@given(st.lists(st.lists(st.integers(0, 1_000)).map(sorted), min_size=2, max_size=4))
def test_rising_timestamps_give_rising_timestamps(lists: list[list[int]]) -> None:
    channels = [channel(sender, values(*given), True) for sender, given in enumerate(lists)]
    found = numbers(handed_over(channels, unhurried()))
    assert found == sorted(functools.reduce(list.__add__, lists, list[Any]()))


class Steps(KeyedProcessFunction):
    """Says for each element which one of its key came before."""

    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Any:
        yield self.last.value() if self.last.value() is not None else -1, value
        self.last.update(value)


class Number(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


@pytest.mark.parametrize("timed", [True, False])
def test_a_keyed_job_at_parallelism_two_sees_an_ordered_collection_in_order(timed: bool) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    spread = env.from_collection(list(range(120)), Types.LONG()).rebalance().map(lambda v: v, Types.LONG())
    spread.set_parallelism(2)
    if timed:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Number())
        spread = spread.assign_timestamps_and_watermarks(strategy).set_parallelism(2)
    keyed = spread.key_by(lambda v: v % 3, key_type=Types.LONG())
    steps = keyed.process(Steps(), Types.TUPLE([Types.LONG(), Types.LONG()])).set_parallelism(2)
    found = collect(steps, {"execution.runtime-mode": "STREAMING"})
    assert sorted(tuple(step) for step in found) == sorted((max(-1, v - 3), v) for v in range(120))
