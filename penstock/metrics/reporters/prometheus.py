"""Prometheus asks: a small HTTP server that answers with the metrics of the moment.

Options as in Flink: `port` (9249, or a range such as `9250-9260`, of which the first free one is taken) and
`filterLabelValueCharacters`. `host` is ours: the server listens on the loopback device unless told otherwise.
"""

from __future__ import annotations

import http.server
import logging
import re
import threading
from collections.abc import Callable, Sequence

from penstock.common.errors import ExternalSystemError, ValidationError
from penstock.metrics.reporters.prometheus_text import CONTENT_TYPE, exposition
from penstock.metrics.reporters.reporter import MetricReporter
from penstock.metrics.reporters.settings import ReporterSettings
from penstock.metrics.samples import Sample

__all__ = ["PrometheusReporter"]

LOG = logging.getLogger(__name__)
_DEFAULT_PORT = "9249"


class PrometheusReporter(MetricReporter):
    """Serves `/metrics` (and, as Flink does, the same under every other path)."""

    scheduled = False

    def __init__(self, settings: ReporterSettings) -> None:
        super().__init__(settings)
        self._host = settings.get("host", default="127.0.0.1")
        self._ports = _ports(settings)
        self._server: http.server.ThreadingHTTPServer | None = None

    @property
    def port(self) -> int:
        """The port that it listens on, once it is open."""
        assert self._server is not None, "the reporter is not open"
        return int(self._server.server_address[1])

    def open(self, collect: Callable[[], Sequence[Sample]]) -> None:
        """Begins to answer scrapes, on the first port of its range that is free."""
        handler = _handler(lambda: exposition(collect(), self.settings))
        self._server = self._bind(handler)
        thread = threading.Thread(target=self._server.serve_forever, name="penstock-prometheus", daemon=True)
        thread.start()
        LOG.info("metrics for Prometheus are served at http://%s:%d/metrics", self._host, self.port)

    def _bind(self, handler: type[http.server.BaseHTTPRequestHandler]) -> http.server.ThreadingHTTPServer:
        last: OSError | None = None
        for port in self._ports:
            try:
                return _Server((self._host, port), handler)
            except OSError as error:
                last = error
        raise ExternalSystemError(
            f"no port of {self.settings.get('port', default=_DEFAULT_PORT)} is free on {self._host}: {last}",
            where=self.settings.key("port"),
            do="give a free port, or a range such as 9250-9260",
        )

    def close(self) -> None:
        """Stops answering."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True


def _handler(text: Callable[[], str]) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            body = text().encode()
            self.send_response(200)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            LOG.debug(format, *args)

    return Handler


def _ports(settings: ReporterSettings) -> list[int]:
    """Single ports and ranges, `,` between them, as Flink's NetUtils reads them.

    >>> _ports(ReporterSettings("prom", {"port": "9250-9252, 9300"}))
    [9250, 9251, 9252, 9300]
    """
    text = str(settings.get("port", default=_DEFAULT_PORT))
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part)
        last = int(match[2] or match[1]) if match else 0
        if match is None or last > 65535 or int(match[1]) > last:
            raise ValidationError(
                f"'{text}' is no port", where=settings.key("port"), do="give a number, or a range: 9250-9260"
            )
        found += range(int(match[1]), last + 1)
    return found
