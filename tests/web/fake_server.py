"""A REST server that only pretends: jobs in Flink's shapes, with numbers that move. For looking at the dashboard.

python -m tests.web.fake_server 8099
"""

from __future__ import annotations

import http.server
import json
import math
import re
import sys
import threading
import time
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from penstock.web import asset

START = int(time.time() * 1000) - 3_725_000
RUNNING, FAILED, DONE = "a1" * 16, "f0" * 16, "d3" * 16
HOSTILE = "<img src=x onerror=\"document.body.dataset.owned='yes'\">"

# id, name, parallelism, inputs (id, strategy), busy share, records per second in and out
VERTICES = [
    ("v1", "Source: Kafka orders -> parse -> watermarks", 4, [], 0.34, 0, 41_800),
    ("v2", "Source: customers (MySQL CDC)", 1, [], 0.03, 0, 12),
    (
        "v3",
        "enrich: Join(joinType=[LeftOuterJoin], where=[customer_id = id])",
        4,
        [("v1", "HASH"), ("v2", "HASH")],
        0.97,
        41_812,
        41_640,
    ),
    ("v4", "TumblingEventTimeWindows(1 min) revenue by country", 4, [("v3", "HASH")], 0.58, 41_640, 96),
    ("v5", "late orders: Sink: filesystem", 1, [("v3", "REBALANCE")], 0.01, 3, 0),
    ("v6", f"Sink: dashboard {HOSTILE}", 2, [("v4", "REBALANCE"), ("v1", "BROADCAST")], 0.12, 96, 0),
]
TRACE = """Traceback (most recent call last):
  File "jobs/orders.py", line 41, in parse
    return Order(int(fields["id"]), float(fields["price"]), fields["country"])
ValueError: could not convert string to float: 'n/a'

UserFunctionError: the function of 'parse' raised ValueError: could not convert string to float: 'n/a'
  where: operator 'parse', subtask 2, epoch 118
  do:    handle the value in the function, or set penstock.dead-letter.path to put such records aside"""


STATEMENT = """INSERT INTO revenue
SELECT country, window_start, SUM(price)
FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
GROUP BY country, window_start"""
PLAN = """Sink(table=[revenue])
+- WindowAggregate(groupBy=[country], window=[TUMBLE(1 min)])
   +- Exchange(distribution=[hash[country]])"""


def now() -> int:
    return int(time.time() * 1000)


class State:
    """What requests change."""

    def __init__(self) -> None:
        self.status = {RUNNING: "RUNNING", FAILED: "FAILED", DONE: "FINISHED"}
        self.savepoints: dict[str, str] = {}
        self.calls: list[tuple[str, str, Any]] = []


def _seconds() -> float:
    return (now() - START) / 1000


def _wave(base: float, n: int) -> float:
    return max(0.0, min(1.0, base + 0.05 * math.sin(_seconds() / 4 + n)))


def _metrics(n: int, share: float = 1.0) -> dict[str, Any]:
    _, _, _, _, busy, records_in, records_out = VERTICES[n]
    lived = _seconds()
    return {
        "read-bytes": int(records_in * lived * 84 * share),
        "read-bytes-complete": True,
        "write-bytes": int(records_out * lived * 84 * share),
        "write-bytes-complete": True,
        "read-records": int(records_in * lived * share),
        "read-records-complete": True,
        "write-records": int(records_out * lived * share),
        "write-records-complete": True,
        "accumulated-backpressured-time": 0,
        "accumulated-idle-time": int(lived * 1000 * (1 - busy)),
        "accumulated-busy-time": lived * 1000 * busy,
    }


def _shares(n: int) -> list[float]:
    count = VERTICES[n][2]
    weights = [5, 1, 1, 1] if n == 2 else [1] * count
    return [w / sum(weights[:count]) for w in weights[:count]]


def job_detail(state: State, jid: str) -> dict[str, Any]:
    status = state.status[jid]
    task = "RUNNING" if status == "RUNNING" else status
    vertices = [
        {
            "id": v[0],
            "slotSharingGroupId": "s",
            "name": v[1],
            "maxParallelism": 128,
            "parallelism": v[2],
            "status": task,
            "start-time": START,
            "end-time": -1,
            "duration": now() - START,
            "tasks": {task: v[2]},
            "metrics": _metrics(n),
        }
        for n, v in enumerate(VERTICES)
    ]
    nodes = [
        {
            "id": v[0],
            "parallelism": v[2],
            "operator": "",
            "operator_strategy": "",
            "description": v[1] + "<br/>+- state: 2 states<br/>",
            "inputs": [
                {"num": i, "id": s, "ship_strategy": how, "exchange": "pipelined_bounded"}
                for i, (s, how) in enumerate(v[3])
            ],
            "optimizer_properties": {},
        }
        for v in VERTICES
    ]
    name = {RUNNING: "insert-into_revenue", FAILED: "nightly import", DONE: "backfill 2026-10"}[jid]
    return {
        "jid": jid,
        "name": name,
        "isStoppable": False,
        "state": status,
        "job-type": "STREAMING",
        "start-time": START,
        "end-time": -1 if status == "RUNNING" else START + 990_000,
        "duration": 990_000,
        "maxParallelism": -1,
        "now": now(),
        "timestamps": {},
        "vertices": vertices,
        "status-counts": {},
        "plan": {"jid": jid, "name": name, "type": "STREAMING", "nodes": nodes},
        "pending-operators": 0,
    }


