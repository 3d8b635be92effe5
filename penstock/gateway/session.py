"""A client's session: its environment, and its operations in the order in which they were handed in."""

from __future__ import annotations

import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping

from penstock.catalog.resolved_schema import ResolvedSchema
from penstock.gateway.errors import GatewayError
from penstock.gateway.operation import Operation
from penstock.gateway.result_pages import ResultPages
from penstock.gateway.statements import StatementRunner
from penstock.gateway.worker_pool import WorkerPool

__all__ = ["GatewaySession"]


class GatewaySession:
    """Statements of a session run one after the other; those of different sessions side by side."""

    def __init__(
        self,
        name: str | None,
        options: Mapping[str, str],
        pool: WorkerPool,
        prepare: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.handle = str(uuid.uuid4())
        self.name = name
        self.runner = StatementRunner(options, prepare)
        self._pool = pool
        self._clock = clock
        self._lock = threading.Lock()
        self._operations: dict[str, Operation] = {}
        self._queue: deque[Operation] = deque()
        self._draining = False
        self._closed = False
        self._last_access = clock()

    def touch(self) -> None:
        self._last_access = self._clock()

    @property
    def idle_seconds(self) -> float:
        return self._clock() - self._last_access

    def execute(self, statement: str, options: Mapping[str, str]) -> Operation:
        """Hands a statement in."""
        return self._submit(Operation(lambda own: self.runner.execute(statement, options, own)))

    def configure(self, statement: str) -> None:
        """Runs a statement that sets the session up, behind those that were handed in before.

        Raises:
            Exception: What the statement raised.
        """

        def work(own: Operation) -> ResultPages:
            self.runner.configure(statement)
            return ResultPages(ResolvedSchema([]))

        operation = self._submit(Operation(work))
        operation.wait()
        self.close_operation(operation.handle)
        if operation.error is not None:
            raise operation.error

    def _submit(self, operation: Operation) -> Operation:
        with self._lock:
            if self._closed:
                raise GatewayError(f"Session '{self.handle}' is closed.")
            self._operations[operation.handle] = operation
            self._queue.append(operation)
            operation.submitted()
            begin = not self._draining
            self._draining = True
        if begin:
            try:
                self._pool.submit(self._drain)
            except GatewayError:
                self._give_up(operation)
                raise
        return operation

    def _give_up(self, operation: Operation) -> None:
        with self._lock:
            self._draining = False
            self._operations.pop(operation.handle, None)
            self._queue.clear()

    def _drain(self) -> None:
        while True:
            with self._lock:
                if not self._queue:
                    self._draining = False
                    return
                operation = self._queue.popleft()
            operation.run()

    def operation(self, handle: str) -> Operation:
        """
        Raises:
            GatewayError: There is none with this handle, or it was closed.
        """
        with self._lock:
            found = self._operations.get(handle)
        if found is None:
            raise GatewayError(
                f"Can not find the submitted operation in the OperationManager with the {handle}."
            )
        return found

    def close_operation(self, handle: str) -> None:
        """Closes it, if it is there."""
        with self._lock:
            found = self._operations.pop(handle, None)
        if found is not None:
            found.close()

    def close(self) -> None:
        """Ends its queries; jobs of INSERTs go on."""
        with self._lock:
            self._closed = True
            operations, self._operations = list(self._operations.values()), {}
        for operation in operations:
            operation.close()
