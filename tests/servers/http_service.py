"""A service over HTTP that keeps what it is sent, and answers as a test says."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Call(NamedTuple):
    method: str
    path: str
    body: bytes
    headers: dict[str, str]


Answer = tuple[int, bytes]


class HttpService:
    """`calls` are the requests in the order in which they came; `answer` says what becomes of one."""

    def __init__(self, answer: Callable[[Call], Answer] = lambda call: (200, b"")) -> None:
        self.calls: list[Call] = []
        self.answer = answer
        self.closes = False
        self._lock = threading.Lock()
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                call = Call(self.command, self.path, body, dict(self.headers.items()))
                with service._lock:
                    service.calls.append(call)
                    status, data = service.answer(call)
                self.send_response(status)
                if status != 204:
                    self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if status != 204:
                    self.wfile.write(data)
                if service.closes:  # without a word, as servers do with connections that were quiet
                    self.close_connection = True

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_one

            def log_message(self, *arguments: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
