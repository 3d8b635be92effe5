"""A small server that speaks Elasticsearch's bulk API: documents in a dict, answers as the real one gives them."""

from __future__ import annotations

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class ElasticsearchServer:
    """Keeps the documents of indexes. `busy` refuses that many actions with 429, `broken` that many requests.

    An index whose name begins with `strict` takes no document with a field `bad`.
    """

    def __init__(self, login: str | None = None) -> None:
        self.indexes: dict[str, dict[str, Any]] = {}
        self.requests: list[int] = []
        self.busy = self.broken = 0
        self.login = login
        self._made_up = 0
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, answer = server._answer(self.path, body, self.headers.get("Authorization"))
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

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

    def documents(self, index: str) -> dict[str, Any]:
        return self.indexes.get(index, {})

    def _answer(self, path: str, body: bytes, login: str | None) -> tuple[int, Any]:
        with self._lock:
            if self.login and login != f"Basic {base64.b64encode(self.login.encode()).decode()}":
                return 401, {"error": "missing authentication credentials"}
            if not path.endswith("/_bulk"):
                return 404, {"error": f"no handler found for {path}"}
            if self.broken:
                self.broken -= 1
                return 503, {"error": "cluster is starting"}
            lines = [json.loads(line) for line in body.decode().splitlines()]
            items = []
            while lines:
                [(kind, about)] = lines.pop(0).items()
                items.append({kind: self._act(kind, about, None if kind == "delete" else lines.pop(0))})
            self.requests.append(len(items))
            return 200, {"errors": any("error" in next(iter(i.values())) for i in items), "items": items}

    def _act(self, kind: str, about: dict[str, Any], source: Any) -> dict[str, Any]:
        index, id_ = about["_index"], about.get("_id")
        if self.busy:
            self.busy -= 1
            return {
                "_id": id_,
                "status": 429,
                "error": {"type": "es_rejected_execution_exception", "reason": "full"},
            }
        documents = self.indexes.setdefault(index, {})
        if kind == "delete":
            there = documents.pop(id_, None) is not None
            return {"_id": id_, "status": 200 if there else 404}
        document = source["doc"] if kind == "update" else source
        if index.startswith("strict") and "bad" in document:
            error = {"type": "strict_dynamic_mapping_exception", "reason": "mapping set to strict"}
            return {"_id": id_, "status": 400, "error": error}
        if id_ is None:
            self._made_up += 1
            id_ = f"made-up-{self._made_up}"
        documents[id_] = {**documents.get(id_, {}), **document} if kind == "update" else document
        return {"_id": id_, "status": 201}
