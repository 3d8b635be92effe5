"""Things that take their time: started by a POST, asked about by the id that it answered.

What was started with an id is not started again with the same one, as in Flink, so a client may repeat a request that
it has no answer to. Results are kept for `rest.async.store-duration`.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.common.errors import PenstockError
from penstock.rest.java_objects import serialized_throwable

__all__ = ["Operation", "Operations", "failure_cause"]


@dataclass
class Operation:
    """One of them; `result` or `error` is there when `done` is set."""

    done: threading.Event = field(default_factory=threading.Event)
    result: Any = None
    error: BaseException | None = None
    ended: float = 0.0

    def status(self, done: Callable[[Any], dict[str, Any]], cause: str = "failure-cause") -> dict[str, Any]:
        """Flink's answer: in progress, or completed with what came out."""
        if not self.done.is_set():
            return {"status": {"id": "IN_PROGRESS"}}
        told = done(self.result) if self.error is None else {cause: failure_cause(self.error)}
        return {"status": {"id": "COMPLETED"}, "operation": told}


class Operations:
    """Operations by kind, owner and id.

    Args:
        kept_seconds: So long results are kept.
        on_end: Called whenever one has ended, before anybody is told so.
    """

    def __init__(self, kept_seconds: float, on_end: Callable[[], None] = lambda: None) -> None:
        self._kept_seconds = kept_seconds
        self._on_end = on_end
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str, str], Operation] = {}

    def start(self, kind: str, owner: str, trigger_id: str, run: Callable[[], Any]) -> None:
        """Runs it on a thread of its own, unless that was done before."""
        with self._lock:
            self._sweep()
            if (kind, owner, trigger_id) in self._known:
                return
            operation = self._known[kind, owner, trigger_id] = Operation()
        name = f"penstock-rest-{kind}"
        threading.Thread(target=self._run, args=(operation, run), name=name, daemon=True).start()

    def _run(self, operation: Operation, run: Callable[[], Any]) -> None:
        try:
            operation.result = run()
        except BaseException as error:
            operation.error = error
        operation.ended = time.monotonic()
        self._on_end()
        operation.done.set()

    def find(self, kind: str, owner: str, trigger_id: str) -> Operation | None:
        with self._lock:
            self._sweep()
            return self._known.get((kind, owner, trigger_id))

    def wait(self, seconds: float) -> None:
        """Until nothing is under way, but not longer."""
        until = time.monotonic() + seconds
        for operation in list(self._known.values()):
            operation.done.wait(max(0.0, until - time.monotonic()))

    def _sweep(self) -> None:
        oldest = time.monotonic() - self._kept_seconds
        for key in [k for k, o in self._known.items() if o.done.is_set() and o.ended < oldest]:
            del self._known[key]


def failure_cause(error: BaseException) -> dict[str, Any]:
    """An error as Flink's clients read it: a name, a text, and a Java object of the two."""
    name = type(error).__name__
    if isinstance(error, PenstockError):
        text = f"{name}: {error}"
    else:
        text = "".join(traceback.format_exception(error)).rstrip()
    message = f"{name}: {error}"
    return {
        "class": name,
        "stack-trace": text,
        "serialized-throwable": serialized_throwable(name, text, message),
    }
