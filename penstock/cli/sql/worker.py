"""The thread in which statements run, so that Ctrl-C can end one and keep the session.

Ctrl-C arrives in the main thread. If that thread itself sat in a call to the JVM, the interrupt would leave
the connection with half an answer in it; so the main thread only waits. To cancel, the statement's Spark jobs
are ended by their job group, and an `Interrupted` is raised in the worker: a streaming query waits in
Python for its next rows, and leaving its iterator is what cancels its job.
"""

from __future__ import annotations

import ctypes
import queue
import threading
from collections.abc import Callable
from typing import Any

from penstock.runtime.spark.context import running_context

__all__ = ["Interrupted", "Task", "Worker", "name_spark_jobs"]

_GROUP = "penstock-sql"
_PATIENCE_SECONDS = 5.0


class Interrupted(BaseException):
    """Raised inside a statement that the user cancelled."""


class Task:
    """A call in the worker: wait for it, then ask for its result."""

    def __init__(self, action: Callable[[], Any]) -> None:
        self._action = action
        self._ended = threading.Event()
        self._result: Any = None
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._result = self._action()
        except BaseException as error:
            self._error = error
        finally:
            self._ended.set()

    def wait(self, seconds: float | None = None) -> bool:
        return self._ended.wait(seconds)

    def result(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._result


class Worker:
    """One daemon thread at a time; a statement that will not end is left behind with its thread."""

    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def start(self, action: Callable[[], Any]) -> Task:
        if self._thread is None:
            self._tasks = queue.SimpleQueue()
            self._thread = threading.Thread(target=_work, args=(self._tasks,), name="sql", daemon=True)
            self._thread.start()
        task = Task(action)
        self._tasks.put(task)
        return task

    def cancel(self, task: Task) -> None:
        """Ends the task; returns when it has ended, or after some seconds without it."""
        _cancel_spark_jobs()
        if self._thread is not None and self._thread.ident is not None and not task.wait(0):
            _raise_in(self._thread.ident, Interrupted)
        try:
            ended = task.wait(_PATIENCE_SECONDS)
        except KeyboardInterrupt:  # asked twice
            ended = False
        if not ended:
            self._thread = None


def _work(tasks: queue.SimpleQueue[Task]) -> None:
    while True:
        try:
            tasks.get().run()
        except Interrupted:  # arrived when its statement had just ended
            continue


def _raise_in(thread_id: int, error: type[BaseException]) -> None:
    """The exception comes up in the thread as soon as it runs Python code again."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread_id), ctypes.py_object(error))


def name_spark_jobs() -> None:
    """Puts the jobs that this thread starts from now on into the group that `cancel` ends."""
    context = running_context()
    if context is not None:
        context.setJobGroup(_GROUP, "penstock sql", interruptOnCancel=True)


def _cancel_spark_jobs() -> None:
    context = running_context()
    if context is not None:
        context.cancelJobGroup(_GROUP)
