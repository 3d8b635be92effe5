"""Ctrl-C while this process talks to its JVM.

A SparkContext that is made in the main thread takes Ctrl-C over: its handler asks the JVM to cancel all jobs, and
then raises KeyboardInterrupt. It asks on the connection of the main thread. If that was interrupted while it read an
answer, as it does for seconds while Spark starts, the second read is refused (`reentrant call`), and pages of
tracebacks follow. Ours lets another thread ask, which has a connection of its own.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

__all__ = ["context_of"]

C = TypeVar("C")


def context_of(make: Callable[[], C]) -> C:
    """What `make` gives, a SparkContext; if it was made just now, with our handler in the place of PySpark's."""
    before = signal.getsignal(signal.SIGINT)
    context = make()
    if signal.getsignal(signal.SIGINT) is not before:
        signal.signal(signal.SIGINT, _handler(context))
    return context


def _handler(context: Any) -> Callable[[int, Any], NoReturn]:
    def cancel() -> None:
        with contextlib.suppress(Exception):  # the JVM may be on its way out
            context.cancelAllJobs()

    def interrupted(number: int, frame: Any) -> NoReturn:
        threading.Thread(target=cancel, name="cancel-spark-jobs", daemon=True).start()
        raise KeyboardInterrupt

    return interrupted
