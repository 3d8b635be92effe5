"""Services over HTTP: rows and elements are sent, keys are looked up, against a small service."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from typing import Any

import pytest

from penstock import common, datastream
from penstock.common import SimpleStringSchema
from penstock.common.errors import (
    ExternalSystemError,
    MalformedRecordError,
    NotSupportedError,
    ValidationError,
)
from penstock.connectors.http.table import HttpConnector
from penstock.datastream.connectors import http
from penstock.datastream.connectors.http import AsyncSinkSettings, HttpSink
from penstock.table import EnvironmentSettings, TableEnvironment
from tests.connectors.declared import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, DeclaredTable
from tests.connectors.epochs import SinkLoop
from tests.connectors.pages import program, unnamed
from tests.connectors.scripted import in_this_process, play
from tests.runtime.in_process import run_in_process
from tests.servers.http_service import Call, HttpService

QUICK = {"sink.retry-delay": "1 ms", "lookup.retry-delay": "1 ms"}


@pytest.fixture
def service() -> Iterator[HttpService]:
    service = HttpService()
    yield service
    service.stop()


def declared(
    service: HttpService, columns: str, path: str = "", key: list[str] | None = None, **more: str
) -> DeclaredTable:
    given = {name.replace("__", ".").replace("_", "-"): value for name, value in more.items()}
    options = {"connector": "http", "url": service.url + path, **QUICK, **given}
    return DeclaredTable(columns, options, key or [])


def bodies(service: HttpService) -> list[Any]:
    return [json.loads(call.body) for call in service.calls]


# --- the sink


def test_each_row_is_a_request(service: HttpService) -> None:
    table = declared(service, "id INT, item STRING", "/orders", headers__X_Shop="pens", insert_method="put")
    table.write([(1, "pen"), (2, None)])
    assert sorted(bodies(service), key=str) == [{"id": 1, "item": "pen"}, {"id": 2, "item": None}]
    assert {(c.method, c.path) for c in service.calls} == {("PUT", "/orders")}
    call = service.calls[0]
    assert call.headers["Content-Type"] == "application/json" and call.headers["X-Shop"] == "pens"


def test_rows_of_a_batch_are_an_array_or_lines(service: HttpService) -> None:
    batch = {"sink__request_mode": "batch", "sink__batch__max_size": "2", "sink__requests__max_inflight": "1"}
    declared(service, "id INT", **batch).write([(1,), (2,), (3,)])
    assert [json.loads(c.body) for c in service.calls] == [[{"id": 1}, {"id": 2}], [{"id": 3}]]
    service.calls.clear()
    declared(service, "id INT, v STRING", format="csv", **batch).write([(1, "a"), (2, "b")])
    assert [c.body for c in service.calls] == [b"1,a\n2,b\n"]
    with pytest.raises(ValidationError, match="cannot be used with a PRIMARY KEY"):
        declared(service, "id INT", key=["id"], **batch).validated("sink")


def test_rows_with_a_key_are_put_in_order_and_deleted(service: HttpService) -> None:
    table = declared(service, "id INT, v STRING", "/t/{id}", ["id"], insert_method="PUT")
    table.write(
        [(1, "a"), (2, "b"), (1, "a"), (1, "c"), (2, "b"), (3, "x/y")],
        [INSERT, INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE, INSERT],
    )
    by_path: dict[str, list[str]] = {}
    for call in service.calls:
        by_path.setdefault(call.path, []).append(call.method)
    assert by_path == {"/t/1": ["PUT", "PUT"], "/t/2": ["PUT", "DELETE"], "/t/3": ["PUT"]}
    service.answer = lambda call: (404, b"")
    table.write([(9, "?")], [DELETE])  # what is not there cannot be deleted, and need not


def test_a_service_without_time_is_asked_again_and_nothing_accepted_is_sent_twice(
    service: HttpService,
) -> None:
    seen: dict[bytes, int] = {}

    def answer(call: Call) -> tuple[int, bytes]:
        seen[call.body] = seen.get(call.body, 0) + 1
        return (503, b"busy") if seen[call.body] < 3 and b"1" in call.body else (200, b"")

    service.answer = answer
    declared(service, "id INT").write([(i,) for i in range(1, 4)])
    assert seen == {b'{"id":1}': 3, b'{"id":2}': 1, b'{"id":3}': 1}
    service.answer = lambda call: (429, b"slow down")
    with pytest.raises(
        ExternalSystemError, match=r"not accepted in 2 tries: http://.* says 429 .*: slow down"
    ):
        declared(service, "id INT", sink__max_retries="1").write([(1,)])


def test_connections_that_the_service_closes_are_made_anew(service: HttpService) -> None:
    service.closes = True
    declared(service, "id INT", sink__max_retries="0").write([(i,) for i in range(20)])
    assert len(service.calls) == 20


@pytest.mark.parametrize("status", [400, 401, 422])
def test_a_request_that_is_refused_fails_the_job(service: HttpService, status: int) -> None:
    service.answer = lambda call: (status, b"no such thing")
    with pytest.raises(ExternalSystemError, match=f"POST was refused: {status} .*no such thing") as error:
        declared(service, "id INT").write([(1,)])
    assert not error.value.retryable and len(service.calls) == 1


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"url": "ftp://x"}, "'url' is 'ftp://x'"),
        ({"url": "http://x/{y}"}, "names 'y', which is not there"),
        ({"format": "debezium-json"}, "is one of changes"),
        ({"format": "parquet"}, "is one for files"),
        ({"username": "a"}, "must be set at the same time"),
        ({"insert-method": "GET"}, "supported values are POST, PUT, PATCH"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(options: dict[str, str], what: str) -> None:
    given = {"connector": "http", "url": "http://x/", **options}
    with pytest.raises(ValidationError, match=what):
        DeclaredTable("id INT", given).validated("sink")


def test_elements_of_programs_are_bodies(service: HttpService) -> None:
    sink = (
        HttpSink.builder().set_url(f"{service.url}/in").set_value_serialization_schema(SimpleStringSchema())
        .set_header("X-A", "b").set_login("ann", "x").set_content_type("text/plain")
        .set_settings(AsyncSinkSettings(max_in_flight_requests=1)).build()
    )  # fmt: skip
    SinkLoop(sink, parallelism=2).run_epoch([["a", "b"], ["c"]])
    assert sorted(c.body for c in service.calls) == [b"a", b"b", b"c"]
    headers = service.calls[0].headers
    assert headers["Authorization"] == "Basic YW5uOng=" and headers["Content-Type"] == "text/plain"
    with pytest.raises(ValidationError, match="no address"):
        HttpSink.builder().build()


# --- the lookup


def shop(call: Call) -> tuple[int, bytes]:
    found = {
        "/items?id=1": b'{"name": "pen", "at": "2024-01-01 10:00:00Z"}',
        "/items?id=2": b'[{"name": "ink"}, {"id": 2, "name": "nib"}]',
        "/items/1/a%20b": b'{"name": "path"}',
        "/post": b'{"id": 7, "name": "posted"}',
        "/items?id=4": b"",
    }
    if call.path == "/items?id=5":
        return 204, b""
    return (200, found[call.path]) if call.path in found else (404, b"not here")


def test_keys_are_looked_up_in_the_query_the_path_or_the_body(service: HttpService) -> None:
    service.answer = shop
    table = declared(service, "id INT, name STRING, at TIMESTAMP_LTZ(3)", "/items")
    found = table.lookup(["id"], (1,), (2,), (3,), (4,), (5,))
    moment = dt.datetime(2024, 1, 1, 10)
    assert found == [[(1, "pen", moment)], [(2, "ink", None), (2, "nib", None)], [], [], []]
    path = declared(service, "id INT, name STRING, kind STRING", "/items/{id}/{kind}")
    assert path.lookup(["id", "kind"], (1, "a b")) == [[(1, "path", "a b")]]
    post = declared(service, "id INT, name STRING", "/post", lookup__method="POST")
    assert post.lookup(["id"], (7,)) == [[(7, "posted")]]
    assert json.loads(service.calls[-1].body) == {"id": 7}


def test_a_lookup_waits_for_a_service_without_time_and_says_what_is_wrong(service: HttpService) -> None:
    left = [2]

    def busy(call: Call) -> tuple[int, bytes]:
        left[0] -= 1
        return (503, b"") if left[0] >= 0 else (200, b'{"name": "x"}')

    service.answer = busy
    table = declared(service, "id INT, name STRING")
    assert table.lookup(["id"], (1,)) == [[(1, "x")]]
    service.answer = lambda call: (403, b"go away")
    with pytest.raises(ExternalSystemError, match="a lookup was refused: 403"):
        table.lookup(["id"], (1,))
    service.answer = lambda call: (200, b"no json")
    with pytest.raises(MalformedRecordError, match="json record cannot be read"):
        table.lookup(["id"], (1,))
    away = declared(service, "id INT, name STRING", url="http://127.0.0.1:1", lookup__max_retries="1")
    with pytest.raises(ExternalSystemError, match=r"cannot be looked up: http://127.0.0.1:1 does not answer"):
        away.lookup(["id"], (1,))


def test_a_join_asks_for_the_keys_of_its_rows(service: HttpService) -> None:
    service.answer = shop
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    play("http_orders", [[(1, 1), (2, 2), (3, 3)]])
    env.execute_sql(
        "CREATE TABLE orders (n INT, item INT, pt AS PROCTIME()) "
        "WITH ('connector' = 'scripted', 'script' = 'http_orders')"
    )
    env.execute_sql(
        f"CREATE TABLE items (id INT, name STRING) WITH ('connector' = 'http', 'url' = '{service.url}/items')"
    )
    with in_this_process():
        rows = env.execute_sql(
            "SELECT n, name FROM orders LEFT JOIN items FOR SYSTEM_TIME AS OF orders.pt ON items.id = orders.item"
        ).collect()
        assert sorted(tuple(row) for row in rows) == [(1, "pen"), (2, "ink"), (2, "nib"), (3, None)]


def test_a_service_cannot_be_read_as_a_whole(service: HttpService) -> None:
    table = declared(service, "id INT")
    with pytest.raises(NotSupportedError, match="asked for the rows of a key"):
        table.connector.source(table.table)
    with pytest.raises(ValidationError, match="the join has no value for 'id'"):
        named = declared(service, "id INT, v INT", "/{id}")
        named.connector.lookup_source(named.table, [1])


# --- the page


def test_the_program_of_the_page_runs_and_every_option_is_named(
    service: HttpService, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_in_process(monkeypatch, None)
    exec(program("http"), {"url": service.url, **vars(common), **vars(datastream), **vars(http)})
    assert sorted(c.body for c in service.calls) == [b"ink", b"pen"]
    assert unnamed("http", [o.name for o in HttpConnector.options]) == []
