"""Prometheus's push gateway: the metrics are put there every interval, and deleted at the end.

Options as in Flink: `hostUrl` (or the older `host` and `port`), `jobName`, `randomJobNameSuffix`, `groupingKey`
(`k1=v1;k2=v2`), `deleteOnShutdown`, `filterLabelValueCharacters`.
"""

from __future__ import annotations

import urllib.parse
import uuid
from collections.abc import Sequence

from penstock.common.errors import ValidationError
from penstock.metrics.reporters.prometheus_text import CONTENT_TYPE, exposition
from penstock.metrics.reporters.reporter import MetricReporter
from penstock.metrics.reporters.sending import http_url, send
from penstock.metrics.reporters.settings import ReporterSettings
from penstock.metrics.samples import Sample

__all__ = ["PushGatewayReporter"]


class PushGatewayReporter(MetricReporter):
    """Replaces the metrics of one group of the gateway."""

    def __init__(self, settings: ReporterSettings) -> None:
        super().__init__(settings)
        job = settings.get("jobName", default="flinkJob")
        if settings.get("randomJobNameSuffix", "Boolean", True):
            job += uuid.uuid4().hex
        path = ["metrics", "job", job, *_grouping(settings)]
        self.url = _where(settings) + "".join("/" + urllib.parse.quote(part, safe="") for part in path)
        self._delete = settings.get("deleteOnShutdown", "Boolean", True)
        self._pushed = False

    def report(self, samples: Sequence[Sample]) -> None:
        """Replaces the group's metrics in the gateway."""
        text = exposition(samples, self.settings).encode()
        send(self.url, "PUT", text, {"Content-Type": CONTENT_TYPE})
        self._pushed = True

    def close(self) -> None:
        """Deletes the group's metrics from the gateway, if that is asked for."""
        if self._delete and self._pushed:
            send(self.url, "DELETE", None, {})


def _where(settings: ReporterSettings) -> str:
    host = settings.get("host")
    older = f"http://{host}:{settings.get('port', default='9091')}" if host else None
    url = settings.get("hostUrl", default=older)
    if not url:
        raise ValidationError(
            "the push gateway has no address",
            where=settings.key("hostUrl"),
            do="set it, to http://localhost:9091, say",
        )
    return http_url(url, settings.key("hostUrl"))


def _grouping(settings: ReporterSettings) -> list[str]:
    """Labels as parts of a path.

    >>> _grouping(ReporterSettings("p", {"groupingKey": "env=prod; team = a "}))
    ['env', 'prod', 'team', 'a']
    """
    found: list[str] = []
    for pair in str(settings.get("groupingKey", default="")).split(";"):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if pair.strip() and not (name and equals and value):
            raise ValidationError(
                f"'{pair.strip()}' is no label", where=settings.key("groupingKey"), do="write k1=v1;k2=v2"
            )
        found += [name, value] if name else []
    return found
