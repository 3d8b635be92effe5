"""Kafka clients of the driver live in processes beside it: what goes wrong in the library must not end the driver.

librdkafka has calls that never come back when a broker goes down at the wrong moment, and assertions that end their
process (both seen with 2.16: `send_offsets_to_transaction`, and requests to the coordinator of a group). A task may
die of that, Spark runs it again. The driver must not. So it holds an `Apart`: an object in another process, which is
asked with a time limit. If the process dies, or does not answer in time and is killed, the caller gets `ClientLost`
and decides what that means. The object is gone then, and so are the others that lived there.

A few processes serve all objects of a driver, at most as many as it has cores; one is kept when nobody needs it, for
the next job. They end with the driver, whose end they see as that of their pipe.
"""

from __future__ import annotations

import itertools
import logging
import os
import queue
import subprocess
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import IO, Any

from penstock.connectors.kafka.client_process import FORGET, LOGGED, MAKE
from penstock.connectors.kafka.frames import packed, read_frame, write_frame

LOG = logging.getLogger(__name__)
_MOST_PROCESSES = 8
_LAST_WORDS = 5
_START_S = 120.0
_END_S = 10.0
_PROGRAM = "import sys; sys.path[:] = sys.argv[1:]; from penstock.connectors.kafka.client_process import main; main()"


class ClientLost(Exception):
    """The process of a client died, or did not answer in time; what it was doing may have happened or not."""


class Apart:
    """An object in another process; it is made with the first call.

    Args:
        make: A class or function that modules can be asked for by name; it is called with the arguments there.
    """

    def __init__(self, make: Callable[..., Any], *arguments: Any) -> None:
        self._make = make, *arguments
        self._place: _Place | None = None
        self._lock = threading.Lock()

    def call(self, method: str, *arguments: Any, timeout_s: float) -> Any:
        """Calls a method of the object.

        Raises:
            ClientLost: See there.
        """
        return self.ask(method, *arguments, timeout_s=timeout_s)()

    def ask(self, method: str, *arguments: Any, timeout_s: float) -> Callable[[], Any]:
        """The same, without waiting: gives what waits. Calls are made in the order in which they are asked for."""
        with self._lock:
            if self._place is None:
                self._place = _Place(self._make)
            place = self._place
        return place.ask(method, arguments, timeout_s)

    def close(self) -> None:
        """Lets the object go, without waiting for what it does."""
        place, self._place = self._place, None
        if place is not None:
            place.leave()


class _Place:
    """Where an object is: a process, and the number that it has there."""

    def __init__(self, make: tuple[Any, ...]) -> None:
        self.process = _pool.enter()
        self._number = next(_numbers)
        self.leave = weakref.finalize(self, _pool.leave, self.process, self._number)
        try:
            self.ask(MAKE, make, _START_S)()
        except BaseException:
            self.leave()
            raise

    def ask(self, method: str, arguments: tuple[Any, ...], timeout_s: float) -> Callable[[], Any]:
        process = self.process
        answer = process.ask(self._number, method, arguments)

        def wait() -> Any:
            try:
                return answer.result(timeout_s)
            except FutureTimeout:
                if answer.done():
                    raise
                process.kill()
                raise ClientLost(f"no answer to {method} for {timeout_s:g} s") from None

        return wait


