"""Threads that run operations: as many as there is work for, up to a limit; idle ones leave after a while.

They are daemons, so that a statement that will not end does not keep the process.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from penstock.gateway.errors import GatewayError

__all__ = ["WorkerPool"]


class WorkerPool:
    """Runs actions at once or refuses them.

    Args:
        keep: So many threads stay, idle or not.
        limit: There are never more.
        idle_seconds: How long the others wait for more work.
    """

    def __init__(self, keep: int, limit: int, idle_seconds: float) -> None:
        self._keep, self._limit, self._idle_seconds = keep, limit, idle_seconds
        self._actions: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0
        self._closed = False

    @property
    def size(self) -> int:
        """Threads that are there now."""
        return self._threads

    def submit(self, action: Callable[[], None]) -> None:
        """Runs `action`, which must not raise, in one of the threads.

        Raises:
            GatewayError: All threads are busy, or the pool is closed.
        """
        with self._lock:
            if self._closed:
                raise GatewayError("the gateway is being stopped")
            if self._idle:
                self._idle -= 1
            elif self._threads >= self._limit:
                raise GatewayError(
                    f"Failed to submit the operation to the thread pool: all {self._limit} threads are busy",
                    do="try again later, or raise sql-gateway.worker.threads.max",
                )
            else:
                self._threads += 1
                threading.Thread(target=self._work, name="sql-gateway-operation", daemon=True).start()
        self._actions.put(action)

    def close(self) -> None:
        """Idle threads end now, the others behind what they do."""
        with self._lock:
            self._closed = True
            for _ in range(self._threads):
                self._actions.put(None)

    def _work(self) -> None:
        while True:
            try:
                action = self._actions.get(timeout=self._idle_seconds)
            except queue.Empty:
                if self._may_leave():
                    return
                continue
            if action is None:
                break
            action()
            with self._lock:
                self._idle += 1
        with self._lock:
            self._threads -= 1

    def _may_leave(self) -> bool:
        with self._lock:
            if self._idle == 0 or self._threads <= self._keep:  # work is on its way, or it is one that stays
                return False
            self._idle -= 1
            self._threads -= 1
            return True