def jobs_overview(state: State) -> dict[str, Any]:
    keys = ("jid", "name", "start-time", "end-time", "duration", "state")
    found = []
    for jid in state.status:
        detail = job_detail(state, jid)
        total = sum(v[2] for v in VERTICES)
        tasks = {
            "running" if detail["state"] == "RUNNING" else detail["state"].lower(): total,
            "total": total,
        }
        found.append({**{k: detail[k] for k in keys}, "last-modification": START, "tasks": tasks})
    return {"jobs": found}


def _checkpoint(n: int) -> dict[str, Any]:
    at = now() // 1000 * 1000 - (20 - n) * 2000
    failed = n == 7
    return {
        "className": "failed" if failed else "completed",
        "id": 100 + n,
        "status": "FAILED" if failed else "COMPLETED",
        "is_savepoint": n == 12,
        "savepointFormat": None,
        "trigger_timestamp": at,
        "latest_ack_timestamp": at + 400,
        "checkpointed_size": 180_000 + 23_000 * (n % 5),
        "state_size": 481_000_000 + n * 310_000,
        "end_to_end_duration": 320 + 61 * (n % 6),
        "alignment_buffered": 0,
        "processed_data": 0,
        "persisted_data": 0,
        "num_subtasks": 16,
        "num_acknowledged_subtasks": 9 if failed else 16,
        "checkpoint_type": "SAVEPOINT" if n == 12 else "CHECKPOINT",
        "tasks": {},
        "discarded": False,
        "external_path": f"s3://lake/checkpoints/{RUNNING}/chk-{100 + n}",
        **({"failure_message": "worker lost: executor 3 on 10.0.0.7"} if failed else {}),
    }


def checkpoints() -> dict[str, Any]:
    history = [_checkpoint(n) for n in range(19, 0, -1)]
    spread = {
        "min": 210,
        "max": 1840,
        "avg": 402,
        "p50": 380,
        "p90": 610,
        "p95": 700,
        "p99": 1400,
        "p999": 1800,
    }
    sizes = {k: v * 1000 for k, v in spread.items()}
    return {
        "counts": {"restored": 1, "total": 120, "in_progress": 0, "completed": 119, "failed": 1},
        "summary": {
            "checkpointed_size": sizes,
            "state_size": {k: v * 1_000_000 for k, v in spread.items()},
            "end_to_end_duration": spread,
        },
        "latest": {
            "completed": history[0],
            "savepoint": history[7],
            "failed": history[12],
            "restored": {
                "id": 88,
                "restore_timestamp": START,
                "is_savepoint": False,
                "external_path": "s3://lake/checkpoints/x/chk-88",
            },
        },
        "history": history,
    }


def epochs() -> dict[str, Any]:
    found = []
    for n in range(60):
        parts = {
            "planning": 6 + n % 3,
            "launching": 70 + 9 * (n % 5),
            "working": 260 + 90 * math.sin(n / 5),
            "committing": 22 + 5 * (n % 4),
        }
        total = sum(parts.values())
        found.append(
            {
                "epoch": 60 + n,
                "start-time": now() - (60 - n) * 500,
                "duration": total,
                **parts,
                "records": 20_000 + 900 * (n % 7),
                "subtasks": 16,
                "warm": 16 if n else 0,
            }
        )
    return {"epochs": found}


def vertex(n: int) -> dict[str, Any]:
    v = VERTICES[n]
    subtasks = [
        {
            "subtask": i,
            "status": "RUNNING",
            "attempt": 0,
            "endpoint": f"10.0.0.{4 + i % 2}",
            "start-time": START,
            "end-time": -1,
            "duration": now() - START,
            "metrics": _metrics(n, share),
            "taskmanager-id": f"executor-{i % 2}",
            "status-duration": {},
            "start_time": START,
        }
        for i, share in enumerate(_shares(n))
    ]
    return {
        "id": v[0],
        "name": v[1],
        "parallelism": v[2],
        "maxParallelism": 128,
        "now": now(),
        "subtasks": subtasks,
        "aggregated": {},
    }