class ClientProcess:
    """A process with objects, and the threads that write to it and listen to it."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", _PROGRAM, *(path or os.getcwd() for path in sys.path)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
        self.objects = 0
        self.lost = False
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[Any]] = {}
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._said: deque[str] = deque(maxlen=_LAST_WORDS)
        assert self._process.stdin and self._process.stdout and self._process.stderr
        listening = self._thread(self._listen, self._process.stderr)
        self._thread(self._write, self._process.stdin)
        self._thread(self._receive, self._process.stdout, listening)

    def _thread(self, target: Callable[..., None], *arguments: Any) -> threading.Thread:
        thread = threading.Thread(
            target=target, args=arguments, name=f"penstock-kafka-{self._process.pid}", daemon=True
        )
        thread.start()
        return thread

    def ask(self, target: int, method: str, arguments: tuple[Any, ...]) -> Future[Any]:
        number, answer = next(_numbers), Future[Any]()
        request = packed((number, target, method, arguments))
        with self._lock:
            if self.lost:
                answer.set_exception(ClientLost("the client's process has ended"))
                return answer
            self._waiting[number] = answer
        self._outgoing.put(request)
        return answer

    def tell(self, target: int, method: str) -> None:
        """Asks for something that has no answer."""
        self._outgoing.put(packed((0, target, method, ())))

    def end(self) -> None:
        """Lets it go: it ends when its pipe does."""
        self._outgoing.put(None)

    def kill(self) -> None:
        """Nobody is to wait for it any more; those who do are told as soon as it has ended."""
        with self._lock:
            self.lost = True
        self._process.kill()

    # --- threads

    def _write(self, pipe: IO[bytes]) -> None:
        try:
            while (message := self._outgoing.get()) is not None:
                write_frame(pipe, message)
        except OSError:
            pass  # it has died, and those who wait will be told
        finally:
            _close(pipe)

    def _receive(self, pipe: IO[bytes], listening: threading.Thread) -> None:
        try:
            while True:
                number, done, answer = read_frame(pipe)
                if number == LOGGED:
                    LOG.log(done, "%s", answer)
                else:
                    self._settle(number, done, answer)
        except EOFError:
            pass
        except Exception as error:
            LOG.warning("what a Kafka client's process says cannot be read: %s", error)
        self._is_lost(listening)
        _close(pipe)

    def _settle(self, number: int, done: bool, answer: Any) -> None:
        with self._lock:
            waiting = self._waiting.pop(number, None)
        if waiting is None:
            return
        if done:
            waiting.set_result(answer)
        else:
            waiting.set_exception(answer)

    def _is_lost(self, listening: threading.Thread) -> None:
        self._process.kill()
        status = self._process.wait()
        listening.join(_END_S)
        with self._lock:
            self.lost = True
            waiting, self._waiting = self._waiting, {}
        self._outgoing.put(None)
        how = f"signal {-status}" if status < 0 else f"status {status}"
        words = f"; its last words: {' | '.join(self._said)}" if self._said else ""
        for answer in waiting.values():
            answer.set_exception(ClientLost(f"the client's process ended with {how}{words}"))

    def _listen(self, pipe: IO[bytes]) -> None:
        for line in pipe:
            text = line.decode(errors="replace").rstrip()
            if text:
                self._said.append(text)
                LOG.info("a Kafka client's process says: %s", text)
        _close(pipe)


def _close(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except OSError:
        pass


class _Pool:
    """The processes of this driver."""

    def __init__(self) -> None:
        self._lock = (
            threading.RLock()
        )  # a place that nobody holds any more may leave in the middle of anything
        self._processes: list[ClientProcess] = []
        self._owner = os.getpid()

    def enter(self) -> ClientProcess:
        """A process for one more object."""
        with self._lock:
            if self._owner != os.getpid():  # this is a fork: those are not its children
                self._processes, self._owner = [], os.getpid()
            self._processes = [process for process in self._processes if not process.lost]
            idle = [process for process in self._processes if not process.objects]
            most = max(2, min(_MOST_PROCESSES, os.cpu_count() or 1))
            if not idle and len(self._processes) < most:
                idle = [ClientProcess()]
                self._processes += idle
            process = min(idle or self._processes, key=lambda p: p.objects)
            process.objects += 1
            return process

    def leave(self, process: ClientProcess, number: int) -> None:
        """An object is not needed any more."""
        with self._lock:
            process.objects -= 1
            process.tell(number, FORGET)
            idle = [p for p in self._processes if not p.objects and not p.lost]
            if not process.objects and len(idle) > 1:
                self._processes.remove(process)
                process.end()


_numbers = itertools.count(1)
_pool = _Pool()
