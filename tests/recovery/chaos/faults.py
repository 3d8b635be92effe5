"""The faults there are, and what a process does when one strikes it at a point of the epoch protocol."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from penstock.common.points import Point

TASK_POINTS = (
    Point.STATE_NEXT,
    Point.LOCAL_NEXT,
    Point.STATE_READY,
    Point.SNAPSHOT_NEXT,
    Point.SNAPSHOT_WRITTEN,
    Point.SINK_NEXT,
    Point.SINK_PREPARED,
    Point.DELTA_NEXT,
    Point.DELTA_WRITTEN,
    Point.REPORT_NEXT,
)
"""Points that tasks reach; all others but those of files are the driver's."""

FILE_POINTS = (Point.FILE_NEXT, Point.FILE_ASIDE, Point.FILE_WRITTEN)


@dataclass(frozen=True)
class Fault:
    """What happens when a process reaches a point for the n-th time.

    `lasts`: how many times in a row, for storage that is away for a while.
    """

    kind: str
    point: str
    nth: int = 1
    lasts: int = 1

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class StorageIsAway(OSError):
    """What a disk says that is full, read-only or broken."""


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fail() -> None:
    raise OSError("an injected error")


def _storage(code: int) -> Callable[[], None]:
    def refuse() -> None:
        raise StorageIsAway(code, os.strerror(code))

    return refuse


_shift_s = 0.0
_real_time = time.time


def shifted_time() -> float:
    return _real_time() + _shift_s


def move_clock() -> None:
    """An hour ahead, then two hours back, then ahead again: as a clock that somebody sets."""
    global _shift_s
    _shift_s = 3600.0 if _shift_s <= 0 else -3600.0
    time.time = shifted_time


ACTIONS: dict[str, Callable[[], None]] = {
    "driver killed": kill,
    "exception": fail,
    "disk full": _storage(errno.ENOSPC),
    "storage read-only": _storage(errno.EROFS),
    "storage failing": _storage(errno.EIO),
    "storage slow": lambda: time.sleep(0.05),
    "clock moved": move_clock,
}


class Striker:
    """Listens to the points that a process reaches, and strikes where it was told to.

    Args:
        note: Told of each fault before it strikes: afterwards there may be nobody to tell.
    """

    def __init__(self, faults: list[Fault], note: Callable[[Fault], None]) -> None:
        self._faults = faults
        self._note = note
        self.reached: Counter[str] = Counter()

    def __call__(self, point: Point) -> None:
        self.reached[point.name] += 1
        count = self.reached[point.name]
        for fault in self._faults:
            if fault.point == point.name and fault.nth <= count < fault.nth + fault.lasts:
                if count == fault.nth:
                    self._note(fault)
                ACTIONS[fault.kind]()
