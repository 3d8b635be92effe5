"""Requests at a steady rate to the REST server of a running job; prints how that went, as JSON.

Requests are sent at moments that are fixed beforehand, over connections that are kept, so an answer that comes late
counts from when it should have been asked for. Plain sockets: the client is to take little of the machine.
usage: rest_requests.py URL JOB_ID REQUESTS_PER_SECOND SECONDS
"""

from __future__ import annotations

import json
import re
import selectors
import socket
import statistics
import sys
import time
import urllib.request
from collections import Counter, deque
from typing import Any

CONNECTIONS = 16


def paths_of(url: str, job_id: str) -> list[str]:
    """What a dashboard, a scraper and a script ask for."""
    job = f"/jobs/{job_id}"
    with urllib.request.urlopen(url + job) as answer:
        vertex = f"{job}/vertices/{json.load(answer)['vertices'][-1]['id']}"
    rates = "numRecordsInPerSecond,busyTimeMsPerSecond,backPressuredTimeMsPerSecond"
    return [
        "/overview", "/jobs/overview", "/jobs", job, f"{job}/checkpoints", f"{job}/metrics?get=uptime,numRestarts",
        f"{vertex}/subtasks/metrics?get={rates}", f"{vertex}/watermarks", f"{vertex}/backpressure", vertex,
    ]  # fmt: skip


class Connection:
    """A connection that is kept; one request at a time."""

    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.create_connection((host, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.due = 0.0
        self._received = b""
        self._missing = -1

    def send(self, request: bytes, due: float) -> None:
        self.due, self._received, self._missing = due, b"", -1
        self.socket.sendall(request)

    def receive(self) -> int | None:
        """The status, once all of the answer is there."""
        part = self.socket.recv(1 << 18)
        if not part:
            return -1
        self._received += part
        if self._missing < 0:
            head, found, _ = self._received.partition(b"\r\n\r\n")
            if not found:
                return None
            length = re.search(rb"content-length: (\d+)", head)
            assert length is not None, head
            self._missing = len(head) + 4 + int(length[1])
        return int(self._received[9:12]) if len(self._received) >= self._missing else None


def client(url: str, job_id: str, rate: float, seconds: float) -> dict[str, Any]:
    """Sends the requests and tells how that went."""
    host, _, port = url.removeprefix("http://").partition(":")
    requests = [f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode() for path in paths_of(url, job_id)]
    selector = selectors.DefaultSelector()
    idle: deque[Connection] = deque()  # by turns: the server closes a connection that nobody uses for 30 s
    for _ in range(CONNECTIONS):
        connection = Connection(host, int(port))
        selector.register(connection.socket, selectors.EVENT_READ, connection)
        idle.append(connection)
    total, sent, latencies, statuses = int(rate * seconds), 0, [], Counter[int]()
    print("started", flush=True)
    began, cpu = time.monotonic(), time.process_time()
    while len(latencies) < total:
        now = time.monotonic()
        while idle and sent < total and began + sent / rate <= now:
            idle.popleft().send(requests[sent % len(requests)], began + sent / rate)
            sent += 1
        wait = max(0.0, began + sent / rate - now) if idle and sent < total else 1.0
        for key, _ in selector.select(wait):
            status = key.data.receive()
            if status is not None:
                statuses[status] += 1
                latencies.append(time.monotonic() - key.data.due)
                if status < 0:
                    raise SystemExit("the server has closed a connection")
                idle.append(key.data)
    took = time.monotonic() - began
    marks = statistics.quantiles(latencies, n=1000)
    return {
        "requests": total, "per_second": total / took, "errors": total - statuses[200],
        "p50_ms": marks[499] * 1e3, "p99_ms": marks[989] * 1e3, "p999_ms": marks[998] * 1e3,
        "client_cpu": (time.process_time() - cpu) / took,
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(client(sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))))
