"""Text from a socket: what `env.socket_text_stream` reads.

A socket cannot be read twice, so the driver owns the connection: a thread of the enumerator receives lines
and numbers them. An epoch's lines travel to the task in its plan, and are kept until the epoch is committed;
an epoch that is repeated gets the same lines. When the driver dies, what it had received is lost, as in
Flink, where this source is not fault tolerant either.
"""

from __future__ import annotations

import codecs
import socket
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.common.errors import ExternalSystemError, ValidationError
from penstock.common.typeinfo import TypeInformation, Types
from penstock.connectors.source import (
    EnumeratorContext,
    ReadLimit,
    Source,
    SourceBatch,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
)

__all__ = ["SocketSource"]

MAX_EPOCH_LINES = 100_000
MAX_BUFFERED_LINES = 500_000
_SPLIT = SourceSplit("socket")
_CONNECT_TIMEOUT_SECONDS = 10.0
_RETRY_SECONDS = 0.5
_POLL_MS = 10


class SocketSource(Source):
    """Reads text from a server.

    Args:
        hostname, port: The server to connect to.
        delimiter: What ends a record. A carriage return before a line feed is dropped, as in Flink.
        max_retry: How often to connect again when there is no connection, or when the server has closed it;
            0: never, negative: for ever. The source ends when the server closes the last connection.
    """

    def __init__(self, hostname: str, port: int, delimiter: str = "\n", max_retry: int = 0) -> None:
        if not 0 < port < 65536:
            raise ValidationError(f"{port} is not a port", do="use a number from 1 to 65535")
        if not delimiter:
            raise ValidationError("the delimiter of a socket source must not be empty")
        self.hostname = hostname
        self.port = port
        self.delimiter = delimiter
        self.max_retry = max_retry

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> SplitEnumerator:
        return _SocketEnumerator(_Connection(self), discovered=restored is not None)

    def create_reader(self) -> SourceReader:
        return _SocketReader()

    def produced_type(self) -> TypeInformation:
        return Types.STRING()


class _Connection:
    """Receives on a thread. `lines` holds what is not committed yet; its first line has number `first`."""

    def __init__(self, source: SocketSource) -> None:
        self._source = source
        self._changed = threading.Condition()
        self._lines: deque[str] = deque()
        self._first = 0
        self._socket: socket.socket | None = None
        self._stopping = False
        self.ended = False
        self.error: ExternalSystemError | None = None
        self._thread = threading.Thread(target=self._run, name="penstock-socket-source", daemon=True)

    def start(self, first: int) -> None:
        self._first = first
        self._thread.start()

    def lines_from(self, number: int, limit: int) -> list[str]:
        with self._changed:
            begin = number - self._first
            return [self._lines[i] for i in range(begin, min(begin + limit, len(self._lines)))]

    @property
    def received(self) -> int:
        """Number of the next line to come."""
        with self._changed:
            return self._first + len(self._lines)

    def forget_before(self, number: int) -> None:
        with self._changed:
            while self._first < number and self._lines:
                self._lines.popleft()
                self._first += 1
            self._changed.notify_all()

    def stop(self) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
            if self._socket is not None:
                try:
                    self._socket.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # the peer was faster
                self._socket.close()

    def _run(self) -> None:
        most, attempts = self._source.max_retry, 0
        while not self._stopping:
            attempts += 1
            try:
                self._receive()
                again = most < 0 or attempts < most
            except OSError as error:
                again = most < 0 or attempts <= most
                if not again:
                    self._fail(error)
            if not again:
                break
            with self._changed:
                self._changed.wait(_RETRY_SECONDS)
        self.ended = True

    def _fail(self, error: OSError) -> None:
        source = self._source
        if not self._stopping:
            self.error = ExternalSystemError(
                f"no connection to {source.hostname}:{source.port}: {error}",
                where="socket_text_stream",
                do="start the server before the job, e.g. nc -lk " + str(source.port),
            )

    def _receive(self) -> None:
        source = self._source
        connection = socket.create_connection((source.hostname, source.port), _CONNECT_TIMEOUT_SECONDS)
        connection.settimeout(None)
        with self._changed:
            self._socket = connection
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        rest = ""
        with connection:
            while data := connection.recv(65536):
                *records, rest = (rest + decoder.decode(data)).split(source.delimiter)
                self._add(records)
        if rest:
            self._add([rest])

    def _add(self, records: list[str]) -> None:
        if self._source.delimiter == "\n":
            records = [record[:-1] if record.endswith("\r") else record for record in records]
        with self._changed:
            while len(self._lines) > MAX_BUFFERED_LINES and not self._stopping:
                self._changed.wait(1.0)  # TCP slows the sender down meanwhile
            self._lines.extend(records)


class _SocketEnumerator(SplitEnumerator):
    """Positions are line numbers; a restored job connects anew and goes on numbering."""

    def __init__(self, connection: _Connection, discovered: bool) -> None:
        self._connection = connection
        self._discovered = discovered
        self._started = False

    def discover(self) -> Sequence[SourceSplit]:
        if self._discovered:
            return ()
        self._discovered = True
        return (_SPLIT,)

    def plan_read(self, split: SourceSplit, position: Any, now_ms: int) -> ReadLimit | None:
        connection = self._connection
        start = position or 0
        if not self._started:
            self._started = True
            connection.start(start)
        # Asked before the lines are taken: all lines of an ended connection are there by then.
        ended, error = connection.ended, connection.error
        lines = connection.lines_from(start, MAX_EPOCH_LINES)
        end = start + len(lines)
        last = ended and end >= connection.received
        if not lines:
            if error is not None:
                raise error
            if not last:
                return None
        return ReadLimit(end_position=end, payload=lines, split_ends=last and error is None)

    def next_wakeup_ms(self, now_ms: int) -> int | None:
        return now_ms + _POLL_MS

    def on_committed(self, positions: Mapping[str, Any]) -> None:
        self._connection.forget_before(positions.get(_SPLIT.split_id) or 0)

    def snapshot(self) -> Any:
        return "discovered" if self._discovered else None

    def close(self) -> None:
        self._connection.stop()


class _SocketReader(SourceReader):
    def read(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[SourceBatch]:
        start = position or 0
        lines: list[str] = limit.payload or []
        for begin in range(0, len(lines), 2_000):
            values = lines[begin : begin + 2_000]
            yield SourceBatch(values, None, start + begin + len(values))
