"""The bulk API: many actions in one request, each with its own answer.

    {"update": {"_index": "orders", "_id": "7"}}            {"errors": true, "items": [
    {"doc": {…}, "doc_as_upsert": true}               →        {"update": {"_id": "7", "status": 200}},
    {"delete": {"_index": "orders", "_id": "8"}}               {"delete": {"_id": "8", "status": 429, "error": …}}]}

An action that the cluster has no time for (429, and the like) is sent again; one that it refuses fails the epoch.
Deleting a document that is not there is no error.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from penstock.common.errors import ExternalSystemError
from penstock.connectors.async_sink import RequestClient, Unavailable
from penstock.connectors.http.client import HttpClient, HttpSettings, checked_url, refusal

__all__ = ["Action", "BulkClient", "Cluster"]

_NOT_NOW = frozenset({408, 429, 502, 503, 504})
_LINES = {"Content-Type": "application/x-ndjson"}


class Action(NamedTuple):
    """What is to become of a document.

    Attributes:
        kind: `index`, `update` (which makes the document if it is not there) or `delete`.
        document: Its JSON; none to delete it.
        id: None: the cluster makes one up.
        type: For clusters before version 7.
    """

    kind: str
    index: str  # type: ignore[assignment]
    id: str | None
    document: bytes | None = None
    type: str | None = None

    def lines(self) -> bytes:
        """Its part of a bulk request."""
        about = {"_index": self.index, "_type": self.type, "_id": self.id}
        head = json.dumps({self.kind: {k: v for k, v in about.items() if v is not None}}).encode()
        if self.document is None:
            return head + b"\n"
        if self.kind == "update":
            return b'%b\n{"doc": %b, "doc_as_upsert": true}\n' % (head, self.document)
        return b"%b\n%b\n" % (head, self.document)

    @property
    def size_bytes(self) -> int:
        return 80 + len(self.index) + len(self.id or "") + len(self.document or b"")


@dataclass(frozen=True)
class Cluster:
    """Where it is; the hosts are tried one after the other."""

    hosts: tuple[str, ...]
    settings: HttpSettings = field(default_factory=HttpSettings)
    path_prefix: str = ""

    def __post_init__(self) -> None:
        for host in self.hosts:
            checked_url(host, "hosts")

    @property
    def shown(self) -> str:
        return f"Elasticsearch at {', '.join(self.hosts)}"

    def bulk_urls(self) -> list[str]:
        middle = f"/{self.path_prefix.strip('/')}" if self.path_prefix.strip("/") else ""
        return [f"{host.rstrip('/')}{middle}/_bulk" for host in self.hosts]


class BulkClient(RequestClient):
    """Sends bulk requests to one host after the other until one answers."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._urls = cluster.bulk_urls()
        self._client = HttpClient(cluster.settings)

    def submit(self, payloads: Sequence[Action]) -> Sequence[int]:
        answer = self._answer(b"".join(action.lines() for action in payloads))
        if not answer.get("errors"):
            return ()
        return [
            place
            for place, (action, item) in enumerate(zip(payloads, answer["items"], strict=True))
            if self._again(action, next(iter(item.values())))
        ]

    def _answer(self, body: bytes) -> Any:
        """The answer of the first host that gives one; that one is asked first the next time."""
        why: Unavailable | None = None
        for url in list(self._urls):
            try:
                answer = self._client.request("POST", url, body, _LINES)
            except Unavailable as error:
                why = error
                self._urls.append(self._urls.pop(0))
                continue
            if answer.ok:
                return json.loads(answer.body)
            if answer.may_pass:
                raise Unavailable(f"{url} says {answer.shown}")
            raise refusal("a bulk request was refused", answer, self._cluster.shown)
        raise why or Unavailable("there are no hosts")

    def _again(self, action: Action, item: dict[str, Any]) -> bool:
        status = item.get("status", 200)
        if status < 300 or (action.kind == "delete" and status == 404 and "error" not in item):
            return False
        if status in _NOT_NOW:
            return True
        error = item.get("error") or {}
        reason = error if isinstance(error, str) else f"{error.get('type')}: {error.get('reason')}"
        failure = ExternalSystemError(
            f"index '{action.index}' refused to {action.kind} document {action.id!r}: {status} {reason}",
            where=self._cluster.shown,
            do="see whether the index's mapping fits the columns",
        )
        failure.retryable = False
        raise failure

    def close(self) -> None:
        self._client.close()
