"""HTTP around the dispatcher: prefix, limits, forms, headers, and the files of the dashboard."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route

from penstock.rest.dispatch import Dispatcher
from penstock.rest.messages import Answer, Request, RestError
from penstock.rest.openapi import describe
from penstock.rest.routes import match
from penstock.rest.security import Guard

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["make_app"]

_JSON_BYTES = 8 << 20
_VERBS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def make_app(
    dispatcher: Dispatcher,
    guard: Guard,
    max_bytes: int,
    extra: Sequence[BaseRoute] = (),
    static: str | None = None,
) -> ASGIApp:
    """The application.

    Args:
        guard: Decides who gets in; asked before anything else.
        max_bytes: The largest upload.
        extra: Routes of others (the SQL gateway), asked before ours.
        static: The folder of the dashboard's files.
    """

    async def serve(http: HttpRequest) -> Response:
        try:
            request = await _request(http, max_bytes)
        except RestError as error:
            return respond(Answer.error(error.status, *error.messages))
        if request.path == "/openapi.json":
            return respond(Answer(describe()))
        if static is not None and request.method == "GET" and not _is_route(request.path):
            file = _static_file(static, request.path)
            if file is not None:
                return FileResponse(file, headers={"X-Content-Type-Options": "nosniff"})
        if dispatcher.is_quick(request):
            return respond(dispatcher.answer(request))
        return respond(await run_in_threadpool(dispatcher.answer, request))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield

    routes = [*extra, Route("/{path:path}", serve, methods=_VERBS)]
    return _Guarded(Starlette(routes=routes, lifespan=lifespan), guard)


class _Guarded:
    """Asks the guard before anybody else sees the request."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app = app
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
            refused = self._guard.refuse(scope["method"], headers)
            if refused is not None:
                await respond(refused)(scope, receive, send)
                return
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        await self._app(scope, receive, send)


def respond(answer: Answer) -> Response:
    headers = {**_HEADERS, **answer.headers}
    return Response(answer.encoded(), answer.status, headers, media_type=answer.content_type)


async def _request(http: HttpRequest, max_bytes: int) -> Request:
    path = http.url.path
    if path == "/v1" or path.startswith("/v1/"):
        path = path[3:] or "/"
    if len(path) > 1 and path.endswith("/"):
        path = path.rstrip("/") or "/"
    query = {key: tuple(http.query_params.getlist(key)) for key in http.query_params}
    method = "GET" if http.method == "HEAD" else http.method
    base = f"{http.url.scheme}://{http.url.netloc}"
    if http.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        name, body = await _only_file(http, max_bytes)
        return Request(method, path, {**query, "filename": (name,)}, body, base=base)
    query.pop("filename", None)
    return Request(method, path, query, await _body(http, min(max_bytes, _JSON_BYTES)), base=base)


async def _body(http: HttpRequest, most: int) -> bytes:
    return b"".join([part async for part in _limited(http, most)])


async def _limited(http: HttpRequest, most: int) -> AsyncGenerator[bytes, None]:
    """The body in pieces; refused as soon as it is, or says that it is, too large."""
    declared = http.headers.get("content-length", "0")
    too_large = RestError(413, f"The request is larger than {most} bytes (rest.server.max-content-length).")
    if declared.isdecimal() and int(declared) > most:
        raise too_large
    seen = 0
    try:
        async for part in http.stream():
            seen += len(part)
            if seen > most:
                raise too_large
            yield part
    except ClientDisconnect:
        raise RestError(400, "The client went away.") from None


async def _only_file(http: HttpRequest, most: int) -> tuple[str, bytes]:
    """The one file of a form."""
    files: list[Any] = []
    try:
        parser = MultiPartParser(http.headers, _limited(http, most), max_files=2, max_fields=16)
        form = await parser.parse()
        files = [value for _, value in form.multi_items() if not isinstance(value, str)]
        if len(files) != 1:
            raise RestError(400, f"Exactly 1 file must be sent, received {len(files)}.")
        return files[0].filename or "", await files[0].read()
    except (MultiPartException, KeyError, UnicodeDecodeError):
        raise RestError(400, "Request did not match expected format: not a multipart form.") from None
    finally:
        for file in files:
            await file.close()


def _is_route(path: str) -> bool:
    """Whether a path is one of the interface, with good parameters or bad ones."""
    try:
        return match("GET", path) is not None
    except RestError:
        return True


def _static_file(folder: str, path: str) -> str | None:
    """A file below the folder; `/` is its index. Whatever a path says, nothing outside is found."""
    root = os.path.realpath(folder)
    wanted = os.path.realpath(os.path.join(root, path.lstrip("/") or "index.html"))
    if "\x00" in path or os.path.commonpath([root, wanted]) != root or not os.path.isfile(wanted):
        return None
    return wanted
