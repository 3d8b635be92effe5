"""The job server: Flink's REST interface on a thread of the driver.

It is opened beside a job (`penstock run --web`, `rest.port`) or by a session (`penstock cluster start`), and closed
with it. Requests are answered on the server's own event loop; whatever waits gets a thread.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.common.configuration import Configuration
from penstock.common.errors import MissingDependencyError, ValidationError
from penstock.common.options import option
from penstock.common.time import to_millis
from penstock.rest.archive import archive_job, write_archive
from penstock.rest.context import ServerContext
from penstock.rest.directory import JobDirectory
from penstock.rest.dispatch import Dispatcher, read_job
from penstock.rest.security import make_guard, tls_files
from penstock.rest.triggers import Operations

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

__all__ = ["JobServer", "make_context"]

LOG = logging.getLogger(__name__)
_STARTUP_SECONDS = 30.0
_PORTS = re.compile(r"^\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*$")


def make_context(
    configuration: Configuration, also_archive_to: str | None = None, **more: Any
) -> ServerContext:
    """A context over the jobs of this process; ended ones are archived if `jobmanager.archive.fs.dir` is set."""
    archives = [configuration.get(option("jobmanager.archive.fs.dir")), also_archive_to]

    def ended(job_id: str, answers: Mapping[str, Any]) -> None:
        for place in filter(None, archives):
            try:
                write_archive(place, job_id, answers)
            except Exception:
                LOG.warning("job %s could not be archived in %s", job_id, place, exc_info=True)

    kept = max(int(configuration.get(option("web.history"))), _KEPT_JOBS)
    directory = JobDirectory(read_job, archive_job, kept, ended)
    seconds = to_millis(configuration.get(option("rest.async.store-duration"))) / 1000
    return ServerContext(configuration, directory, Operations(seconds, directory.changed), **more)


_KEPT_JOBS = 50


class JobServer:
    """Serves a context.

    Args:
        context: What there is to serve.
        extra: Routes beside the interface: the SQL gateway's.
    """

    def __init__(self, context: ServerContext, extra: Sequence[BaseRoute] = ()) -> None:
        self.context = context
        self.dispatcher = Dispatcher(context)
        self._extra = extra
        self._server: Any = None
        self._thread: threading.Thread | None = None
        self.address = ""
        self.port = 0
        self.scheme = "http"

    @property
    def url(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{self.scheme}://{host}:{self.port}"

    def start(self) -> JobServer:
        """Opens the port and returns when requests are answered.

        Raises:
            ValidationError: No port is free, or the address may not be served as it is configured.
            MissingDependencyError: The packages for it are not installed.
        """
        uvicorn, make_app = _imported()
        configuration = self.context.configuration
        bind = configuration.get(option("rest.bind-address")) or "127.0.0.1"
        tls = tls_files(configuration)
        guard = make_guard(configuration, bind, tls, self.context.address_key)
        most = int(configuration.get(option("rest.server.max-content-length")))
        app = make_app(self.dispatcher, guard, most, self._extra)
        keys = f"{self.context.address_key}, {self.context.port_key}, rest.bind-port"
        listening = open_port(bind, ports(configuration), keys)
        self.address, self.port = _shown_address(configuration, bind), listening.getsockname()[1]
        settings = uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False, date_header=False, lifespan="off",
            timeout_keep_alive=30, limit_concurrency=1000, h11_max_incomplete_event_size=64 << 10,
        )  # fmt: skip
        settings.load()
        if tls is not None:
            settings.ssl, self.scheme = tls.context(), "https"
        self._server = uvicorn.Server(settings)
        self.context.directory.open()
        self._thread = threading.Thread(
            target=self._serve, args=(listening,), name="penstock-rest", daemon=True
        )
        self._thread.start()
        self._wait_until_up()
        LOG.info("REST interface at %s", self.url)
        return self

    def _serve(self, listening: socket.socket) -> None:
        with contextlib.suppress(SystemExit):
            self._server.run(sockets=[listening])

    def _wait_until_up(self) -> None:
        until = time.monotonic() + _STARTUP_SECONDS
        while not self._server.started:
            if self._thread is None or not self._thread.is_alive() or time.monotonic() > until:
                raise ValidationError(f"the REST server did not come up on {self.url}")
            time.sleep(0.005)

    def stop(self, wait_seconds: float = 5.0) -> None:
        """Closes the port. What is under way gets a moment to end."""
        self.context.directory.close()
        self.context.operations.wait(wait_seconds)
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(wait_seconds)
            if self._thread.is_alive():
                self._server.force_exit = True
                self._thread.join(wait_seconds)


def _imported() -> tuple[Any, Any]:
    try:
        import uvicorn

        from penstock.rest.app import make_app
    except ImportError as error:
        raise MissingDependencyError(
            f"the REST server needs a package that is not installed: {error.name}",
            do="pip install 'penstock[web]'",
        ) from error
    return uvicorn, make_app


def _shown_address(configuration: Configuration, bind: str) -> str:
    given = configuration.get(option("rest.address"))
    return str(given) if given else ("localhost" if bind in ("0.0.0.0", "::", "127.0.0.1") else bind)


def ports(configuration: Configuration) -> list[int]:
    """The ports to try: `rest.bind-port`, which may be a range, else `rest.port`.

    Raises:
        ValidationError: What was set is not a list of ports.
    """
    given = configuration.to_dict()
    for key in ("rest.bind-port", "rest.port", "web.port"):
        if key in given:
            return list(_parse_ports(key, given[key]))
    return [int(configuration.get(option("rest.port")))]


def _parse_ports(key: str, text: str) -> Iterator[int]:
    """
    >>> list(_parse_ports("rest.bind-port", "8081,9000-9002"))
    [8081, 9000, 9001, 9002]
    """
    compact = text.replace(" ", "")
    if not _PORTS.match(compact):
        raise ValidationError(
            f"'{text}' is not a port", where=key, do="write 8081, 8081-8099 or 8081,9000-9010"
        )
    for part in compact.split(","):
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        if high > 65535 or low > high:
            raise ValidationError(f"'{part}' is not a range of ports", where=key)
        yield from range(low, high + 1)


def open_port(
    address: str, candidates: Sequence[int], keys: str = "rest.bind-address, rest.port"
) -> socket.socket:
    """A socket on the first port that is free.

    Args:
        keys: The options that say where, for the error.

    Raises:
        ValidationError: None is, or the address is not one of this machine.
    """
    problem: OSError | None = None
    for port in candidates:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        # With TCP by name: asyncio sends without delay only on sockets that say what they are. An answer has two
        # parts, and the second would wait for the client's acknowledgement of the first, 40 ms.
        candidate = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            candidate.bind((address, port))
            candidate.listen(1024)
        except OSError as error:
            candidate.close()
            problem = error
            if error.errno != errno.EADDRINUSE:
                break
            continue
        return candidate
    tried = ", ".join(map(str, candidates[:5])) + (" …" if len(candidates) > 5 else "")
    raise ValidationError(
        f"the REST server cannot listen on {address}, port {tried}: {problem}",
        where=keys,
        do="choose another port, a range such as rest.bind-port=8081-8099, or 0 for any that is free",
    ) from problem
