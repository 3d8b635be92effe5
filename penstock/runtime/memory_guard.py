"""Stops a task whose Python process grows beyond its limit, before the kernel does.

The kernel kills without a word, often the wrong process, and the job would try the same epoch again. Here a thread
looks at the memory of the process while a task works. Beyond the limit it interrupts the task, which then fails with
an error that names the operator that was working, and the job goes on by its restart strategy with smaller epochs.

Only anonymous memory counts: pages of LMDB's files are in the process too, but the kernel can take them back.
"""

from __future__ import annotations

import ctypes
import gc
import os
import reprlib
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, TypeVar

from penstock.common.errors import WorkerMemoryError
from penstock.common.key_groups import key_group_range
from penstock.operators.base import Operator

_POLL_SECONDS = 0.2
_SHARE = 0.6
"""Of the machine, for all Python workers together: the JVM and the page cache need the rest."""

T = TypeVar("T")


class OverMemoryLimit(BaseException):
    """Raised into a task that must stop. Not an Exception: no handler of a user's function may swallow it."""


def default_limit_bytes() -> int:
    """What one worker may use if nobody says otherwise: a share of the machine, divided by its cores."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return int(total * _SHARE) // (os.cpu_count() or 1)


def anonymous_bytes() -> int:
    """Memory of this process that no file backs; 0 where the system does not tell."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


class MemoryGuard:
    """Watches one thread at a time; each worker process has one."""

    def __init__(self, used_bytes: Callable[[], int] = anonymous_bytes) -> None:
        self._used_bytes = used_bytes
        self._lock = threading.Lock()
        self._watched: int | None = None
        self._limit_bytes = 0
        self._busy = threading.Event()
        self._thread: threading.Thread | None = None
        self.seen_bytes = 0
        """What the task used when it was stopped."""
        self._before_bytes = 0
        self._peak_bytes = 0

    def begin_task(self) -> None:
        """From here on `growth_bytes` counts."""
        self._before_bytes = self._peak_bytes = self._used_bytes()

    def growth_bytes(self) -> int:
        """How much more than before the task the process has used so far; short peaks are not seen."""
        self._peak_bytes = max(self._peak_bytes, self._used_bytes())
        return self._peak_bytes - self._before_bytes

    def watched(self, items: Iterator[T], limit_bytes: int) -> Iterator[T]:
        """The same items; while the next one is made, its maker may be stopped with `OverMemoryLimit`."""
        if limit_bytes <= 0:
            yield from items
            return
        while True:
            self._begin(limit_bytes)
            try:
                item = next(items)
            except StopIteration:
                return
            finally:
                self._end()
            yield item

    def _begin(self, limit_bytes: int) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._watch, name="penstock-memory", daemon=True)
            self._thread.start()
        self._limit_bytes = limit_bytes
        self._watched = threading.get_ident()
        self._busy.set()

    def _end(self) -> None:
        with self._lock:
            self._watched = None
            self._busy.clear()

    def _watch(self) -> None:
        pause = threading.Event()
        while True:
            self._busy.wait()
            used = self._used_bytes()
            self._peak_bytes = max(self._peak_bytes, used)
            if used > self._limit_bytes:
                self._stop()
            pause.wait(_POLL_SECONDS)

    def _stop(self) -> None:
        """Interrupts the task, unless it has handed over its item meanwhile."""
        with self._lock:
            if self._watched is not None:
                self.seen_bytes = self._used_bytes()
                thread, self._watched = self._watched, None
                self._busy.clear()
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread), ctypes.py_object(OverMemoryLimit)
                )


GUARD = MemoryGuard()


def memory_error(error: BaseException, limit_bytes: int, used_bytes: int) -> WorkerMemoryError:
    """What to tell of a task that was stopped, or that the allocator refused: who was working, and on what."""
    operator = _operator_at_work(error.__traceback__)
    where = None if operator is None else _place(operator)
    gc.unfreeze()  # what earlier tasks have made may go as well (garbage.py)
    gc.collect()
    return WorkerMemoryError(
        f"a Python worker needs {used_bytes >> 20:,} MiB, its limit is {limit_bytes >> 20:,} MiB",
        where=where,
        do="a job with a restart strategy tries again with fewer records; a join without equal keys, a window\n"
        "that never closes and state without a time to live grow for ever (EXPLAIN warns of them);\n"
        "raise execution.worker.memory-limit if the machine has room",
    )


def _operator_at_work(traceback: TracebackType | None) -> Operator | None:
    """The innermost operator whose code was running."""
    found = None
    while traceback is not None:
        owner: Any = traceback.tb_frame.f_locals.get("self")
        if isinstance(owner, Operator):
            found = owner
        traceback = traceback.tb_next
    return found


def _place(operator: Operator) -> str:
    context = operator.context
    place = f"operator '{context.name}' (uid {context.uid}), subtask {context.subtask_index}"
    if context.keyed_state is None:
        return place
    groups = key_group_range(context.subtask_index, context.max_parallelism, context.parallelism)
    key = reprlib.repr(context.keyed_state.current_key)
    return f"{place}, key groups {groups[0]} to {groups[-1]}, last key {key}"
