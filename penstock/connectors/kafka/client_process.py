"""The process in which Kafka clients of the driver live: it makes objects and calls their methods, as it is told.

    driver  ── (call, object, method, arguments) ──▶  this process
            ◀── (call, done, result or error) ──────

Every object has a thread, so that one that waits for its broker keeps nobody else waiting; its own calls are made in
the order they came in. The process ends when its pipe does, that is with the driver, whatever its threads are doing.
What objects write to the log goes to the driver's.
"""

from __future__ import annotations

import logging
import os
import pickle
import queue
import signal
import sys
import threading
from typing import IO, Any

from penstock.connectors.kafka.frames import packed, read_frame, write_frame

MAKE = "__init__"
FORGET = "__del__"
LOGGED = -1
"""A message of the log, in the place of a call's number."""


class Outbox:
    """Answers of all threads, one after the other."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()

    def put(self, number: int, done: Any, answer: Any) -> None:
        data = packed((number, done, answer))
        with self._lock:
            write_frame(self._pipe, data)


class HostedObject:
    """An object and the thread that calls it."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._object: Any = None
        self._calls: queue.SimpleQueue[tuple[int, str, tuple[Any, ...]]] = queue.SimpleQueue()
        threading.Thread(target=self._serve, daemon=True).start()

    def ask(self, number: int, method: str, arguments: tuple[Any, ...]) -> None:
        self._calls.put((number, method, arguments))

    def _serve(self) -> None:
        while True:
            number, method, arguments = self._calls.get()
            if method == FORGET:
                self._object = None  # here: a client may take its time to end
                return
            try:
                answer = self._call(method, arguments)
            except BaseException as error:
                self._outbox.put(number, False, _travelling(error))
            else:
                self._outbox.put(number, True, answer)

    def _call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        if method == MAKE:
            make, *rest = arguments
            self._object = make(*rest)
            return None
        return getattr(self._object, method)(*arguments)


class _DriversLog(logging.Handler):
    def __init__(self, outbox: Outbox) -> None:
        super().__init__()
        self._outbox = outbox

    def emit(self, record: logging.LogRecord) -> None:
        self._outbox.put(LOGGED, record.levelno, record.getMessage())


def _travelling(error: BaseException) -> BaseException:
    """The error itself if it can be pickled, or one that tells what it was."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def main() -> None:
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # the driver gets it too, and may have something left to publish
    inbox, outbox = _pipes()
    logging.basicConfig(handlers=[_DriversLog(outbox)], level=logging.INFO, force=True)
    hosted: dict[int, HostedObject] = {}
    try:
        while True:
            number, target, method, arguments = read_frame(inbox)
            if method == MAKE:
                hosted[target] = HostedObject(outbox)
            hosted[target].ask(number, method, arguments)
            if method == FORGET:
                del hosted[target]
    except EOFError:
        os._exit(0)


def _pipes() -> tuple[IO[bytes], Outbox]:
    """Standard input and output, out of reach of whatever prints or reads."""
    inbox, outbox = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(sys.stderr.fileno(), 1)
    return inbox, Outbox(outbox)


if __name__ == "__main__":
    main()
