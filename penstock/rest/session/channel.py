"""Two processes that ask each other: JSON, a line each, over a Unix socket.

{"id": 7, "ask": "read", "path": "/jobs/..."}      a question
{"id": 7, "answer": {...}} or {"id": 7, "error": {...}}    its answer
"""

from __future__ import annotations

import itertools
import json
import logging
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any

from penstock.common.errors import ErrorDomain, ExternalSystemError, PenstockError
from penstock.rest.messages import RestError

__all__ = ["Channel", "ChannelClosedError"]

LOG = logging.getLogger(__name__)
_MOST_BYTES = 256 << 20

Handler = Callable[[str, Mapping[str, Any]], Any]


class ChannelClosedError(ExternalSystemError):
    """The other process has gone."""


class Channel:
    """One end. Questions of the other side are answered by `handle`, each on a thread of its own.

    Args:
        handle: Called with the name of a question and its fields; what it returns is the answer.
        closed: Called once, when the other side has gone.
    """

    def __init__(
        self, connection: socket.socket, handle: Handler, closed: Callable[[], None] | None = None
    ) -> None:
        self._socket = connection
        self._reader = connection.makefile("rb")
        self._handle = handle
        self._on_close = closed
        self._numbers = itertools.count(1)
        self._sending = threading.Lock()
        self._waiting: dict[int, _Waiting] = {}
        self._under_way = 0
        self._idle = threading.Condition()
        self._gone = False
        self._thread = threading.Thread(target=self._listen, name="penstock-channel", daemon=True)

    def start(self) -> Channel:
        self._thread.start()
        return self

    def ask(self, question: str, timeout: float | None = None, **fields: Any) -> Any:
        """
        Raises:
            ChannelClosedError: The other side has gone.
            TimeoutError: No answer came in time.
            PenstockError, RestError: What the other side raised.
        """
        return self.begin(question, **fields)(timeout)

    def begin(self, question: str, **fields: Any) -> Callable[[float | None], Any]:
        """Asks; what it returns waits for the answer, as `ask` does. So several can be asked at a time."""
        number = next(self._numbers)
        waiting = self._waiting[number] = _Waiting()
        try:
            self._send({"id": number, "ask": question, **fields})
        except ChannelClosedError as error:
            waiting.end(error)

        def answer(timeout: float | None) -> Any:
            try:
                if self._gone:
                    waiting.end(ChannelClosedError("the program's process has ended"))
                if not waiting.done.wait(timeout):
                    raise TimeoutError(f"no answer to '{question}' within {timeout} s")
            finally:
                self._waiting.pop(number, None)
            if waiting.error is not None:
                raise waiting.error
            return waiting.answer

        return answer

    def tell(self, question: str, **fields: Any) -> None:
        """A question whose answer nobody waits for."""
        self._send({"id": 0, "ask": question, **fields})

    def finish(self, seconds: float) -> None:
        """Waits until all questions of the other side are answered, but not longer; then closes."""
        with self._idle:
            self._idle.wait_for(lambda: self._under_way == 0, seconds)
        self.close()

    def close(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()

    def _send(self, message: Mapping[str, Any]) -> None:
        data = json.dumps(message, default=str).encode() + b"\n"
        try:
            with self._sending:
                self._socket.sendall(data)
        except OSError as error:
            raise ChannelClosedError("the program's process has ended") from error

    def _listen(self) -> None:
        try:
            while line := self._reader.readline(_MOST_BYTES):
                self._received(json.loads(line))
        except (OSError, ValueError):
            LOG.debug("channel closed", exc_info=True)
        finally:
            self._gone = True
            for waiting in list(self._waiting.values()):
                waiting.end(ChannelClosedError("the program's process has ended"))
            self.close()  # not left to the collector of garbage: who asks how many files are open wants the truth
            self._reader.close()
            if self._on_close is not None:
                self._on_close()

    def _received(self, message: Mapping[str, Any]) -> None:
        if "ask" in message:
            with self._idle:
                self._under_way += 1
            threading.Thread(target=self._serve, args=(message,), name="penstock-answer", daemon=True).start()
            return
        waiting = self._waiting.get(message["id"])
        if waiting is not None:
            waiting.answer = message.get("answer")
            waiting.error = _error(message["error"]) if "error" in message else None
            waiting.done.set()

    def _serve(self, message: Mapping[str, Any]) -> None:
        reply: dict[str, Any] = {"id": message["id"]}
        try:
            reply["answer"] = self._handle(message["ask"], message)
        except Exception as error:
            LOG.debug("'%s' failed", message["ask"], exc_info=True)
            reply["error"] = _described(error)
        try:
            if message["id"]:
                self._send(reply)
        except ChannelClosedError:
            LOG.debug("nobody is there any more for the answer to '%s'", message["ask"])
        finally:
            with self._idle:
                self._under_way -= 1
                self._idle.notify_all()


class _Waiting:
    """Somebody who has asked."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.answer: Any = None
        self.error: BaseException | None = None

    def end(self, error: BaseException) -> None:
        """There will be no answer, unless it has come already."""
        if not self.done.is_set():
            self.error = error
            self.done.set()


def _described(error: BaseException) -> dict[str, Any]:
    if isinstance(error, RestError):
        return {"status": error.status, "messages": list(error.messages)}
    domain = error.domain.value if isinstance(error, PenstockError) else "internal"
    return {"name": type(error).__name__, "text": str(error), "domain": domain}


def _error(fields: Mapping[str, Any]) -> BaseException:
    if "status" in fields:
        return RestError(int(fields["status"]), *fields["messages"])
    known = _by_name().get(fields["name"], PenstockError)
    error = known(fields["text"])
    error.domain = ErrorDomain(fields["domain"])
    return error


def _by_name() -> dict[str, type[PenstockError]]:
    from penstock.common import errors

    names = ("JobEndedError", "ValidationError", "CheckpointError", "StateError")
    return {name: getattr(errors, name) for name in names}
