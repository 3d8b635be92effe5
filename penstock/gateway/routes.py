"""The gateway's paths, as routes to put into a web application.

All versions of Flink's interface are here, each path with its version before it (`/v1` … `/v4`) or without, which
means the newest. Handlers only read the request and write the answer; what is long is done in a thread.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from penstock.common.errors import NotSupportedError
from penstock.gateway.errors import BadRequest, error_texts
from penstock.gateway.fetching import Place, page_text, until_begun, until_news
from penstock.gateway.operation import Operation
from penstock.gateway.requests import (
    Body,
    optional_text,
    path_uuid,
    query_choice,
    read_body,
    text_map,
    whole_number,
)
from penstock.gateway.row_formats import JSON, ROW_FORMATS
from penstock.gateway.service import PRODUCT, GatewayService
from penstock.gateway.session import GatewaySession

__all__ = ["answer", "gateway_routes", "not_found"]

VERSIONS = ("v1", "v2", "v3", "v4")
_MEDIA_TYPE = "application/json; charset=UTF-8"

Handler = Callable[[Request], Awaitable[Response]]


def answer(value: Any, status: int = 200) -> Response:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Response(text, status, media_type=_MEDIA_TYPE)


def not_found(path: str) -> Response:
    return answer({"errors": [f"Not found: {path}"]}, 404)


def gateway_routes(service: GatewayService) -> list[BaseRoute]:
    """Routes for `Starlette(routes=...)` or for the routes of another application."""
    routes: list[BaseRoute] = []
    for path, method, versions, doing, handler in Handlers(service).table():
        guarded = _guarded(handler, doing)
        prefixes = [f"/{version}" for version in versions] + ([""] if "v4" in versions else [])
        routes += [Route(prefix + path, guarded, methods=[method]) for prefix in prefixes]
    return routes


def _guarded(handler: Handler, doing: str) -> Handler:
    async def guarded(request: Request) -> Response:
        try:
            return await handler(request)
        except BadRequest as error:
            return answer({"errors": error.texts}, error.status)
        except ClientDisconnect:
            return Response(status_code=499)
        except Exception as error:
            return answer({"errors": error_texts(error, doing)}, 500)

    return guarded


class Handlers:
    """One method per path."""

    def __init__(self, service: GatewayService) -> None:
        self._service = service

    def table(self) -> list[tuple[str, str, tuple[str, ...], str, Handler]]:
        """(path, method, versions, what it does in words for errors, handler)."""
        session = "/sessions/{session_handle}"
        operation = session + "/operations/{operation_handle}"
        since_v2 = VERSIONS[1:]
        return [
            ("/info", "GET", VERSIONS, "Failed to getGatewayInfo.", self.info),
            ("/api_versions", "GET", VERSIONS, "Failed to getApiVersions.", self.api_versions),
            ("/sessions", "POST", VERSIONS, "Failed to openSession.", self.open_session),
            (session, "GET", VERSIONS, "Failed to getSessionConfig.", self.session_config),
            (session, "DELETE", VERSIONS, "Failed to closeSession.", self.close_session),
            (f"{session}/heartbeat", "POST", VERSIONS, "Failed to getSessionConfig.", self.heartbeat),
            (f"{session}/statements", "POST", VERSIONS, "Failed to executeStatement.", self.execute),
            (f"{session}/complete-statement", "GET", since_v2, "Failed to completeStatement.", self.complete),
            (f"{session}/configure-session", "POST", since_v2, "Failed to configure session.", self.configure),
            (f"{operation}/status", "GET", VERSIONS, "Failed to getOperationInfo.", self.status),
            (f"{operation}/cancel", "POST", VERSIONS, "Failed to cancelOperation.", self.cancel),
            (f"{operation}/close", "DELETE", VERSIONS, "Failed to closeOperation.", self.close_operation),
            (f"{operation}/result/{{token}}", "GET", VERSIONS, "Failed to fetchResults.", self.fetch),
            (f"{session}/materialized-tables/{{identifier}}/refresh", "POST", ("v3", "v4"),
             "Failed to refresh materialized table.", self.refresh),
            (f"{session}/scripts", "POST", ("v4",), "Failed to deploy script to cluster.", self.deploy),
        ]  # fmt: skip

    # -- the gateway -----------------------------------------------------------------------------------------

    async def info(self, request: Request) -> Response:
        return answer({"productName": PRODUCT, "version": self._service.version})

    async def api_versions(self, request: Request) -> Response:
        return answer({"versions": [version.upper() for version in VERSIONS]})

    # -- sessions --------------------------------------------------------------------------------------------

    async def open_session(self, request: Request) -> Response:
        body = await self._body(request, "OpenSessionRequestBody")
        name = optional_text(body, "sessionName")
        properties = text_map(body, "properties")
        session = await run_in_threadpool(self._service.open_session, name, properties)
        return answer({"sessionHandle": session.handle})

    async def session_config(self, request: Request) -> Response:
        return answer({"properties": self._session(request).runner.options})

    async def close_session(self, request: Request) -> Response:
        handle = path_uuid(request, "session_handle")
        await run_in_threadpool(self._service.close_session, handle)
        return answer({"status": "CLOSED"})

    async def heartbeat(self, request: Request) -> Response:
        self._session(request)
        return answer({})

    async def complete(self, request: Request) -> Response:
        session = self._session(request)
        body = await self._body(request, "CompleteStatementRequestBody")
        statement = optional_text(body, "statement") or ""
        position = whole_number(body, "position", len(statement))
        found = await run_in_threadpool(session.runner.complete, statement, position)
        return answer({"candidates": found})

    async def configure(self, request: Request) -> Response:
        session = self._session(request)
        body = await self._body(request, "ConfigureSessionRequestBody")
        _no_timeout(body)
        await run_in_threadpool(session.configure, optional_text(body, "statement") or "")
        return answer({})

    # -- statements ------------------------------------------------------------------------------------------

    async def execute(self, request: Request) -> Response:
        session = self._session(request)
        body = await self._body(request, "ExecuteStatementRequestBody")
        _no_timeout(body)
        statement = optional_text(body, "statement") or ""
        operation = session.execute(statement, text_map(body, "executionConfig"))
        await until_begun(operation)
        return answer({"operationHandle": operation.handle})

    async def deploy(self, request: Request) -> Response:
        self._session(request)
        raise _deploy_refusal()

    async def refresh(self, request: Request) -> Response:
        self._session(request)
        raise _refresh_refusal()

    # -- operations ------------------------------------------------------------------------------------------

    async def status(self, request: Request) -> Response:
        return answer({"status": self._operation(request)[1].status.name})

    async def cancel(self, request: Request) -> Response:
        operation = self._operation(request)[1]
        await run_in_threadpool(operation.cancel)
        return answer({"status": operation.status.name})

    async def close_operation(self, request: Request) -> Response:
        session = self._session(request)
        handle = path_uuid(request, "operation_handle")
        await run_in_threadpool(session.close_operation, handle)
        return answer({"status": "CLOSED"})

    async def fetch(self, request: Request) -> Response:
        token = _token(request)
        version = _version(request)
        row_format = JSON if version == "v1" else query_choice(request, "rowFormat", ROW_FORMATS, JSON)
        session, operation = self._operation(request)
        await until_news(operation)
        place = Place(version, session.handle, operation.handle, row_format)
        return answer(await run_in_threadpool(page_text, session, operation, token, place))

    # -- parts of requests -----------------------------------------------------------------------------------

    def _session(self, request: Request) -> GatewaySession:
        return self._service.session(path_uuid(request, "session_handle"))

    def _operation(self, request: Request) -> tuple[GatewaySession, Operation]:
        handle = path_uuid(request, "operation_handle")
        session = self._session(request)
        return session, session.operation(handle)

    async def _body(self, request: Request, name: str) -> Body:
        return await read_body(request, name, self._service.options.max_body_bytes)


def _version(request: Request) -> str:
    first = request.url.path.split("/", 2)[1]
    return first if first in VERSIONS else VERSIONS[-1]


def _token(request: Request) -> int:
    text = request.path_params["token"]
    if not text.lstrip("-").isdecimal() or not text.isascii():
        raise BadRequest(
            f'Bad request, could not parse parameters: Cannot resolve path parameter (token) from value "{text}".'
        )
    return int(text)


def _no_timeout(body: Body) -> None:
    if whole_number(body, "executionTimeout", 0) > 0:
        raise NotSupportedError(
            "executionTimeout",
            "statements are not timed",
            do="cancel the operation when it has taken too long",
        )


def _deploy_refusal() -> NotSupportedError:
    return NotSupportedError(
        "deploying a script as an application of its own",
        "the gateway runs statements in its own process and has no cluster to hand a script to",
        do="run the script with penstock sql -f, under spark-submit where there is a cluster",
    )


def _refresh_refusal() -> NotSupportedError:
    return NotSupportedError(
        "refreshing a materialized table", "there are no materialized tables here", do="use INSERT OVERWRITE"
    )
