"""Paths, status codes and bodies: what Flink 2.3's own gateway answered to the same requests."""

from __future__ import annotations

import pytest

from penstock import __version__
from penstock.gateway import GatewayService
from tests.gateway.client import GatewayUser

NOBODY = "00000000-0000-0000-0000-000000000000"


@pytest.mark.parametrize("prefix", ["", "/v1", "/v2", "/v3", "/v4"])
def test_every_version_says_who_it_is(gateway: GatewayUser, prefix: str) -> None:
    info = gateway.http.get(f"{prefix}/info")
    assert info.json() == {"productName": "Penstock", "version": __version__}
    assert info.headers["content-type"] == "application/json; charset=UTF-8"
    assert gateway.http.get(f"{prefix}/api_versions").json() == {"versions": ["V1", "V2", "V3", "V4"]}


def test_a_session_is_opened_used_and_closed(gateway: GatewayUser) -> None:
    session = gateway.open(**{"a.b": "c"})
    config = gateway.call("GET", f"/sessions/{session}")["properties"]
    assert config["a.b"] == "c"
    assert config["execution.runtime-mode"] == "STREAMING"
    assert gateway.call("POST", f"/sessions/{session}/heartbeat") == {}
    assert gateway.call("DELETE", f"/sessions/{session}") == {"status": "CLOSED"}
    text = gateway.call("GET", f"/sessions/{session}", 500)["errors"][1]
    assert f"Session '{session}' does not exist." in text


def test_a_session_needs_no_body_and_takes_numbers_as_texts(gateway: GatewayUser) -> None:
    assert gateway.call("POST", "/sessions")["sessionHandle"]
    handle = gateway.call("POST", "/sessions", body={"properties": {"a": 1, "b": True}, "more": []})[
        "sessionHandle"
    ]
    config = gateway.call("GET", f"/sessions/{handle}")["properties"]
    assert (config["a"], config["b"]) == ("1", "true")


@pytest.mark.parametrize(
    "content", ["{bad", "[]", '"x"', "[" * 100_000, '{"properties": [1]}', '{"sessionName": {}}']
)
def test_what_is_not_the_expected_object_is_a_bad_request(gateway: GatewayUser, content: str) -> None:
    errors = gateway.call("POST", "/sessions", 400, content=content)["errors"]
    assert errors == [
        "org.apache.flink.runtime.rest.handler.RestHandlerException: "
        "Request did not match expected format OpenSessionRequestBody."
    ]


@pytest.mark.parametrize(
    ("method", "path", "status", "said"),
    [
        ("GET", "/sessions/nonsense", 400, '(session_handle) from value "nonsense"'),
        ("GET", f"/sessions/{NOBODY}", 500, f"Session '{NOBODY}' does not exist."),
        ("DELETE", f"/sessions/{NOBODY}", 500, "does not exist"),
        ("POST", f"/sessions/{NOBODY}/heartbeat", 500, "does not exist"),
        ("POST", f"/sessions/{NOBODY}/statements", 500, "does not exist"),
        ("GET", "/sessions/{s}/operations/x/status", 400, '(operation_handle) from value "x"'),
        ("GET", f"/sessions/{{s}}/operations/{NOBODY}/status", 500, "Can not find the submitted operation"),
        ("POST", f"/sessions/{{s}}/operations/{NOBODY}/cancel", 500, "Can not find the submitted operation"),
        ("GET", f"/sessions/{{s}}/operations/{NOBODY}/result/0", 500, "Can not find the submitted operation"),
        ("GET", f"/sessions/{{s}}/operations/{NOBODY}/result/x", 400, '(token) from value "x"'),
        ("GET", f"/sessions/{{s}}/operations/{NOBODY}/result/0?rowFormat=XML", 400, '(rowFormat) from value "XML"'),
        ("GET", "/nothing", 404, "Not found: /v2/nothing"),
        ("PUT", "/sessions", 404, "Not found: /v2/sessions"),
        ("POST", "/sessions/{s}/scripts", 404, "Not found"),
    ],
)  # fmt: skip
def test_wrong_requests(gateway: GatewayUser, method: str, path: str, status: int, said: str) -> None:
    errors = gateway.call(method, path.replace("{s}", gateway.session), status)["errors"]
    assert said in "\n".join(errors)


def test_closing_an_operation_that_is_not_there_is_no_error(gateway: GatewayUser) -> None:
    assert gateway.call("DELETE", gateway.path(NOBODY, "/close")) == {"status": "CLOSED"}


