"""Where metrics go: one file per system, `settings.py` for the configuration, `running.py` for their threads.

metrics.reporters: prom, lines
metrics.reporter.prom.factory.class: org.apache.flink.metrics.prometheus.PrometheusReporterFactory
metrics.reporter.prom.port: 9249
metrics.reporter.lines.factory.class: jsonlines
metrics.reporter.lines.path: /var/log/penstock/metrics.jsonl
metrics.reporter.lines.interval: 30 s
"""

from penstock.metrics.reporters.reporter import MetricReporter
from penstock.metrics.reporters.running import ReporterGroup
from penstock.metrics.reporters.settings import ReporterSettings, reporter_settings

__all__ = ["MetricReporter", "ReporterGroup", "ReporterSettings", "reporter_settings"]
