"""OpenTelemetry: OTLP over HTTP with JSON, which every collector takes (`/v1/metrics`).

Options as in Flink: `exporter.endpoint`, `exporter.timeout`, `exporter.headers` (`k1:v1,k2:v2`; ours),
`service.name`, `service.version`. `exporter.protocol: gRPC` is refused.

    counter                    a sum that may also go down, since the job began
    gauge, meter               a gauge (a meter's rate)
    histogram, distribution    a summary
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.metrics.reporters.reporter import MetricReporter
from penstock.metrics.reporters.sending import http_url, send
from penstock.metrics.reporters.settings import ReporterSettings
from penstock.metrics.samples import QUANTILES, Sample

__all__ = ["OpenTelemetryReporter"]

_CUMULATIVE = 2


class OpenTelemetryReporter(MetricReporter):
    """One request per interval with all metrics."""

    def __init__(self, settings: ReporterSettings) -> None:
        super().__init__(settings)
        protocol = settings.get("exporter.protocol", default="HTTP")
        if protocol.upper() != "HTTP":
            raise NotSupportedError(
                f"{protocol} for OpenTelemetry", "metrics are sent as JSON over HTTP",
                where=settings.key("exporter.protocol"), do="use the collector's HTTP port, usually 4318",
            )  # fmt: skip
        self.url = _endpoint(settings)
        timeout = settings.get("exporter.timeout", "Duration")
        self._timeout_s = timeout.to_millis() / 1000 if timeout is not None else 10.0
        self._headers = settings.get("exporter.headers", "Map", {})
        self._started_ns = time.time_ns()

    def report(self, samples: Sequence[Sample]) -> None:
        """Sends the metrics to the collector, in one request."""
        body = json.dumps(self.request(samples, time.time_ns())).encode()
        send(self.url, "POST", body, {"Content-Type": "application/json", **self._headers}, self._timeout_s)

    def request(self, samples: Iterable[Sample], now_ns: int) -> dict[str, Any]:
        """The message; numbers of 64 bits are texts in OTLP's JSON."""
        metrics: dict[tuple[str, str], dict[str, Any]] = {}
        for sample in samples:
            point = self._point(sample, now_ns)
            if point is not None:
                form, extra, data = point
                name = ".".join(("flink", sample.logical_scope, sample.name))
                entry = metrics.setdefault((name, form), {"name": name, form: {"dataPoints": [], **extra}})
                entry[form]["dataPoints"].append(data)
        return {
            "resourceMetrics": [{"resource": self._resource(), "scopeMetrics": [_scoped(metrics.values())]}]
        }

    def _resource(self) -> dict[str, Any]:
        about = {"service.name": self.settings.get("service.name", default="penstock")}
        version = self.settings.get("service.version")
        return {"attributes": _attributes(about | ({"service.version": version} if version else {}))}

    def _point(self, sample: Sample, now_ns: int) -> tuple[str, dict[str, Any], dict[str, Any]] | None:
        numbers = sample.numbers()
        about = {
            "attributes": _attributes(self.settings.labels(sample)),
            "startTimeUnixNano": str(self._started_ns),
            "timeUnixNano": str(now_ns),
        }
        if sample.kind in ("histogram", "distribution"):
            return ("summary", {}, {**about, **_summary(numbers)}) if numbers else None
        number = numbers.get("rate" if sample.kind == "meter" else "")
        if number is None:
            return None
        point = {**about, **_number(number)}
        if sample.kind == "counter":
            return "sum", {"aggregationTemporality": _CUMULATIVE, "isMonotonic": False}, point
        return "gauge", {}, point


def _endpoint(settings: ReporterSettings) -> str:
    given = settings.get("exporter.endpoint")
    if not given:
        raise ValidationError(
            "OpenTelemetry's collector has no address",
            where=settings.key("exporter.endpoint"),
            do="set it, to http://localhost:4318, say",
        )
    url = http_url(given, settings.key("exporter.endpoint"))
    return url if url.endswith("/v1/metrics") else f"{url}/v1/metrics"


def _scoped(metrics: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return {"scope": {"name": "penstock"}, "metrics": list(metrics)}


def _attributes(values: dict[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]


def _number(number: float) -> dict[str, Any]:
    fits = isinstance(number, int) and -(2**63) <= number < 2**63
    return {"asInt": str(number)} if fits else {"asDouble": float(number)}


def _summary(numbers: dict[str, float]) -> dict[str, Any]:
    quantiles = {"min": 0.0, **QUANTILES, "max": 1.0}
    return {
        "count": str(int(numbers.get("count", 0))),
        "sum": numbers.get("sum", 0.0),
        "quantileValues": [
            {"quantile": q, "value": numbers[part]} for part, q in quantiles.items() if part in numbers
        ],
    }