def test_version_1_has_no_completion_and_no_row_format(gateway: GatewayUser) -> None:
    gateway.version = "v1"
    gateway.call("GET", f"/sessions/{gateway.session}/complete-statement", 404)
    page = gateway.first_page(gateway.submit("SHOW CATALOGS"), "PLAIN_TEXT")
    assert page["results"]["rowFormat"] == "JSON"
    assert page["nextResultUri"].endswith("/result/1")


def test_scripts_are_not_deployed_and_the_reason_is_given(gateway: GatewayUser) -> None:
    gateway.version = "v4"
    errors = gateway.call("POST", f"/sessions/{gateway.session}/scripts", 500, body={"script": "SELECT 1"})[
        "errors"
    ]
    assert "not supported: deploying a script" in errors[1]
    refresh = f"/sessions/{gateway.session}/materialized-tables/t/refresh"
    assert "no materialized tables" in gateway.call("POST", refresh, 500)["errors"][1]


def test_a_body_that_is_too_large_is_not_read() -> None:
    with GatewayUser(GatewayService({"rest.server.max-content-length": "100"}, lambda: None)) as user:
        errors = user.call("POST", "/sessions", 413, content=b"x" * 101)["errors"]
        assert "larger than 100 bytes" in errors[0]
        chunks = (b"x" * 60 for _ in range(2))  # without a length
        user.call("POST", "/sessions", 413, content=chunks)
        user.call("POST", "/sessions", content=b"{}")


def test_there_are_no_more_sessions_than_allowed() -> None:
    with GatewayUser(GatewayService({"sql-gateway.session.max-num": "1"}, lambda: None)) as user:
        user.open()
        text = user.call("POST", "/sessions", 500)["errors"][1]
        assert "the count of active sessions exceeds the max count: 1" in text


def test_a_value_that_means_nothing_is_refused_when_the_session_opens(gateway: GatewayUser) -> None:
    body = {"properties": {"parallelism.default": "many"}}
    assert "parallelism.default" in gateway.call("POST", "/sessions", 500, body=body)["errors"][1]


def test_who_brings_no_token_is_sent_away() -> None:
    with GatewayUser(GatewayService(prepare=lambda: None), token="s3cret") as user:
        assert "token" in user.call("GET", "/info", 401)["errors"][0]
        user.call("GET", "/info", 401, headers={"Authorization": "Bearer wrong"})
        user.call("GET", "/info", headers={"Authorization": "Bearer s3cret"})


def test_pages_of_other_sites_are_not_answered(gateway: GatewayUser) -> None:
    gateway.call("POST", "/sessions", 403, content="{}", headers={"Origin": "http://evil.example"})
    gateway.call("POST", "/sessions", content="{}", headers={"Origin": "http://testserver"})


def test_completion_knows_the_session_s_tables(gateway: GatewayUser) -> None:
    gateway.run("CREATE TABLE orders (id INT, price DOUBLE) WITH ('connector' = 'datagen')")
    path = f"/sessions/{gateway.session}/complete-statement"
    found = gateway.call("GET", path, body={"statement": "SELECT * FROM or", "position": 16})
    assert found == {"candidates": ["orders"]}
    found = gateway.call("GET", path, body={"statement": "SELECT pr FROM orders", "position": 9})
    assert found["candidates"][0] == "price"


def test_a_session_is_configured_by_statements_that_set_it_up(gateway: GatewayUser) -> None:
    path = f"/sessions/{gateway.session}/configure-session"
    assert gateway.call("POST", path, body={"statement": "SET 'x.y' = 'z'"}) == {}
    assert gateway.call("POST", path, body={"statement": "CREATE VIEW v AS SELECT 1"}) == {}
    assert gateway.call("GET", f"/sessions/{gateway.session}")["properties"]["x.y"] == "z"
    assert gateway.rows("SHOW VIEWS") == [["v"]]
    text = gateway.call("POST", path, 500, body={"statement": "SELECT 1"})["errors"][1]
    assert "Unsupported statement for configuring session: SELECT 1" in text
    assert (
        "beginning of a statement"
        in gateway.call("POST", path, 500, body={"statement": "SELCT"})["errors"][1]
    )


def test_a_statement_cannot_be_given_a_time_limit(gateway: GatewayUser) -> None:
    body = {"statement": "SHOW TABLES", "executionTimeout": 5}
    text = gateway.call("POST", f"/sessions/{gateway.session}/statements", 500, body=body)["errors"][1]
    assert "not supported: executionTimeout" in text
