"""Spark on its way up beside the client.

Little is imported here: whoever has a script that needs Spark starts it first and imports the rest meanwhile.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from penstock.cli.sql.script import split_script
from penstock.cli.sql.stderr_gate import StderrGate
from penstock.cli.sql.worker import name_spark_jobs
from penstock.runtime.spark.context import running_context

if TYPE_CHECKING:
    from penstock.runtime.spark.session import StartingSession

__all__ = ["Engine", "runs_jobs"]

_POLL_SECONDS = 0.1
_JOB = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/|\()*(?:SELECT|INSERT|WITH|VALUES|EXECUTE)\b", re.I | re.S)


def runs_jobs(script: str) -> bool:
    """Whether a script, as far as its first words tell, has a statement that needs Spark.

    >>> runs_jobs("CREATE TABLE t (a INT); (SELECT a FROM t)"), runs_jobs("EXPLAIN SELECT 1; SHOW TABLES")
    (True, False)
    """
    return any(_JOB.match(piece.text) for piece in split_script(script))


class Engine:
    """Starts Spark once, in a thread of its own: it comes up while the client is imported, while a statement is
    planned and, at the prompt, while the user still types.

    Never in the main thread: there PySpark would take over Ctrl-C, which is the client's.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._options = {key: value for key, value in properties.items() if key.startswith("spark.")}
        self._thread: threading.Thread | None = None
        self._starting: StartingSession | None = None
        self._error: BaseException | None = None
        self._gate = StderrGate()

    @property
    def has_options(self) -> bool:
        """Whether there are `spark.*` properties."""
        return bool(self._options)

    def start(self) -> None:
        """Begins to start; returns while the JVM is still on its way."""
        if self._thread is not None:
            return
        run = self._waiting()
        # PySpark is imported by this thread: two that import it at a time could find its modules half made.
        import pyspark.java_gateway
        import pyspark.sql  # noqa: F401

        self._thread = threading.Thread(target=run, name="start-spark", daemon=True)
        self._thread.start()

    def ready(self) -> None:
        """Returns when Spark runs; the jobs of this thread can be cancelled from then on."""
        self.start()
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(_POLL_SECONDS)
        if self._error is not None:
            self._thread, error, self._error = None, self._error, None
            raise error
        name_spark_jobs()

    def cancelling(self) -> None:
        """The workers of a statement are about to be ended; their complaints are of no use to anybody."""
        self._gate.mute()

    def _waiting(self) -> Callable[[], None]:
        """Starts the JVM; returns what waits for it. Errors are kept for `ready`."""
        from penstock.runtime.spark.session import StartingSession, get_spark

        if running_context() is not None:
            return self._guarded(get_spark)
        stderr = self._gate.open()

        def begin() -> None:
            self._starting = StartingSession(self._options, stderr)

        self._guarded(begin)()
        return self._guarded(lambda: self._finish(stderr))

    def _finish(self, stderr: int) -> None:
        try:
            if self._starting is not None:
                self._starting.session()
        finally:
            os.close(stderr)

    def _guarded(self, action: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            try:
                action()
            except Exception as error:
                self._error = error

        return run
