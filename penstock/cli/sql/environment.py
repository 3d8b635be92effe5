"""Makes the client's `TableEnvironment` and moves it between batch and streaming."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from penstock.cli.sql.options import RUNTIME_MODE
from penstock.cli.sql.stderr_gate import StderrGate
from penstock.cli.sql.worker import name_spark_jobs
from penstock.common.configuration import Configuration
from penstock.sql.session import SqlSession
from penstock.table import EnvironmentSettings, TableEnvironment

__all__ = ["Engine", "create_environment", "switch_mode"]

_POLL_SECONDS = 0.1


def create_environment(properties: Mapping[str, str]) -> TableEnvironment:
    """An environment with these properties; `execution.runtime-mode` among them says which mode."""
    builder = EnvironmentSettings.new_instance().in_batch_mode()
    settings = builder.with_configuration(Configuration.from_dict(properties)).build()
    return TableEnvironment.create(settings)


def switch_mode(environment: TableEnvironment, streaming: bool) -> None:
    """Batch or streaming from the next statement on; catalogs, temporary objects and options stay."""
    old = environment._session
    if old.streaming == streaming:
        return
    environment._session = SqlSession(old.catalogs, old.config, streaming)
    environment._session.pending_inserts = old.pending_inserts
    mode = "STREAMING" if streaming else "BATCH"
    environment.get_config().set(RUNTIME_MODE, mode)


class Engine:
    """Starts Spark once, in a thread of its own: at the prompt it comes up while the user still types.

    Never in the main thread: there PySpark would take over Ctrl-C, which is the client's.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._options = {key: value for key, value in properties.items() if key.startswith("spark.")}
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._gate = StderrGate()

    @property
    def has_options(self) -> bool:
        """Whether there are `spark.*` properties."""
        return bool(self._options)

    def start(self) -> None:
        """Begins to start; returns at once."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="start-spark", daemon=True)
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

    def _run(self) -> None:
        from penstock.runtime.spark.session import get_spark

        try:
            with self._gate.around():
                get_spark(self._options)
        except Exception as error:
            self._error = error