def aggregated(n: int, wanted: list[str]) -> list[dict[str, Any]]:
    _, _, count, _, busy, rate_in, rate_out = VERTICES[n]
    shares = _shares(n)
    load = [min(1.0, _wave(busy * (0.8 + share), i)) * 1000 for i, share in enumerate(shares)]
    held = 640 if n == 0 else 0
    values = {
        "busyTimeMsPerSecond": load,
        "backPressuredTimeMsPerSecond": [held] * count,
        "idleTimeMsPerSecond": [max(0, 1000 - x - held) for x in load],
        "numRecordsInPerSecond": [rate_in * s * (0.9 + 0.1 * math.sin(_seconds())) for s in shares],
        "numRecordsOutPerSecond": [rate_out * s for s in shares],
        "numBytesInPerSecond": [rate_in * 84 * s for s in shares],
        "currentInputWatermark": [now() - 4000 - 100 * i for i in range(count)],
        "window.numLateRecordsDropped": [int(_seconds() / 9) if n == 3 else 0] * count,
        "parse.numDeadLetters": [3 if n == 0 else 0] * count,
    }
    if not wanted:
        return [{"id": key} for key in values]
    return [
        {
            "id": k,
            "min": min(values[k]),
            "max": max(values[k]),
            "sum": sum(values[k]),
            "avg": sum(values[k]) / count,
            "skew": 0.0,
        }
        for k in wanted
        if k in values
    ]


def watermarks(n: int) -> list[dict[str, str]]:
    if n == 1:
        return [{"id": "0.currentInputWatermark", "value": "-9223372036854775808"}]
    return [
        {"id": f"{i}.currentInputWatermark", "value": str(now() - 4200 - 700 * n - 90 * i)}
        for i in range(VERTICES[n][2])
    ]


def answer(state: State, method: str, path: str, query: dict[str, list[str]], body: Any) -> tuple[int, Any]:
    parts = [unquote(part) for part in path.strip("/").split("/")]
    fixed = {
        "config": {
            "refresh-interval": 1000,
            "timezone-name": "UTC",
            "timezone-offset": 0,
            "flink-version": "2.3.0",
            "flink-revision": "penstock 0.1.0",
            "features": {
                "web-submit": False,
                "web-cancel": True,
                "web-rescale": False,
                "web-history": False,
            },
        },
        "jobs/overview": jobs_overview(state),
        "taskmanagers": {
            "taskmanagers": [
                {
                    "id": f"executor-{i}",
                    "path": f"10.0.0.{4 + i}:38111",
                    "slotsNumber": 8,
                    "freeSlots": i,
                    "timeSinceLastHeartbeat": now() - 700,
                    "hardware": {"cpuCores": 8, "physicalMemory": 34359738368},
                }
                for i in range(2)
            ]
        },
        "jobmanager/config": [
            {"key": "parallelism.default", "value": "4"},
            {"key": "s3.secret-key", "value": "******"},
        ],
        "overview": {
            "taskmanagers": 2,
            "slots-total": 16,
            "slots-available": 1,
            "jobs-running": sum(s == "RUNNING" for s in state.status.values()),
            "jobs-finished": 1,
            "jobs-cancelled": sum(s == "CANCELED" for s in state.status.values()),
            "jobs-failed": 1,
            "flink-version": "2.3.0",
            "flink-commit": "penstock 0.1.0",
        },
    }
    if "/".join(parts) in fixed:
        return 200, fixed["/".join(parts)]
    if len(parts) < 2 or parts[0] != "jobs" or parts[1] not in state.status:
        return 404, {"errors": [f"Job {parts[1] if len(parts) > 1 else ''} not found"]}
    return job_answer(state, method, parts[1], parts[2:], query, body)


