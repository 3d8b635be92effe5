"""The gateway as an application of its own, with the checks that a door to the network needs."""

from __future__ import annotations

import contextlib
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from penstock.gateway.routes import answer, gateway_routes, not_found
from penstock.gateway.service import GatewayService

__all__ = ["gateway_app"]

Next = Callable[[Request], Awaitable[Response]]


def gateway_app(service: GatewayService | None = None, token: str | None = None) -> Starlette:
    """An ASGI application; the service is closed when it shuts down.

    Args:
        token: What requests have to bring as `Authorization: Bearer <token>`; None asks for nothing.
    """
    chosen = service or GatewayService()

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(chosen.close)

    async def unknown(request: Request, error: Exception) -> Response:
        path = request.url.path
        return not_found(f"{path}?{request.url.query}" if request.url.query else path)

    return Starlette(
        routes=gateway_routes(chosen),
        middleware=[Middleware(Door, token=token)],
        exception_handlers={404: unknown, 405: unknown},
        lifespan=lifespan,
    )


class Door(BaseHTTPMiddleware):
    """Lets in who brings the token, and no page of another site that a browser shows."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        super().__init__(app)
        self._token = token

    async def dispatch(self, request: Request, call_next: Next) -> Response:
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
            return answer({"errors": [f"Requests from {origin} are not answered."]}, 403)
        if self._token is not None and not self._has_token(request):
            return answer({"errors": ["A token is needed: send 'Authorization: Bearer <token>'."]}, 401)
        return await call_next(request)

    def _has_token(self, request: Request) -> bool:
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        expected = self._token or ""
        return kind.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), expected.encode())
