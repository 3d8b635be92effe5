"""What a job does right now, on one line of the terminal of whoever waits for it.

    word count · 12 s · epoch 34 · 1,234,567 rows read, 98,000/s · 5,120 written · watermark 2024-05-01 10:00:05

Shown while a program's main thread waits for a job (`env.execute()`, `result.wait()`) if standard error is a terminal
and `penstock.progress-line` is not false. Jobs that end within a second never show it.
"""

from __future__ import annotations

import datetime
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from penstock.common.config_values import parse_boolean
from penstock.common.ids import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.options import option
from penstock.common.status_line import StatusLine, status_line
from penstock.runtime.statistics import JobStatistics

__all__ = ["progress_line", "progress_text", "starting"]

QUIET_SECONDS = 1.0
TICK_SECONDS = 0.25
_RATE_SECONDS = 10.0
_NAME_LENGTH = 32
_OPTION = option("penstock.progress-line")


@contextmanager
def starting(what: str, configuration: Mapping[str, str]) -> Iterator[None]:
    """Says what is being waited for before there is a job, such as Spark."""
    with _drawn(configuration, lambda seconds: f"{what} · {_duration(seconds)}"):
        yield


@contextmanager
def progress_line(name: str, statistics: JobStatistics) -> Iterator[None]:
    """Shows how the job comes along until the block ends, where somebody can see it."""
    rate = Rate()

    def text(seconds: float) -> str:
        per_second = rate.of(seconds, statistics.records_read)
        return progress_text(name, statistics, seconds, per_second, time.monotonic())

    with _drawn(statistics.job.configuration, text):
        yield


@contextmanager
def _drawn(configuration: Mapping[str, str], text: Callable[[float], str]) -> Iterator[None]:
    """Shows a text, made anew from the seconds that have passed, while the main thread is in the block."""
    wanted = parse_boolean(configuration.get(_OPTION.key, "true"))
    if not wanted or threading.current_thread() is not threading.main_thread():
        yield
        return
    with status_line() as line:
        if line is None:
            yield
            return
        over = threading.Event()
        drawing = threading.Thread(target=_draw, args=(line, over, text), daemon=True)
        drawing.start()
        try:
            yield
        finally:
            over.set()
            drawing.join()


def _draw(line: StatusLine, over: threading.Event, text: Callable[[float], str]) -> None:
    started = time.monotonic()
    pause = QUIET_SECONDS
    while not over.wait(pause):
        line.show(text(time.monotonic() - started))
        pause = TICK_SECONDS


class Rate:
    """Rows a second over the last ten seconds, for a number that only grows."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def of(self, now: float, rows: int) -> float:
        """
        >>> rate = Rate()
        >>> [rate.of(second, rows) for second, rows in ((0, 0), (2, 100), (20, 1000))]
        [0.0, 50.0, 50.0]
        """
        seen = self._seen
        seen.append((now, rows))
        while len(seen) > 2 and seen[1][0] <= now - _RATE_SECONDS:
            seen.popleft()
        (first, before), (last, after) = seen[0], seen[-1]
        return (after - before) / (last - first) if last > first else 0.0


def progress_text(name: str, statistics: JobStatistics, seconds: float, per_second: float, now: float) -> str:
    """The line of a job that has been watched for `seconds`; `now` is `time.monotonic()`."""
    if len(name) > _NAME_LENGTH:
        name = name[: _NAME_LENGTH - 1] + "…"
    parts = [" ".join(name.split()), _duration(seconds), f"epoch {statistics.epochs}"]
    parts.append(f"{statistics.records_read:,} rows read, {per_second:,.0f}/s")
    parts.append(_waiting(statistics, now))
    written = statistics.records_written()
    parts.append(f"{written:,} written" if written else "")
    parts.append(_watermark(statistics))
    return " · ".join(part for part in parts if part)


def _duration(seconds: float) -> str:
    """
    >>> _duration(59.9), _duration(61), _duration(3_725)
    ('59 s', '1 min 1 s', '1 h 2 min')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _watermark(statistics: JobStatistics) -> str:
    """The least watermark of the job's operators; nothing for a job that has none."""
    found = [totals.watermark for totals in list(statistics.operators.values())]
    known = [w for w in found if w is not None]
    if all(w in (MIN_WATERMARK, MAX_WATERMARK) for w in known):  # none, or at the end of the input
        return ""
    least = min(known)
    if least == MIN_WATERMARK:
        return "no watermark yet"
    try:
        moment = datetime.datetime.fromtimestamp(least / 1000, datetime.timezone.utc)
        return f"watermark {moment:%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError, OSError):
        return f"watermark {least}"


def _waiting(statistics: JobStatistics, now: float) -> str:
    """What is waited for: a running epoch that takes long, a restart, input; and what waits inside the job."""
    activity, since = statistics.activity
    held = f"{statistics.waiting:,} elements wait" if statistics.waiting else ""
    if activity.startswith("restarting"):
        return activity
    long = f"{activity} for {_duration(now - since)}" if since and now - since >= 1 else ""
    return " · ".join(text for text in (held, long) if text)