def job_answer(
    state: State, method: str, jid: str, rest: list[str], query: dict[str, list[str]], body: Any
) -> tuple[int, Any]:
    if method == "PATCH" and not rest:
        state.status[jid] = "CANCELED"
        return 202, {}
    if method == "POST" and rest in (["savepoints"], ["stop"]):
        request = f"{len(state.savepoints):032x}"
        state.savepoints[request] = (
            f"{(body or {}).get('target-directory') or '/savepoints'}/savepoint-a1a1a1"
        )
        return 202, {"request-id": request}
    if rest[:1] == ["savepoints"] and rest[1:] and rest[1] in state.savepoints:
        return 200, {"status": {"id": "COMPLETED"}, "operation": {"location": state.savepoints[rest[1]]}}
    failed = [
        {
            "exceptionName": "penstock.UserFunctionError",
            "stacktrace": TRACE,
            "timestamp": START + 980_000 + i * 4000,
            "failureLabels": {"type": "user", "code": "USER_FUNCTION"},
            "taskName": "Source: Kafka orders -> parse",
            "endpoint": "10.0.0.5",
            "taskManagerId": "executor-1",
            "concurrentExceptions": [],
        }
        for i in (1, 0)
    ]
    fixed: dict[str, Any] = {
        "": lambda: job_detail(state, jid),
        "epochs": epochs,
        "checkpoints": checkpoints,
        "checkpoints/config": lambda: {
            "mode": "EXACTLY_ONCE",
            "interval": 9223372036854775807,
            "state_backend": "lmdb",
            "checkpoint_storage": "s3://lake/checkpoints",
            "externalization": {"enabled": True, "delete_on_cancellation": False},
        },
        "exceptions": lambda: {
            "exceptionHistory": {"entries": failed if jid == FAILED else [], "truncated": False}
        },
        "config": lambda: {
            "jid": jid,
            "name": "x",
            "execution-config": {
                "restart-strategy": "Restart with fixed delay (10 s). #3 restart attempts.",
                "job-parallelism": 4,
                "object-reuse-mode": False,
                "user-config": {
                    "penstock.dead-letter.path": "s3://lake/dead",
                    "table.exec.state.ttl": "1 d",
                    **{f"my.parameter.{i}": str(i) for i in range(9)},
                },
            },
        },
        "sql": lambda: {
            "statement": STATEMENT,
            "plan": PLAN,
            "changelog-mode": "I",
        },
    }
    key = "/".join(rest)
    if key in fixed:
        return 200, fixed[key]()
    if rest[:2] == ["checkpoints", "details"]:
        found = _checkpoint(int(rest[2]) - 100)
        if len(rest) > 3:
            shares = [
                {
                    "index": i,
                    "status": "completed",
                    "ack_timestamp": found["latest_ack_timestamp"],
                    "end_to_end_duration": 300 + i,
                    "checkpointed_size": 4000 * i,
                    "state_size": 9_000_000 + i,
                }
                for i in range(4)
            ]
            return 200, {**found, "subtasks": shares}
        tasks = {v[0]: {**found, "num_subtasks": v[2], "num_acknowledged_subtasks": v[2]} for v in VERTICES}
        return 200, {**found, "tasks": tasks}
    if (
        rest[:1] == ["vertices"]
        and (n := next((i for i, v in enumerate(VERTICES) if v[0] == rest[1]), None)) is not None
    ):
        return _vertex_answer(n, rest[2:], query)
    return 404, {"errors": ["Not found: /" + key]}


def _vertex_answer(n: int, rest: list[str], query: dict[str, list[str]]) -> tuple[int, Any]:
    key = "/".join(rest)
    if key == "":
        return 200, vertex(n)
    if key == "watermarks":
        return 200, watermarks(n)
    if key == "subtasks/metrics":
        return 200, aggregated(n, query.get("get", [""])[0].split(",") if query.get("get") else [])
    if key == "backpressure":
        shares = [
            {
                "subtask": i,
                "ratio": 0.64 if n == 0 else 0.0,
                "idleRatio": 0.2,
                "busyRatio": _wave(VERTICES[n][4], i),
            }
            for i in range(VERTICES[n][2])
        ]
        return 200, {"status": "ok", "subtasks": shares}
    if key == "accumulators":
        return 200, {
            "id": VERTICES[n][0],
            "user-accumulators": [{"name": "seen", "type": "IntCounter", "value": "42"}],
        }
    if key == "sample":
        return 200, {
            "columns": ["country", "price", "note"],
            "rows": [["DE", 12.5, None], ["FR", 9, HOSTILE], ["PT", 3.25, {"a": 1}]],
        }
    return 404, {"errors": ["Not found"]}


class FakeServer:
    """Runs until it is closed; `state` tells what was asked for."""

    def __init__(self, port: int = 0) -> None:
        self.state = state = State()

        class Handler(http.server.BaseHTTPRequestHandler):
            def _serve(self) -> None:
                url = urlsplit(self.path)
                length = int(self.headers.get("Content-Length") or 0)
                raw = self.rfile.read(length)
                found = asset(url.path) if self.command == "GET" else None
                if found is not None:
                    self._send(200, found.content, found.headers())
                    return
                body = json.loads(raw) if raw else None
                if self.command != "GET":
                    state.calls.append((self.command, self.path, body))
                path = re.sub(r"^/v1(?=/)", "", url.path)
                status, content = answer(state, self.command, path, parse_qs(url.query), body)
                self._send(status, json.dumps(content).encode(), {"Content-Type": "application/json"})

            def _send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
                self.send_response(status)
                for key, value in {**headers, "Content-Length": str(len(content))}.items():
                    self.send_header(key, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PATCH = _serve

            def log_message(self, *args: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


if __name__ == "__main__":
    server = FakeServer(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print(server.url)
    server._thread.join()
