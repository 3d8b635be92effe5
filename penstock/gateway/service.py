"""All sessions of a gateway: opened, found, and closed when nobody has used them for a while."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from penstock import __version__
from penstock.cli.sql.options import RUNTIME_MODE
from penstock.common.config_check import check_configuration
from penstock.common.configuration import Configuration
from penstock.gateway.errors import GatewayError
from penstock.gateway.options import GatewayOptions
from penstock.gateway.session import GatewaySession
from penstock.gateway.worker_pool import WorkerPool

__all__ = ["PRODUCT", "GatewayService", "start_spark"]

PRODUCT = "Penstock"

_spark_lock = threading.Lock()


def start_spark(options: Mapping[str, str] | None = None) -> None:
    """The one SparkSession of this process, made by the first call; `options` are its `spark.*` settings."""
    from penstock.runtime.spark.context import running_context
    from penstock.runtime.spark.session import get_spark

    with _spark_lock:
        if running_context() is None:
            get_spark(options)


class GatewayService:
    """What the routes call.

    Args:
        configuration: Options of the gateway, and of every session that is opened in it.
        prepare: Makes Spark ready; tests that need none pass something else.
    """

    def __init__(
        self, configuration: Mapping[str, str] | None = None, prepare: Callable[[], None] = start_spark
    ) -> None:
        self._defaults = {RUNTIME_MODE: "STREAMING", **(configuration or {})}
        self.options = GatewayOptions.read(self._defaults)
        self._prepare = prepare
        self._pool = WorkerPool(
            self.options.threads_min, self.options.threads_max, self.options.keepalive_seconds
        )
        self._lock = threading.Lock()
        self._sessions: dict[str, GatewaySession] = {}
        self._stopping = threading.Event()
        self._checker: threading.Thread | None = None

    @property
    def version(self) -> str:
        return __version__

    @property
    def session_count(self) -> int:
        return len(self._sessions)

    def open_session(self, name: str | None, properties: Mapping[str, str]) -> GatewaySession:
        """
        Raises:
            GatewayError: There are as many as may be.
            ValidationError: A property has a value that means nothing.
        """
        options = {**self._defaults, **properties}
        check_configuration(Configuration.from_dict(options))
        session = GatewaySession(name, options, self._pool, self._prepare)
        with self._lock:
            if self._stopping.is_set():
                raise GatewayError("the gateway is being stopped")
            limit = self.options.max_sessions
            if 0 < limit <= len(self._sessions):
                raise GatewayError(
                    f"Failed to create session, the count of active sessions exceeds the max count: {limit}"
                )
            self._sessions[session.handle] = session
            self._watch()
        return session

    def session(self, handle: str) -> GatewaySession:
        """The session, which is used now.

        Raises:
            GatewayError: There is none with this handle.
        """
        with self._lock:
            found = self._sessions.get(handle)
        if found is None:
            raise GatewayError(f"Session '{handle}' does not exist.")
        found.touch()
        return found

    def close_session(self, handle: str) -> None:
        session = self.session(handle)
        with self._lock:
            self._sessions.pop(handle, None)
        session.close()

    def close_idle_sessions(self) -> int:
        """Closes those that nobody has used for the idle timeout; how many."""
        limit = self.options.idle_timeout_seconds
        with self._lock:
            idle = [s for s in self._sessions.values() if 0 < limit < s.idle_seconds]
            for session in idle:
                del self._sessions[session.handle]
        for session in idle:
            session.close()
        return len(idle)

    def close(self) -> None:
        """Closes all sessions and lets the threads end; jobs of INSERTs go on as long as the process does."""
        self._stopping.set()
        with self._lock:
            sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            session.close()
        self._pool.close()

    def _watch(self) -> None:
        interval = self.options.check_interval_seconds
        if self._checker is None and interval > 0 and self.options.idle_timeout_seconds > 0:
            self._checker = threading.Thread(target=self._check, args=(interval,), daemon=True)
            self._checker.name = "sql-gateway-idle-sessions"
            self._checker.start()

    def _check(self, interval: float) -> None:
        while not self._stopping.wait(interval):
            self.close_idle_sessions()
