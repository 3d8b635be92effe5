"""When a partition is complete, as far as anyone can say: the triggers of partition commits.

A streaming job adds to a partition epoch after epoch. Readers that want whole partitions wait for its success file,
which is written once the trigger says so:

    process-time      the clock has passed the moment the partition was first written to, plus the delay
    partition-time    the watermark has passed the time in the partition's values, plus the delay

    delay 1 h         day=1/hr=7 ──────────────┤ 08:00: the watermark may be behind the last row of it
    watermark                 06:50     07:30      08:01
                              pending   pending    committed

Pending partitions are part of every checkpoint. When the input ends all of them are committed. One that gets rows
after it was committed is pending again, and committed again. This module only decides; it knows no files, no clock.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from penstock.connectors.filesystem.partition_time import PartitionTime, epoch_millis
from penstock.connectors.sink import Moment

Pending = Mapping[str, int]
"""Folders of partitions that are not committed, and the processing time (ms) at which they were first written to."""


@dataclass(frozen=True)
class Decision:
    """What becomes of the partitions.

    Attributes:
        commit: Folders to be committed now.
        pending: What waits.
        wake_ms: When the clock will have passed the first of those, if it is the clock they wait for.
    """

    commit: tuple[str, ...] = ()
    pending: Pending = field(default_factory=dict)
    wake_ms: int | None = None


class Trigger(Protocol):
    """Says whether a partition is complete."""

    def is_due(self, folder: str, created_ms: int, moment: Moment) -> bool: ...

    def wake_ms(self, pending: Pending) -> int | None:
        """When to ask again although nothing has happened."""


@dataclass(frozen=True)
class ProcessTimeTrigger:
    """Complete some time after the partition was first written to."""

    delay_ms: int = 0

    def is_due(self, folder: str, created_ms: int, moment: Moment) -> bool:
        return self.delay_ms == 0 or moment.processing_time_ms > created_ms + self.delay_ms

    def wake_ms(self, pending: Pending) -> int | None:
        return min(pending.values()) + self.delay_ms + 1 if pending else None


@dataclass(frozen=True)
class PartitionTimeTrigger:
    """Complete when the watermark has passed the partition's time, some time ago.

    The partition's time is a wall-clock time of `zone`: UTC for a watermark on TIMESTAMP, whose milliseconds are
    those of a clock in UTC; the session's zone for one on TIMESTAMP_LTZ.
    """

    time: PartitionTime
    delay_ms: int = 0
    zone: dt.tzinfo = dt.timezone.utc

    def is_due(self, folder: str, created_ms: int, moment: Moment) -> bool:
        return moment.watermark > epoch_millis(self.time.of(folder), self.zone) + self.delay_ms

    def wake_ms(self, pending: Pending) -> int | None:
        return None


def decide(trigger: Trigger, pending: Pending, written: Iterable[str], moment: Moment) -> Decision:
    """What an epoch that wrote into some partitions commits of them and of those that were pending."""
    now_ms = moment.processing_time_ms
    waiting = dict(sorted({**dict.fromkeys(written, now_ms), **pending}.items()))
    if moment.final:
        return Decision(tuple(waiting))
    left = dict(waiting)
    due = [folder for folder, created_ms in waiting.items() if trigger.is_due(folder, created_ms, moment)]
    for folder in due:
        del left[folder]
    return Decision(tuple(due), left, trigger.wake_ms(left))
