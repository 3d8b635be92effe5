"""Documents through the bulk API, from programs and tables, against a small server that speaks it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from penstock import common, datastream
from penstock.common.errors import ExternalSystemError, NotSupportedError, ValidationError
from penstock.connectors.delivery import DeliveryGuarantee
from penstock.connectors.elasticsearch.table import Elasticsearch7Connector
from penstock.datastream.connectors import elasticsearch
from penstock.datastream.connectors.elasticsearch import (
    Elasticsearch6SinkBuilder,
    Elasticsearch7SinkBuilder,
    ElasticsearchEmitter,
    FlushBackoffType,
)
from tests.connectors.declared import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, DeclaredTable
from tests.connectors.epochs import SinkLoop
from tests.connectors.pages import program, unnamed
from tests.runtime.in_process import run_in_process
from tests.servers.elasticsearch import ElasticsearchServer


@pytest.fixture
def server() -> Iterator[ElasticsearchServer]:
    server = ElasticsearchServer()
    yield server
    server.stop()


def declared(
    server: ElasticsearchServer, columns: str, key: list[str] | None = None, **more: str
) -> DeclaredTable:
    given = {name.replace("__", ".").replace("_", "-"): value for name, value in more.items()}
    options = {"connector": "elasticsearch-7", "hosts": server.url, "index": "orders", **given}
    return DeclaredTable(columns, options, key or [])


# --- tables


def test_rows_replace_each_other_by_key_and_are_deleted(server: ElasticsearchServer) -> None:
    table = declared(server, "id INT, item STRING, price DECIMAL(9, 2)", ["id"])
    table.write(
        [
            (1, "pen", Decimal("1.50")),
            (2, "ink", None),
            (1, "pen", Decimal("1.50")),
            (1, "nib", None),
            (2, "ink", None),
        ],
        [INSERT, INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE],
    )
    assert server.documents("orders") == {"1": {"id": 1, "item": "nib", "price": None}}
    table.write([(1, "nib", None), (7, "x", None)], [UPDATE_BEFORE, DELETE])  # no row after: it is gone
    assert server.documents("orders") == {}


def test_rows_without_a_key_are_documents_of_their_own(server: ElasticsearchServer) -> None:
    table = declared(server, "id INT", sink__bulk_flush__max_actions="10")
    table.write([(1,), (1,), (2,)])
    assert [d["id"] for d in server.documents("orders").values()] == [1, 1, 2]


def test_ids_are_the_values_of_the_key_as_java_shows_them(server: ElasticsearchServer) -> None:
    table = declared(
        server, "a BOOLEAN, b TIMESTAMP(3), c DECIMAL(5, 2)", ["a", "b", "c"], document_id__key_delimiter="$"
    )
    table.write([(True, dt.datetime(2024, 1, 2, 3, 4, 5), Decimal("1.50"))])
    assert list(server.documents("orders")) == ["true$2024-01-02T03:04:05$1.50"]


def test_the_index_may_depend_on_the_row(server: ElasticsearchServer) -> None:
    day = dt.datetime(2024, 2, 29, 1)
    declared(server, "id INT, shop STRING", ["id"], index="o-{shop}-x").write([(1, "a"), (2, "b")])
    declared(server, "id INT, ts TIMESTAMP(3)", ["id"], index="d-{ts|yyyyMMdd}").write([(1, day)])
    declared(server, "id INT", ["id"], index="n-{now()|yyyy-MM}").write([(1,)])
    assert sorted(server.indexes) == ["d-20240229", "n-1970-01", "o-a-x", "o-b-x"]
    with pytest.raises(ValidationError, match="'shop', which chooses the index, is NULL"):
        declared(server, "id INT, shop STRING", ["id"], index="o-{shop}").write([(1, None)])
    with pytest.raises(ValidationError, match="names a column that is not there"):
        declared(server, "id INT", index="o-{shop}").validated("sink")


def test_requests_are_as_large_as_the_options_say(server: ElasticsearchServer) -> None:
    declared(server, "id INT", ["id"], sink__bulk_flush__max_actions="7").write([(i,) for i in range(100)])
    assert max(server.requests) == 7 and sum(server.requests) == 100
    server.requests.clear()
    declared(server, "id INT", ["id"], sink__bulk_flush__max_size="1kb").write([(i,) for i in range(100)])
    assert max(server.requests) < 12 and sum(server.requests) == 100


def test_what_the_cluster_has_no_time_for_is_sent_again(server: ElasticsearchServer) -> None:
    retries = {"sink__bulk_flush__backoff__strategy": "CONSTANT", "sink__bulk_flush__backoff__delay": "1 ms"}
    table = declared(server, "id INT", ["id"], **retries)
    server.busy, server.broken = 5, 2
    table.write([(i,) for i in range(20)])
    assert len(server.documents("orders")) == 20
    server.busy = 1
    with pytest.raises(ExternalSystemError, match="1 requests were not accepted in 1 tries"):
        declared(server, "id INT", ["id"]).write([(1,)])  # DISABLED is the default, as in Flink


def test_a_document_that_the_index_refuses_fails_the_job_with_its_id(server: ElasticsearchServer) -> None:
    with pytest.raises(
        ExternalSystemError, match="index 'strict' refused to update document '7': 400 strict"
    ) as e:
        declared(server, "id INT, bad INT", ["id"], index="strict").write([(7, 1)])
    assert not e.value.retryable


def test_several_hosts_a_path_and_a_login(server: ElasticsearchServer) -> None:
    server.login = "ann:it's secret"
    login = {"username": "ann", "password": "it's secret", "connection__path_prefix": "/v1/"}
    declared(server, "id INT", ["id"], hosts=f"http://127.0.0.1:1;{server.url}", **login).write([(1,)])
    assert server.documents("orders") == {"1": {"id": 1}}
    with pytest.raises(ExternalSystemError, match="a bulk request was refused: 401") as error:
        declared(server, "id INT", ["id"]).write([(1,)])
    assert "check username and password" in str(error.value) and not error.value.retryable
    with pytest.raises(
        ExternalSystemError, match=r"not accepted in 1 tries: http://127.0.0.1:1 does not answer"
    ):
        declared(server, "id INT", ["id"], hosts="http://127.0.0.1:1").write([(1,)])


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"hosts": "localhost:9200"}, "'hosts' is 'localhost:9200'"),
        ({"username": "ann"}, "'username' and 'password' must be set at the same time"),
        ({"sink__bulk_flush__max_actions": "-1"}, "must not be less than 0"),
        ({"format": "csv"}, "supported values are json"),
        ({"bulk": "1"}, "has no option 'bulk'"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(server: Any, options: dict[str, str], what: str) -> None:
    with pytest.raises(ValidationError, match=what):
        declared(server, "id INT", **options).validated("sink")


def test_a_table_cannot_be_read_and_keys_must_be_texts(server: ElasticsearchServer) -> None:
    with pytest.raises(ValidationError, match="can only be used as a sink"):
        declared(server, "id INT").validated("source")
    with pytest.raises(ValidationError, match=r"'id' of type .* cannot be part of a document's id"):
        declared(server, "id BYTES", ["id"]).validated("sink")


# --- programs


def test_dicts_become_documents(server: ElasticsearchServer) -> None:
    builder = Elasticsearch7SinkBuilder().set_hosts([server.url.removeprefix("http://")])
    builder.set_bulk_flush_backoff_strategy(FlushBackoffType.EXPONENTIAL, 5, 1).set_bulk_flush_max_actions(1)
    server.busy = 2
    emitter = ElasticsearchEmitter.static_index("orders", "id")
    SinkLoop(builder.set_emitter(emitter).build()).run_epoch(
        [[{"id": 1, "v": Decimal("1.5")}, {"id": 1, "v": None}]]
    )
    assert server.documents("orders") == {"1": {"id": 1, "v": None}}
    dynamic = ElasticsearchEmitter.dynamic_index("to", "id", "doc")
    sink = Elasticsearch6SinkBuilder().set_hosts(server.url).set_emitter(dynamic).build()
    SinkLoop(sink).run_epoch([[{"id": "x", "to": "elsewhere"}]])
    assert list(server.documents("elsewhere")) == ["x"]
    with pytest.raises(ValidationError, match="a document has no 'to'"):
        SinkLoop(sink).run_epoch([[{"id": "x"}]])


def test_builders_refuse_what_is_missing_or_impossible(server: ElasticsearchServer) -> None:
    with pytest.raises(ValidationError, match="no host"):
        Elasticsearch7SinkBuilder().build()
    with pytest.raises(ValidationError, match="where documents go"):
        Elasticsearch7SinkBuilder().set_hosts(server.url).build()
    with pytest.raises(NotSupportedError, match="no transactions"):
        Elasticsearch7SinkBuilder().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)


# --- the page


def test_the_programs_of_the_page_run_and_every_option_is_named(
    server: ElasticsearchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_in_process(monkeypatch, None)
    exec(
        program("elasticsearch"),
        {"url": server.url, **vars(common), **vars(datastream), **vars(elasticsearch)},
    )
    assert server.documents("orders") == {"1": {"id": "1", "item": "nib"}, "2": {"id": "2", "item": "ink"}}
    assert unnamed("elasticsearch", [o.name for o in Elasticsearch7Connector.options]) == []
