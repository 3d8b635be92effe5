"""`penstock gateway start`: the gateway alone, until it is interrupted."""

from __future__ import annotations

import ipaddress
import os
import socket
import threading
from collections.abc import Callable, Mapping

from penstock.common.errors import MissingDependencyError, NotSupportedError, ValidationError
from penstock.gateway.app import gateway_app
from penstock.gateway.options import GatewayOptions
from penstock.gateway.service import GatewayService, start_spark

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
        ValidationError: The address is open to others and nothing protects it, or the port is taken.
    """

    def __init__(self, properties: Mapping[str, str], prepare: Callable[[], None] = start_spark) -> None:
        options = GatewayOptions.read(properties)
        token = check_door(options)
        self._prepare = prepare
        self._service = GatewayService(properties, prepare)
        self._socket = _listening(options.address, options.port)
        config = uvicorn.Config(
            gateway_app(self._service, token), log_level="warning", access_log=False, lifespan="on"
        )
        self._server = uvicorn.Server(config)
        self._address = options.address

    @property
    def url(self) -> str:
        return f"http://{self._address}:{self._socket.getsockname()[1]}"

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


def check_door(options: GatewayOptions) -> str | None:
    """The token that requests must bring, if there is one.

    Raises:
        ValidationError: Others could reach the gateway and no token protects it.
    """
    if options.tls:
        raise NotSupportedError(
            "security.ssl.rest.enabled for the SQL gateway",
            "it speaks plain HTTP",
            do="put a proxy that speaks TLS in front of it, and set penstock.rest.token-file",
        )
    token = _token(options.token_file)
    if token is None and not _is_loopback(options.address):
        raise ValidationError(
            f"the gateway would be open to everybody who can reach {options.address}",
            do="set penstock.rest.token-file to a file with a secret, or sql-gateway.endpoint.rest.bind-address "
            "to localhost",
        )
    return token


def _token(path: str | None) -> str | None:
    if path is None:
        return None
    try:
        with open(os.path.expanduser(path), encoding="utf-8") as file:
            token = file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ValidationError(f"penstock.rest.token-file: cannot read '{path}': {error}") from None
    if not token:
        raise ValidationError(
            f"penstock.rest.token-file: '{path}' is empty", do="write a long secret into it"
        )
    return token


def _is_loopback(address: str) -> bool:
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


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
