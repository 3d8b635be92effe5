"""Watermarks of several channels become one."""

from __future__ import annotations

from penstock.common.ids import MIN_WATERMARK
from penstock.runtime.exchange import ChannelStatus
from penstock.runtime.valve import Valve


def valve(*statuses: ChannelStatus, emitted: int = MIN_WATERMARK) -> Valve:
    v = Valve()
    v.begin(emitted)
    for i, status in enumerate(statuses):
        v.announce(i, 0, status)
    return v


def test_the_slowest_channel_decides() -> None:
    v = valve(ChannelStatus(), ChannelStatus())
    assert v.advance(0, 10) is None
    assert v.advance(1, 5) == 5
    assert v.advance(1, 20) == 10


def test_an_idle_channel_is_not_waited_for() -> None:
    v = valve(ChannelStatus(), ChannelStatus())
    v.advance(0, 10)
    assert v.set_idle(1, True) == 10
    assert v.advance(0, 11) == 11


def test_an_idle_channel_that_comes_back_behind_does_not_turn_time_back() -> None:
    v = valve(ChannelStatus(10), ChannelStatus(3, idle=True), emitted=10)
    assert v.set_idle(1, False) is None
    assert v.advance(0, 12) is None
    assert v.advance(1, 11) == 11


def test_when_all_are_idle_time_runs_to_the_furthest() -> None:
    v = valve(ChannelStatus(10), ChannelStatus(3), emitted=3)
    assert v.set_idle(1, True) == 10
    assert v.set_idle(0, True) is None
    assert v.all_idle


def test_an_input_ends_with_its_last_channel() -> None:
    v = valve(ChannelStatus(), ChannelStatus())
    assert not v.end(0)
    assert v.end(1)
    assert v.all_ended


def test_a_channel_that_ended_in_an_earlier_epoch_does_not_end_again() -> None:
    v = valve(ChannelStatus(5, ended=True), ChannelStatus())
    assert not v.end(0)
    assert v.end(1)
