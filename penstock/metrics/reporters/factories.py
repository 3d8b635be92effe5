"""Which reporter a `factory.class` means: Flink's class names, and short ones.

What exists in Flink and not here is refused with the reason, before a job starts.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.common.near_names import did_you_mean
from penstock.metrics.reporters.json_lines import JsonLinesReporter
from penstock.metrics.reporters.otel import OpenTelemetryReporter
from penstock.metrics.reporters.prometheus import PrometheusReporter
from penstock.metrics.reporters.push_gateway import PushGatewayReporter
from penstock.metrics.reporters.reporter import MetricReporter
from penstock.metrics.reporters.settings import ReporterSettings
from penstock.metrics.reporters.statsd import StatsDReporter

__all__ = ["is_factory", "make_reporter"]

_FLINK = "org.apache.flink.metrics."
_FACTORIES: dict[str, Callable[[ReporterSettings], MetricReporter]] = {
    "prom": PrometheusReporter,
    f"{_FLINK}prometheus.PrometheusReporterFactory": PrometheusReporter,
    "promgateway": PushGatewayReporter,
    f"{_FLINK}prometheus.PrometheusPushGatewayReporterFactory": PushGatewayReporter,
    "jsonlines": JsonLinesReporter,
    "slf4j": JsonLinesReporter,
    f"{_FLINK}slf4j.Slf4jReporterFactory": JsonLinesReporter,
    "statsd": StatsDReporter,
    f"{_FLINK}statsd.StatsDReporterFactory": StatsDReporter,
    "otel": OpenTelemetryReporter,
    f"{_FLINK}otel.OpenTelemetryMetricReporterFactory": OpenTelemetryReporter,
}
_REFUSED = {
    "jmx": ("the driver is a Python process, and JMX is an interface of JVMs", "prom"),
    f"{_FLINK}jmx.JMXReporterFactory": (
        "the driver is a Python process, and JMX is an interface of JVMs",
        "prom",
    ),
    f"{_FLINK}graphite.GraphiteReporterFactory": ("nobody has written it here", "statsd or otel"),
    f"{_FLINK}influxdb.InfluxdbReporterFactory": ("nobody has written it here", "otel, which InfluxDB takes"),
    f"{_FLINK}datadog.DatadogHttpReporterFactory": (
        "nobody has written it here",
        "otel or statsd, which Datadog's agent takes",
    ),
}


def is_factory(name: str) -> bool:
    """Whether a reporter can be named by this alone."""
    return name in _FACTORIES or name in _REFUSED


def make_reporter(settings: ReporterSettings) -> MetricReporter:
    """The reporter that the settings describe, not yet open.

    Raises:
        NotSupportedError: Flink has such a reporter, and here it does not exist.
        ValidationError: Nobody has.
    """
    factory = settings.factory
    if factory in _REFUSED:
        because, instead = _REFUSED[factory]
        raise NotSupportedError(
            f"the metric reporter {factory}",
            because,
            where=settings.key("factory.class"),
            do=f"use {instead}",
        )
    if factory not in _FACTORIES:
        raise ValidationError(
            f"no metric reporter '{factory}' is known",
            where=settings.key("factory.class"),
            do=did_you_mean(factory, _FACTORIES) or f"known are {', '.join(_FACTORIES)}",
        )
    return _FACTORIES[factory](settings)
