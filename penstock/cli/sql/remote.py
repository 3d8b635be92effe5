"""An environment behind a SQL gateway: what `penstock sql --gateway` runs statements in.

It has as much of a `TableEnvironment` as the client uses. Values come as the texts that the gateway makes of them.
INSERT jobs are the gateway's: nobody waits for them here, and they outlive the client.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

from penstock.catalog.resolved_schema import Column, PhysicalColumn, ResolvedSchema
from penstock.cli.sql.gateway_calls import GatewayCalls, GatewayFailure
from penstock.cli.sql.options import RUNTIME_MODE
from penstock.common.errors import PenstockError
from penstock.common.logical_type_json import type_of_json
from penstock.common.types import Row, RowKind
from penstock.table.result_kind import ResultKind
from penstock.table.table_result import CloseableIterator
from penstock.table.value_texts import ShownText

__all__ = ["RemoteEnvironment", "RemoteResult"]

_POLL_SECONDS = 0.05
_HEARTBEAT_SECONDS = 60.0


class RemoteEnvironment:
    """A session of a gateway, as an environment."""

    def __init__(self, calls: GatewayCalls) -> None:
        self._calls = calls
        self._config = RemoteConfig(self)
        self._answers: dict[str, list[str]] = {}
        self._closed = threading.Event()
        threading.Thread(target=self._beat, name="gateway-heartbeat", daemon=True).start()

    @property
    def url(self) -> str:
        return self._calls.url

    def execute_sql(self, text: str) -> RemoteResult:
        """Runs one statement; returns when the gateway has something to show."""
        self._answers.clear()
        self._config.forget()
        operation = self._calls.submit(text)
        try:
            return self._ready(operation)
        except BaseException:  # an error, or Ctrl-C
            self._close_operation(operation)
            raise

    def _ready(self, operation: str) -> RemoteResult:
        while True:
            page = self._calls.page(operation, 0)
            if page["resultType"] != "NOT_READY":
                return RemoteResult(self._calls, operation, page)
            time.sleep(_POLL_SECONDS)

    def _close_operation(self, operation: str) -> None:
        with contextlib.suppress(PenstockError):
            self._calls.close_operation(operation)

    def close(self) -> None:
        """Ends the session; the gateway ends its queries."""
        self._closed.set()
        with contextlib.suppress(PenstockError):
            self._calls.close()

    def _beat(self) -> None:
        while not self._closed.wait(_HEARTBEAT_SECONDS):
            with contextlib.suppress(PenstockError):
                self._calls.heartbeat()

    # -- what the client asks an environment ---------------------------------------------------------------------

    def get_config(self) -> RemoteConfig:
        return self._config

    def properties(self) -> dict[str, str]:
        return self._calls.properties()

    def list_catalogs(self) -> list[str]:
        return self._first_column("SHOW CATALOGS")

    def list_databases(self) -> list[str]:
        return self._first_column("SHOW DATABASES")

    def list_tables(self) -> list[str]:
        return self._first_column("SHOW TABLES")

    def list_functions(self) -> list[str]:
        return self._first_column("SHOW FUNCTIONS")

    def get_current_catalog(self) -> str:
        return "".join(self._first_column("SHOW CURRENT CATALOG")[:1])

    def get_current_database(self) -> str:
        return "".join(self._first_column("SHOW CURRENT DATABASE")[:1])

    def _first_column(self, statement: str) -> list[str]:
        """What a SHOW answers, asked once between two statements of the user."""
        if statement not in self._answers:
            answers = self._answers
            try:
                with self._ready(self._calls.submit(statement)).collect() as rows:
                    answers[statement] = [str(row[0]) for row in rows]
            except GatewayFailure:
                answers[statement] = []
        return self._answers.get(statement, [])


class RemoteConfig:
    """The session's options, which the gateway keeps."""

    def __init__(self, environment: RemoteEnvironment) -> None:
        self._environment = environment
        self._known: dict[str, str] | None = None

    def forget(self) -> None:
        self._known = None

    def to_map(self) -> dict[str, str]:
        """The options; a gateway that names no mode streams."""
        if self._known is None:
            self._known = {RUNTIME_MODE: "STREAMING", **self._environment.properties()}
        return dict(self._known)

    def set(self, key: str, value: str) -> RemoteConfig:
        self._environment.execute_sql(f"SET {_quoted(key)} = {_quoted(value)}").close()
        return self

    def get_configuration(self) -> RemoteConfig:
        return self

    def set_string(self, key: str, value: str) -> None:
        if self.to_map().get(key) != value:
            self.set(key, value)

    def remove_config(self, key: str) -> bool:
        self._environment.execute_sql(f"RESET {_quoted(key)}").close()
        return True


class RemoteResult:
    """What a statement gave; its rows can be read once."""

    def __init__(self, calls: GatewayCalls, operation: str, first: Mapping[str, Any]) -> None:
        self._calls = calls
        self._operation = operation
        self._first = first
        self.is_query = bool(first.get("isQueryResult"))
        self.job_id: str | None = first.get("jobID")
        columns: list[Column] = [
            PhysicalColumn(c["name"], type_of_json(c["logicalType"]), comment=c.get("comment"))
            for c in first["results"]["columns"]
        ]
        self._schema = ResolvedSchema(columns)

    @property
    def remote_job_id(self) -> str | None:
        """The job of an INSERT, which runs at the gateway."""
        return None if self.is_query else self.job_id

    def get_result_kind(self) -> int:
        only = self._first.get("resultKind") == "SUCCESS"
        return ResultKind.SUCCESS if only else ResultKind.SUCCESS_WITH_CONTENT

    def get_resolved_schema(self) -> ResolvedSchema:
        return self._schema

    def wait(self, timeout_ms: int | None = None) -> None:
        """Returns at once: jobs are the gateway's."""

    def collect(self) -> CloseableIterator:
        return CloseableIterator(self._rows())

    def close(self) -> None:
        """Lets go of the result; a query ends."""
        with contextlib.suppress(PenstockError):
            self._calls.close_operation(self._operation)

    def _rows(self) -> Iterator[Row]:
        page = self._first
        try:
            while True:
                yield from map(_row, page["results"]["data"])
                token = _next_token(page)
                if token is None:
                    return
                page = self._next(token)
        finally:
            self.close()

    def _next(self, token: int) -> Mapping[str, Any]:
        page: Mapping[str, Any] = self._calls.page(self._operation, token)
        while page["resultType"] == "NOT_READY":
            time.sleep(_POLL_SECONDS)
            page = self._calls.page(self._operation, token)
        if not page["results"]["data"] and _next_token(page) is not None:
            time.sleep(_POLL_SECONDS)
        return page


def _row(described: Mapping[str, Any]) -> Row:
    row = Row(*(None if text is None else ShownText(text) for text in described["fields"]))
    row.set_row_kind(RowKind[described["kind"]])
    return row


def _next_token(page: Mapping[str, Any]) -> int | None:
    uri = page.get("nextResultUri")
    return None if uri is None else int(uri.split("?")[0].rsplit("/", 1)[1])


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
