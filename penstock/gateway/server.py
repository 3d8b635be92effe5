"""`penstock gateway start`: the gateway alone, until it is interrupted."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping

from penstock.common.configuration import Configuration
from penstock.common.errors import MissingDependencyError, ValidationError
from penstock.gateway.app import gateway_app
from penstock.gateway.options import GatewayOptions
from penstock.gateway.service import GatewayService, start_spark
from penstock.rest.security import TlsFiles, is_loopback, read_token, tls_files

try:
    import uvicorn
except ImportError as error:
    raise MissingDependencyError(
        f"the SQL gateway needs {error.name}", do="pip install 'penstock[web]'"
    ) from error

__all__ = ["GatewayServer", "check_door"]

_BACKLOG = 2048


class GatewayServer:
    """A socket, and a web server on it.

    Args:
        properties: Options of the gateway and of its sessions; those that begin with `spark.` are for Spark.
        prepare: Makes Spark ready.

    Raises:
        ValidationError: The address is open to others and nothing protects it, a certificate cannot be used, or the
            port is taken.
    """

    def __init__(self, properties: Mapping[str, str], prepare: Callable[[], None] = start_spark) -> None:
        options = GatewayOptions.read(properties)
        tls = tls_files(Configuration.from_dict(dict(properties)))
        token = check_door(options, tls)
        secured = tls.context() if tls is not None else None
        self._prepare = prepare
        self._service = GatewayService(properties, prepare)
        self._socket = _listening(options.address, options.port)
        config = uvicorn.Config(
            gateway_app(self._service, token), log_level="warning", access_log=False, lifespan="on"
        )
        config.load()
        config.ssl = secured
        self._scheme = "http" if secured is None else "https"
        self._server = uvicorn.Server(config)
        self._address = options.address

    @property
    def url(self) -> str:
        return f"{self._scheme}://{self._address}:{self._socket.getsockname()[1]}"

    def run(self) -> None:
        """Serves until SIGINT or SIGTERM; then queries are cancelled and sessions closed."""
        threading.Thread(target=self._warm_up, name="start-spark", daemon=True).start()
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """Makes `run`, in another thread, return."""
        self._server.should_exit = True

    def _warm_up(self) -> None:
        """Spark comes up while the first client connects; what goes wrong is told to the first statement."""
        try:
            self._prepare()
        except Exception:
            return


def check_door(options: GatewayOptions, tls: TlsFiles | None = None) -> str | None:
    """The token that requests must bring, if there is one.

    Raises:
        ValidationError: Others could reach the gateway, and neither a token nor clients' certificates protect it.
    """
    token = read_token(options.token_file)
    proven = token is not None or (tls is not None and tls.authorities is not None)
    if not proven and not is_loopback(options.address):
        raise ValidationError(
            f"the gateway would be open to everybody who can reach {options.address}",
            do="set penstock.rest.token-file to a file with a secret, or TLS with clients' certificates\n"
            "(security.ssl.rest.enabled, .cert, .key, .authentication-enabled, .ca), or\n"
            "sql-gateway.endpoint.rest.bind-address to localhost",
        )
    return token


def _listening(address: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, place = sorted(found, key=lambda one: one[0] != socket.AF_INET)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(_BACKLOG)  # who connects while the server comes up waits
    except OSError as error:
        raise ValidationError(
            f"the gateway cannot listen on {address}:{port}: {error.strerror or error}",
            do="choose another port with -D sql-gateway.endpoint.rest.port=..., 0 for any free one",
        ) from None
    return listening
