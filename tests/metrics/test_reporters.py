"""What reporters send, seen by whoever receives it."""

from __future__ import annotations

import contextlib
import http.server
import json
import logging
import pathlib
import socket
import threading
import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.metrics.registry import MetricRegistry
from penstock.metrics.reporters import ReporterGroup
from penstock.metrics.reporters.otel import OpenTelemetryReporter
from penstock.metrics.reporters.prometheus import PrometheusReporter
from penstock.metrics.reporters.prometheus_text import exposition
from penstock.metrics.reporters.push_gateway import PushGatewayReporter
from penstock.metrics.reporters.settings import ReporterSettings
from penstock.metrics.samples import Sample, counter, gauge, histogram, meter
from penstock.metrics.scope import Scope

FLINK = "org.apache.flink.metrics"
JOB = Scope("jm-job", {"host": "h", "job_id": "ab", "job_name": 'my "job"\n1'})
TASK = Scope(
    "task", {"host": "h", "tm_id": "t", "job_name": "j", "task_name": "Map -> Sink", "subtask_index": "0"}
)
IN_GROUPS = {"groups": ("source", "a-b"), "name": "latency"}
"""What a group of metrics says of a metric beside its values."""
SAMPLES = [
    Sample(JOB, "numRestarts", counter(2)),
    Sample(JOB, "lastCheckpointExternalPath", gauge("/chk/1")),
    Sample(TASK, "numRecordsIn", counter(7)),
    Sample(TASK, "numRecordsInPerSecond", meter(7, 0.5)),
    Sample(TASK, "currentInputWatermark", gauge(-5)),
    Sample(TASK, "latency", {**histogram([1, 2, 3]), **IN_GROUPS}, groups=("source", "a-b")),
]


def registry() -> MetricRegistry:
    found = MetricRegistry()
    found.add("job", lambda: SAMPLES)
    return found


@contextlib.contextmanager
def running(settings: dict[str, str]) -> Iterator[ReporterGroup]:
    group = ReporterGroup(settings, registry())
    group.start()
    try:
        yield group
    finally:
        group.stop()


