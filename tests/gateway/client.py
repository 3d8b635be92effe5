"""A user of the gateway: HTTP requests to an application in this process, and the walk through a result's pages."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from starlette.testclient import TestClient

from penstock.gateway import GatewayService, gateway_app

PATIENCE_SECONDS = 180.0


def until(condition: Callable[[], Any], what: str) -> Any:
    """Waits until `condition()` is true and returns it."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError(f"never came: {what}")


def gateway_threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("sql-gateway")]


class GatewayUser:
    """One session, opened when it is first needed."""

    def __init__(self, service: GatewayService, version: str = "v2", **app: Any) -> None:
        self.service = service
        self.version = version
        self.http = TestClient(gateway_app(service, **app), raise_server_exceptions=False)
        self._session: str | None = None

    def __enter__(self) -> GatewayUser:
        self.http.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.http.__exit__(*error)

    def call(self, method: str, path: str, status: int = 200, body: Any = None, **how: Any) -> Any:
        """A request; its answer, which must have this status."""
        if body is not None:
            how["json"] = body
        answer = self.http.request(method, f"/{self.version}{path}", **how)
        assert answer.status_code == status, answer.text
        return answer.json()

    def open(self, **properties: str) -> str:
        body = {"sessionName": "test", "properties": properties}
        self._session = self.call("POST", "/sessions", body=body)["sessionHandle"]
        return self._session

    @property
    def session(self) -> str:
        return self._session or self.open()

    def submit(self, statement: str, **options: str) -> str:
        body = {"statement": statement, "executionConfig": options}
        found = self.call("POST", f"/sessions/{self.session}/statements", body=body)
        return str(found["operationHandle"])

    def path(self, operation: str, rest: str = "") -> str:
        return f"/sessions/{self.session}/operations/{operation}{rest}"

    def page(self, operation: str, token: int = 0, row_format: str = "JSON", status: int = 200) -> Any:
        path = self.path(operation, f"/result/{token}?rowFormat={row_format}")
        return self.call("GET", path, status)

    def first_page(self, operation: str, row_format: str = "JSON") -> Any:
        """The first page that is ready."""

        def ready() -> Any:
            page = self.page(operation, 0, row_format)
            return None if page["resultType"] == "NOT_READY" else page

        return until(ready, "a result that is ready")

    def pages(self, operation: str, row_format: str = "JSON") -> Iterator[Any]:
        page = self.first_page(operation, row_format)
        while True:
            yield page
            if "nextResultUri" not in page:
                return
            page = self.http.get(page["nextResultUri"]).json()
            assert "errors" not in page, page

    def rows(self, statement: str, row_format: str = "JSON", **options: str) -> list[list[Any]]:
        """The fields of all rows of a statement."""
        operation = self.submit(statement, **options)
        return [row["fields"] for p in self.pages(operation, row_format) for row in p["results"]["data"]]

    def run(self, *statements: str) -> None:
        for statement in statements:
            assert self.rows(statement) == [["OK"]], statement

    def failure(self, statement: str) -> str:
        """What is said of a statement that fails."""
        operation = self.submit(statement)
        self.service.session(self.session).operation(operation).wait(PATIENCE_SECONDS)
        token = 0
        while True:
            answer = self.http.get(f"/{self.version}{self.path(operation, f'/result/{token}')}")
            if answer.status_code == 500:
                return "\n".join(answer.json()["errors"])
            assert "nextResultUri" in answer.json(), f"did not fail: {answer.text}"
            token += answer.json()["resultType"] == "PAYLOAD"

    def status(self, operation: str) -> str:
        return str(self.call("GET", self.path(operation, "/status"))["status"])
