import socket
import threading
import time

import pytest
from epochs import SourceLoop

from penstock.common.errors import ExternalSystemError, ValidationError
from penstock.connectors.socket import SocketSource
from penstock.connectors.socket import source as socket_source


class Server:
    """Accepts one connection; the test says what is sent."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._accepted = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        self._connection, _ = self._listener.accept()
        self._accepted.set()

    def send(self, data: bytes):
        assert self._accepted.wait(10), "nobody has connected"
        self._connection.sendall(data)

    def hang_up(self):
        self._connection.close()
        self._listener.close()


def run_until(loop, condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, f"seen so far: {loop.values}"
        loop.run_epoch()
        time.sleep(0.01)


def test_lines_come_as_they_are_sent_and_the_source_ends_when_the_peer_hangs_up():
    server = Server()
    loop = SourceLoop(SocketSource("127.0.0.1", server.port))
    loop.run_epoch()
    server.send(b"one\r\ntw")
    run_until(loop, lambda: loop.values == ["one"])
    server.send("o\nthrée".encode())
    server.hang_up()
    run_until(loop, lambda: loop.ended)
    assert loop.values == ["one", "two", "thrée"]


def test_an_epoch_that_is_run_again_sees_the_same_lines():
    server = Server()
    loop = SourceLoop(SocketSource("127.0.0.1", server.port, delimiter="|"))
    loop.run_epoch()
    server.send(b"a|b|")
    deadline = time.monotonic() + 10
    while not loop.run_epoch(crash=True):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    server.send(b"c")
    server.hang_up()
    run_until(loop, lambda: loop.ended)
    assert loop.values == ["a", "b", "c"]


def test_a_server_that_comes_back_is_read_on(monkeypatch):
    monkeypatch.setattr(socket_source, "_RETRY_SECONDS", 0.01)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        for text in (b"first\n", b"second\n"):
            connection, _ = listener.accept()
            connection.sendall(text)
            connection.close()
        listener.close()

    threading.Thread(target=serve, daemon=True).start()
    loop = SourceLoop(SocketSource("127.0.0.1", listener.getsockname()[1], max_retry=2))
    loop.run_epoch()
    run_until(loop, lambda: loop.ended)
    assert loop.values == ["first", "second"]


def test_committed_lines_are_forgotten():
    server = Server()
    loop = SourceLoop(SocketSource("127.0.0.1", server.port))
    loop.run_epoch()
    server.send(b"1\n2\n")
    run_until(loop, lambda: len(loop.values) == 2)
    assert not loop.enumerator._connection._lines
    server.hang_up()
    loop.enumerator.close()


def test_a_server_that_is_not_there_is_named():
    free = socket.create_server(("127.0.0.1", 0))
    port = free.getsockname()[1]
    free.close()
    loop = SourceLoop(SocketSource("127.0.0.1", port))
    with pytest.raises(ExternalSystemError, match=f"no connection to 127.0.0.1:{port}"):
        run_until(loop, lambda: False)


def test_settings_that_cannot_be_are_refused():
    with pytest.raises(ValidationError, match="not a port"):
        SocketSource("h", 0)
    with pytest.raises(ValidationError, match="delimiter"):
        SocketSource("h", 1, "")
