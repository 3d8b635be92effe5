"""Formats with a schema registry, over a server that answers the documented calls."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from penstock.common.errors import ExternalSystemError, MalformedRecordError, ValidationError
from tests.connectors.kafka.kafka_tables import Table, kafka_options
from tests.servers.kafka import KafkaServer


class Registry(ThreadingHTTPServer):
    """Schemas in memory; wants a user's name and password, and refuses a schema without a field `a`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.schemas: list[str] = []
        self.subjects: dict[str, list[int]] = {}
        self.asked = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Registry

    def log_message(self, *args: Any) -> None:
        pass

    def _answer(self, code: int, body: Any) -> None:
        self.send_response(code)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def _allowed(self) -> bool:
        self.server.asked += 1
        expected = "Basic " + base64.b64encode(b"ada:secret").decode()
        if self.headers["Authorization"] != expected:
            self._answer(401, {"error_code": 401, "message": "Unauthorized"})
            return False
        return True

    def do_GET(self) -> None:
        number = int(self.path.rpartition("/")[2])
        if self._allowed():
            known = 0 < number <= len(self.server.schemas)
            body = {"schema": self.server.schemas[number - 1]} if known else {"error_code": 40403}
            self._answer(200 if known else 404, body)

    def do_POST(self) -> None:
        schema = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["schema"]
        if not self._allowed():
            return
        if "bad" in self.path:
            self._answer(409, {"error_code": 409, "message": "incompatible"})
            return
        if schema not in self.server.schemas:
            self.server.schemas.append(schema)
        number = self.server.schemas.index(schema) + 1
        self.server.subjects.setdefault(self.path.split("/")[2], []).append(number)
        self._answer(200, {"id": number})


@pytest.fixture
def registry() -> Iterator[Registry]:
    server = Registry()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()


def options(
    kafka: KafkaServer, topic: str, registry: Registry, name: str = "avro-confluent"
) -> dict[str, str]:
    given = {f"{name}.url": registry.url, f"{name}.basic-auth.user-info": "ada:secret"}
    return {**kafka_options(kafka, topic, format=name), **given}


def test_rows_are_written_and_read_and_the_schema_is_asked_for_once(
    kafka: KafkaServer, registry: Registry
) -> None:
    topic = kafka.create("registry-rows")
    table = Table("a INT, b STRING", options(kafka, topic, registry))
    table.write((1, "x"), (2, None))
    assert registry.subjects == {f"{topic}-value": [1]}
    assert kafka.read(topic)[0].value()[:5] == b"\0\0\0\0\1"
    registry.asked = 0
    assert table.read() == [(1, "x"), (2, None)]
    assert registry.asked == 1


def test_tables_of_other_columns_read_what_was_written(kafka: KafkaServer, registry: Registry) -> None:
    topic = kafka.create("registry-evolution")
    Table("a INT, b STRING", options(kafka, topic, registry)).write((1, "x"))
    Table("a BIGINT, c DOUBLE", options(kafka, topic, registry)).write((2, 0.5))
    wider = Table("c DOUBLE, a BIGINT", options(kafka, topic, registry))
    assert wider.read() == [(None, 1), (0.5, 2)]


def test_changes(kafka: KafkaServer, registry: Registry) -> None:
    topic = kafka.create("registry-changes")
    table = Table("a INT", options(kafka, topic, registry, "debezium-avro-confluent"))
    table.write((1,), (1,), (2,), kinds=[0, 1, 2])
    assert table.read() == [(1, 0), (1, 3), (2, 0)]


def test_keys_have_a_subject_of_their_own(kafka: KafkaServer, registry: Registry) -> None:
    topic = kafka.create("registry-keys")
    given = kafka_options(kafka, topic, key__format="avro-confluent", value__format="json", key__fields="a")
    given["key.avro-confluent.url"] = registry.url
    given["key.avro-confluent.basic-auth.user-info"] = "ada:secret"
    table = Table("a INT, b STRING", given)
    table.write((1, "x"))
    assert registry.subjects == {f"{topic}-key": [1]}
    assert table.read() == [(1, "x")]


def test_what_the_registry_refuses_is_said(kafka: KafkaServer, registry: Registry) -> None:
    topic = kafka.create("registry-refused")
    given = options(kafka, topic, registry)
    with pytest.raises(ExternalSystemError, match="401") as caught:
        Table("a INT", {**given, "avro-confluent.basic-auth.user-info": "ada:wrong"}).write((1,))
    assert not caught.value.retryable
    with pytest.raises(ExternalSystemError, match="409") as caught:
        Table("a INT", {**given, "avro-confluent.subject": "bad"}).write((1,))
    assert "compatib" in str(caught.value)
    with pytest.raises(ExternalSystemError, match="does not answer") as caught:
        Table("a INT", {**given, "avro-confluent.url": "http://127.0.0.1:1"}).write((1,))
    assert caught.value.retryable
    kafka.send(topic, [b"no avro"])
    with pytest.raises(MalformedRecordError, match="does not begin with a zero byte"):
        Table("a INT", given).read()
    with pytest.raises(ValidationError, match=r"'avro-confluent\.url' is missing"):
        Table("a INT", kafka_options(kafka, topic, format="avro-confluent")).read()


def test_files_are_not_messages() -> None:
    with pytest.raises(ValidationError, match="one for messages"):
        Table("a INT", {"connector": "filesystem", "path": "/tmp/x", "format": "avro-confluent"})