class Receiver:
    """An HTTP server that remembers what it was sent."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, bytes]] = []
        self.came = threading.Condition()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def _take(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                with outer.came:
                    outer.requests.append((self.command, self.path, body))
                    outer.came.notify_all()
                self.send_response(202)
                self.end_headers()

            do_PUT = do_POST = do_DELETE = _take

            def log_message(self, *args: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def wait_for(self, method: str) -> tuple[str, str, bytes]:
        with self.came:
            assert self.came.wait_for(lambda: any(r[0] == method for r in self.requests), 30), self.requests
        return next(r for r in self.requests if r[0] == method)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.close()


def test_prometheuss_parser_reads_every_number_with_its_labels() -> None:
    text = exposition(SAMPLES, ReporterSettings("prom", {}))
    found = {s.name: s for family in text_string_to_metric_families(text) for s in family.samples}
    assert found["flink_jobmanager_job_numRestarts"].value == 2
    assert found["flink_jobmanager_job_numRestarts"].labels["job_name"] == "my__job__1"
    assert found["flink_taskmanager_job_task_numRecordsInPerSecond"].value == 0.5
    assert found["flink_taskmanager_job_task_currentInputWatermark"].value == -5
    assert found["flink_taskmanager_job_task_source_a_b_latency_count"].value == 3
    assert "flink_jobmanager_job_lastCheckpointExternalPath" not in found


def test_labels_keep_their_characters_if_the_option_says_so() -> None:
    text = exposition(SAMPLES, ReporterSettings("prom", {"filterLabelValueCharacters": "false"}))
    found = [s for family in text_string_to_metric_families(text) for s in family.samples]
    assert next(s for s in found if s.name.endswith("numRestarts")).labels["job_name"] == 'my "job"\n1'


def test_variables_can_be_left_out_and_added() -> None:
    settings = ReporterSettings(
        "prom", {"scope.variables.excludes": "job_id;<host>", "scope.variables.additional": "region:eu"}
    )
    assert settings.labels(SAMPLES[0]) == {"job_name": 'my "job"\n1', "region": "eu"}


def test_prometheus_asks_over_http_and_the_port_is_free_afterwards() -> None:
    with running({"metrics.reporter.prom.factory.class": "prom", "metrics.reporter.prom.port": "0"}) as group:
        (reporter,) = group.reporters
        assert isinstance(reporter, PrometheusReporter)
        port = reporter.port
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert b"flink_jobmanager_job_numRestarts" in answer.read()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_the_next_port_of_a_range_is_taken_if_one_is_in_use() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        first = taken.getsockname()[1]
        settings = {"metrics.reporter.prom.port": f"{first}-{min(first + 20, 65535)}"}
        with running({"metrics.reporters": "prom", **settings}) as group:
            assert isinstance(group.reporters[0], PrometheusReporter)
            assert group.reporters[0].port > first


def test_metrics_are_put_to_the_push_gateway_and_deleted_at_the_end(receiver: Receiver) -> None:
    settings = {
        "metrics.reporter.p.factory.class": f"{FLINK}.prometheus.PrometheusPushGatewayReporterFactory",
        "metrics.reporter.p.hostUrl": receiver.url,
        "metrics.reporter.p.jobName": "my/job",
        "metrics.reporter.p.randomJobNameSuffix": "false",
        "metrics.reporter.p.groupingKey": "env=test",
        "metrics.reporter.p.interval": "1 ms",
    }  # fmt: skip
    with running(settings):
        _, path, body = receiver.wait_for("PUT")
    assert path == "/metrics/job/my%2Fjob/env/test"
    assert list(text_string_to_metric_families(body.decode()))
    assert receiver.requests[-1][:2] == ("DELETE", path)


def test_lines_of_json_have_name_value_and_labels(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "new" / "metrics.jsonl"
    settings = {
        "metrics.reporter.j.factory.class": "jsonlines",
        "metrics.reporter.j.path": str(path),
        "metrics.reporter.j.filter.includes": "*:numRestarts,latency",
    }
    with running(settings):
        pass  # the last report is made when it stops
    first, second = (json.loads(line) for line in path.read_text().splitlines())
    assert (first["name"], first["type"], first["count"]) == (
        'h.jobmanager.my "job"\n1.numRestarts',
        "counter",
        2,
    )
    assert first["labels"]["job_id"] == "ab"
    assert (second["name"], second["type"], second["p50"]) == (
        "h.taskmanager.t.j.Map -> Sink.0.source.a-b.latency",
        "histogram",
        2,
    )
    assert "groups" not in second


def test_statsd_gets_gauges_and_a_negative_one_begins_at_zero() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(30)
        settings = {
            "metrics.reporter.s.factory.class": "statsd",
            "metrics.reporter.s.host": "127.0.0.1",
            "metrics.reporter.s.port": str(server.getsockname()[1]),
            "metrics.reporter.s.filter.excludes": "*:latency",
        }
        with running(settings):
            pass
        lines = server.recv(65536).decode().split("\n")
    name = "h.taskmanager.t.j.Map -> Sink.0"
    assert f"{name}.numRecordsIn:7|g" in lines
    assert f"{name}.numRecordsInPerSecond.rate:0.5|g" in lines
    at = lines.index(f"{name}.currentInputWatermark:0|g")
    assert lines[at + 1] == f"{name}.currentInputWatermark:-5|g"


def test_opentelemetry_gets_sums_gauges_and_summaries(receiver: Receiver) -> None:
    settings = {
        "metrics.reporter.o.factory.class": "otel",
        "metrics.reporter.o.exporter.endpoint": receiver.url,
        "metrics.reporter.o.service.name": "orders",
    }
    with running(settings):
        pass
    method, path, body = receiver.requests[0]
    assert (method, path) == ("POST", "/v1/metrics")
    resource = json.loads(body)["resourceMetrics"][0]
    assert resource["resource"]["attributes"] == [{"key": "service.name", "value": {"stringValue": "orders"}}]
    metrics = {m["name"]: m for m in resource["scopeMetrics"][0]["metrics"]}
    restarts = metrics["flink.jobmanager.job.numRestarts"]["sum"]
    assert (restarts["isMonotonic"], restarts["dataPoints"][0]["asInt"]) == (False, "2")
    assert (
        metrics["flink.taskmanager.job.task.numRecordsInPerSecond"]["gauge"]["dataPoints"][0]["asDouble"]
        == 0.5
    )
    summary = metrics["flink.taskmanager.job.task.source.a-b.latency"]["summary"]["dataPoints"][0]
    assert (summary["count"], summary["quantileValues"][0]) == ("3", {"quantile": 0.0, "value": 1})


def test_a_receiver_that_is_away_is_told_once_and_disturbs_nobody(caplog: pytest.LogCaptureFixture) -> None:
    settings = {
        "metrics.reporter.p.factory.class": "promgateway",
        "metrics.reporter.p.hostUrl": "http://user:secret@127.0.0.1:9",
        "metrics.reporter.p.interval": "1 ms",
    }
    asked = threading.Semaphore(0)
    found = MetricRegistry()
    found.add("job", lambda: asked.release() or SAMPLES)  # type: ignore[func-returns-value]
    with caplog.at_level(logging.WARNING):
        group = ReporterGroup(settings, found)
        group.start()
        for _ in range(5):
            assert asked.acquire(timeout=30)
        group.stop()
    told = [r.getMessage() for r in caplog.records if "metric reporter 'p'" in r.getMessage()]
    assert len(told) == 1, told
    assert "cannot be sent" in told[0] and "secret" not in told[0]


def test_a_source_of_metrics_that_fails_does_not_hide_the_others(caplog: pytest.LogCaptureFixture) -> None:
    found = registry()
    found.add("broken", lambda: 1 // 0)  # type: ignore[arg-type, return-value]
    assert found.collect() == SAMPLES
    assert "the metrics of broken cannot be read" in caplog.text


@pytest.mark.parametrize("factory", ["jmx", "org.apache.flink.metrics.jmx.JMXReporterFactory"])
def test_jmx_is_refused_with_the_reason(factory: str) -> None:
    with pytest.raises(NotSupportedError, match="because the driver is a Python process"):
        ReporterGroup({"metrics.reporter.my.factory.class": factory}, registry())


def test_an_unknown_factory_is_refused_with_the_nearest() -> None:
    with pytest.raises(ValidationError, match="did you mean `statsd`"):
        ReporterGroup({"metrics.reporter.my.factory.class": "statd"}, registry())


def test_a_reporter_that_nothing_is_said_about_is_refused() -> None:
    with pytest.raises(ValidationError, match="names 'foo', and nothing says what that is"):
        ReporterGroup({"metrics.reporters": "foo"}, registry())


def test_only_the_listed_reporters_run() -> None:
    settings = {"metrics.reporters": "statsd", "metrics.reporter.prom.factory.class": "prom"}
    assert [r.settings.name for r in ReporterGroup(settings, registry()).reporters] == ["statsd"]


@pytest.mark.parametrize(
    ("reporter", "options", "told"),
    [
        (PrometheusReporter, {"port": "12x"}, "'12x' is no port"),
        (PushGatewayReporter, {}, "the push gateway has no address"),
        (PushGatewayReporter, {"hostUrl": "ftp://x"}, "no address of HTTP"),
        (PushGatewayReporter, {"hostUrl": "http://x", "groupingKey": "a"}, "'a' is no label"),
        (OpenTelemetryReporter, {}, "collector has no address"),
        (OpenTelemetryReporter, {"exporter.protocol": "gRPC"}, "not supported: gRPC"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_right_are_refused(
    reporter: type, options: dict[str, str], told: str
) -> None:
    with pytest.raises((ValidationError, NotSupportedError), match=told):
        reporter(ReporterSettings("r", options))
