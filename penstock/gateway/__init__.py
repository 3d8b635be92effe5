"""Flink's SQL gateway: sessions and statements over HTTP, as `sql-client.sh gateway` and other clients speak it.

    routes.py        paths → handlers · requests.py  what a request says · fetching.py  pages as answers
    service.py       all sessions · session.py  one, with its operations · operation.py  one statement's life
    statements.py    how a statement runs: the SQL client's environment and rules
    result_pages.py  rows, read ahead of the client by a bounded number
    row_formats.py   rows → JSON or texts
    server.py        `penstock gateway start`: the gateway alone, on a port of its own

`gateway_routes(service)` are for another application, `gateway_app(service)` is one by itself.
"""

from penstock.common.errors import MissingDependencyError

try:
    import starlette  # noqa: F401
except ImportError as error:
    raise MissingDependencyError(
        f"the SQL gateway needs {error.name}", do="pip install 'penstock[web]'"
    ) from error

from penstock.gateway.app import gateway_app
from penstock.gateway.routes import gateway_routes
from penstock.gateway.service import GatewayService

__all__ = ["GatewayService", "gateway_app", "gateway_routes"]
