"""When partitions are committed: time is a value here, and nothing is written."""

from __future__ import annotations

import datetime as dt

from penstock.common.ids import MAX_WATERMARK, MIN_WATERMARK
from penstock.connectors.filesystem.partition_commit import (
    Decision,
    PartitionTimeTrigger,
    ProcessTimeTrigger,
    decide,
)
from penstock.connectors.filesystem.partition_time import PartitionTime, zone
from penstock.connectors.sink import Moment

HOUR_MS = 3_600_000
HOURLY = PartitionTimeTrigger(PartitionTime(("day", "hr"), "$day $hr:00:00"), HOUR_MS)
SEVEN, EIGHT = "day=2024-01-01/hr=7", "day=2024-01-01/hr=8"


def at(hour: int, minute: int = 0, second: int = 0) -> int:
    moment = dt.datetime(2024, 1, 1, hour, minute, second, tzinfo=dt.timezone.utc)
    return int(moment.timestamp() * 1000)


def watermark(value: int, final: bool = False) -> Moment:
    return Moment(at(23), value, final)


def clock(now_ms: int) -> Moment:
    return Moment(now_ms, MIN_WATERMARK)


def test_without_a_delay_process_time_commits_what_was_written() -> None:
    assert decide(ProcessTimeTrigger(), {}, [EIGHT, SEVEN], clock(5)) == Decision((SEVEN, EIGHT))


def test_process_time_waits_for_the_clock_to_pass_the_delay() -> None:
    trigger = ProcessTimeTrigger(1000)
    first = decide(trigger, {}, [SEVEN], clock(5000))
    assert first == Decision((), {SEVEN: 5000}, wake_ms=6001)
    assert decide(trigger, first.pending, [], clock(6000)) == first
    assert decide(trigger, first.pending, [], clock(6001)) == Decision((SEVEN,))


def test_more_rows_do_not_make_a_pending_partition_younger() -> None:
    trigger = ProcessTimeTrigger(1000)
    later = decide(trigger, {SEVEN: 5000}, [SEVEN, EIGHT], clock(5500))
    assert later == Decision((), {SEVEN: 5000, EIGHT: 5500}, wake_ms=6001)
    assert decide(trigger, later.pending, [], clock(6200)) == Decision((SEVEN,), {EIGHT: 5500}, wake_ms=6501)


def test_partition_time_waits_for_the_watermark_to_pass_partition_and_delay() -> None:
    pending = decide(HOURLY, {}, [SEVEN, EIGHT], watermark(at(7, 30))).pending
    assert set(pending) == {SEVEN, EIGHT}
    assert decide(HOURLY, pending, [], watermark(at(8))).commit == ()
    passed = decide(HOURLY, pending, [], watermark(at(8) + 1))
    assert (passed.commit, set(passed.pending), passed.wake_ms) == ((SEVEN,), {EIGHT}, None)


def test_without_a_watermark_partition_time_never_comes() -> None:
    assert decide(HOURLY, {}, [SEVEN], watermark(MIN_WATERMARK)).commit == ()


def test_a_partition_with_late_rows_is_committed_again() -> None:
    assert decide(HOURLY, {}, [SEVEN], watermark(at(12))).commit == (SEVEN,)
    assert decide(HOURLY, {}, [], watermark(at(12))).commit == ()
    assert decide(HOURLY, {}, [SEVEN], watermark(at(13))).commit == (SEVEN,)


def test_the_end_of_the_input_commits_everything_even_what_has_no_time() -> None:
    ended = decide(HOURLY, {EIGHT: 1}, [SEVEN, "day=monday/hr=x"], watermark(MAX_WATERMARK, final=True))
    assert ended == Decision((SEVEN, EIGHT, "day=monday/hr=x"))


def test_the_watermark_of_a_zoned_row_time_is_compared_in_its_zone() -> None:
    """7:00 in Shanghai is 23:00 UTC of the day before."""
    shanghai = PartitionTimeTrigger(HOURLY.time, HOUR_MS, zone("Asia/Shanghai"))
    assert decide(shanghai, {}, [SEVEN], watermark(at(0) + 1)).commit == (SEVEN,)
    assert decide(shanghai, {}, [SEVEN], watermark(at(0))).commit == ()
