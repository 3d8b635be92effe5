"""What a vertex's Python code is doing, sampled in its tasks while somebody looks: the data of flame graphs.

    driver    somebody asks for a stage's stacks: it is watched for a while       `Profiling`
    plan      the epoch's plan names the stages that are watched
    task      a thread looks at the task's own stack every few milliseconds       `profiled`
    driver    the stacks of committed epochs are added up; they are the answer

A stack counts as on the CPU if its thread uses CPU in the moment after the look, and as off it if it waits. Frames
above the stage (Spark's worker and ours) are cut off. Tasks of stages that nobody looks at are not slowed down.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from types import FrameType
from typing import TYPE_CHECKING, Any

from penstock.runtime.watched import Watched

if TYPE_CHECKING:
    from penstock.runtime.plan import SubtaskReport

__all__ = ["Profile", "Profiling", "Stacks", "profiled"]

_EVERY_SECONDS = 0.02
_MOMENT_SECONDS = 0.0005
_WATCHED_SECONDS = 60.0
_DEPTH = 100
_MOST_STACKS = 500
_STAGE = "penstock.runtime.stage"

Stacks = dict[tuple[tuple[str, ...], bool], int]
"""How often a stack was seen, outermost frame first, by whether it was on the CPU."""


def profiled(items: Iterator[Any], every_seconds: float = _EVERY_SECONDS) -> Iterator[Any]:
    """Passes on what a stage yields; its report, the last item, gets the stacks of the thread that ran it."""
    watch = _Watch(threading.get_ident(), every_seconds)
    watch.start()
    try:
        for item in items:
            yield replace(item, stacks=watch.taken()) if hasattr(item, "stacks") else item
    finally:
        watch.stop()


class _Watch:
    """Looks at the stack of one thread from another."""

    def __init__(self, thread: int, every_seconds: float) -> None:
        self._target = thread
        self._every = every_seconds
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._seen: Counter[tuple[tuple[str, ...], bool]] = Counter()
        self._used = _cpu_clock(thread)
        self._thread = threading.Thread(target=self._look_on, name="penstock-profile", daemon=True)

    def start(self) -> None:
        _TURNS.shorten()
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        _TURNS.as_before()

    def taken(self) -> Stacks:
        with self._lock:
            return dict(self._seen.most_common(_MOST_STACKS))

    def _look_on(self) -> None:
        # The first look comes at any moment of the interval: epochs that are shorter than it are seen in their turn.
        pause = random.uniform(0, self._every)
        while not self._over.wait(pause):
            pause = self._every
            stack = stack_of(sys._current_frames().get(self._target))
            if stack:
                on_cpu = self._goes_on()
                with self._lock:
                    self._seen[stack, on_cpu] += 1

    def _goes_on(self) -> bool:
        """Whether the thread uses CPU now: for a moment it may have the interpreter to itself."""
        began, before = time.monotonic(), self._used()
        self._over.wait(_MOMENT_SECONDS)
        return self._used() - before > (time.monotonic() - began) / 4


class _Turns:
    """How long a thread may keep the interpreter from others: less while somebody watches.

    With the usual 5 ms a look would have to wait until the thread waits for something, and would only ever see that.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watches = 0
        self._usual = sys.getswitchinterval()

    def shorten(self) -> None:
        with self._lock:
            if self._watches == 0:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(_MOMENT_SECONDS)
            self._watches += 1

    def as_before(self) -> None:
        with self._lock:
            self._watches -= 1
            if self._watches == 0:
                sys.setswitchinterval(self._usual)


_TURNS = _Turns()


def _cpu_clock(thread: int) -> Callable[[], float]:
    """CPU seconds of a thread; where the system does not tell, every look finds it busy."""
    try:
        clock = time.pthread_getcpuclockid(thread)
    except (AttributeError, OSError):
        return time.monotonic
    return lambda: time.clock_gettime(clock)


def stack_of(frame: FrameType | None) -> tuple[str, ...]:
    """The frames inside the stage, outermost first; none if the thread is elsewhere."""
    names: list[str] = []
    inside = 0
    while frame is not None:
        module = frame.f_globals.get("__name__", "?")
        code = frame.f_code
        names.append(f"{module}.{getattr(code, 'co_qualname', code.co_name)}:{frame.f_lineno}")
        if module == _STAGE:
            inside = len(names)
        frame = frame.f_back
    return tuple(reversed(names[:inside]))[:_DEPTH]


@dataclass(frozen=True)
class Profile:
    """Stacks by subtask, and when the last of them were taken; 0: none have been."""

    end_ms: int
    subtasks: dict[int, Stacks]


class Profiling(Watched[Profile]):
    """The driver's side; may be used from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(_WATCHED_SECONDS, Profile(0, {}), clock)

    def take(self, reports: Iterable[SubtaskReport]) -> None:
        """The reports of an epoch that was committed."""
        for report in reports:
            if report.stacks:
                with self._lock:
                    before = self._found.get(report.stage, self._nothing).subtasks
                    own = Counter(before.get(report.subtask, {})) + Counter(report.stacks)
                    subtasks = {**before, report.subtask: dict(own.most_common(_MOST_STACKS))}
                    self._found[report.stage] = Profile(int(time.time() * 1000), subtasks)
