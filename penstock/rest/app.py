"""HTTP around the dispatcher: prefix, limits, forms, headers, and the files of the dashboard."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from penstock.rest.dispatch import Dispatcher
from penstock.rest.kept_answers import KeptAnswers
from penstock.rest.messages import Answer, Request, RestError
from penstock.rest.openapi import describe
from penstock.rest.security import Guard
from penstock.web import Asset, asset

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
) -> ASGIApp:
    """The application.

    Args:
        guard: Decides who gets in; asked before anything else.
        max_bytes: The largest upload.
        extra: Routes of others (the SQL gateway), asked before ours.
    """

    kept = KeptAnswers(lambda: dispatcher.context.directory.version)

    async def serve(http: HttpRequest) -> Response:
        try:
            request = await _request(http, max_bytes)
        except RestError as error:
            return respond(Answer.error(error.status, *error.messages))
        if request.method != "GET":
            try:
                return await answered(request)
            finally:
                dispatcher.context.directory.changed()
        if request.path == "/openapi.json":
            return respond(Answer(describe()))
        file = asset(request.path)
        if file is not None:
            return _page(http, file)
        if dispatcher.is_kept(request):
            return await kept.ask(_key(http.scope), lambda: answered(request))
        return await answered(request)

    async def answered(request: Request) -> Response:
        if dispatcher.is_quick(request):
            return respond(dispatcher.answer(request))
        return respond(await run_in_threadpool(dispatcher.answer, request))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield

    routes = [*extra, Route("/{path:path}", serve, methods=_VERBS)]
    return _Guarded(Starlette(routes=routes, lifespan=lifespan), guard, kept)


def _key(scope: Scope) -> tuple[str, bytes]:
    return scope["path"], scope["query_string"]


class _Guarded:
    """Asks the guard before anybody else sees the request; what has just been answered is answered again."""

    def __init__(self, app: ASGIApp, guard: Guard, kept: KeptAnswers) -> None:
        self._app = app
        self._guard = guard
        self._kept = kept

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
            refused = self._guard.refuse(scope["method"], headers)
            if refused is not None and not (refused.status == 401 and _is_page(scope)):
                await respond(refused)(scope, receive, send)
                return
            known = self._kept.find(_key(scope)) if scope["method"] == "GET" else None
            if known is not None:
                await known(scope, receive, send)
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


def _is_page(scope: Scope) -> bool:
    """The dashboard's own files have no secrets: the page asks people for the token."""
    return scope["method"] in ("GET", "HEAD") and asset(scope["path"]) is not None


def _page(http: HttpRequest, file: Asset) -> Response:
    """A file of the dashboard, or that the browser's copy is still right."""
    if http.headers.get("if-none-match") == file.etag:
        return Response(None, 304, file.headers())
    return Response(file.content, 200, file.headers())
