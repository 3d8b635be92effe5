"""Who gets in, and what is tried by those who should not."""

from __future__ import annotations

import os
import pathlib
import socket
import ssl
from typing import Any

import httpx
import pytest

from penstock.common.configuration import Configuration
from penstock.common.errors import ValidationError
from penstock.common.options import option
from penstock.common.secrets import masked
from penstock.rest.security import make_guard
from penstock.rest.server import JobServer, make_context
from penstock.runtime.running_job import RunningJob
from tests.servers.certificates import make_certificate

PATCH = {"mode": "cancel"}


def server_with(**settings: str) -> JobServer:
    return JobServer(make_context(Configuration.from_dict({"rest.port": "0", **settings})))


def token_file(folder: pathlib.Path, text: str = "0123456789abcdef0123", mode: int = 0o600) -> str:
    path = folder / "token"
    path.write_text(text + "\n")
    os.chmod(path, mode)
    return str(path)


def test_another_address_needs_a_token_or_client_certificates() -> None:
    with pytest.raises(ValidationError, match=r"will not listen on 0\.0\.0\.0") as told:
        server_with(**{"rest.bind-address": "0.0.0.0"}).start()
    assert "penstock.rest.token-file" in str(told.value)


@pytest.mark.parametrize(
    ("text", "mode", "problem"),
    [("short", 0o600, "can be guessed"), ("0123456789abcdef0123", 0o644, "others on this machine")],
)
def test_a_weak_token_is_refused(tmp_path: pathlib.Path, text: str, mode: int, problem: str) -> None:
    path = token_file(tmp_path, text, mode)
    with pytest.raises(ValidationError, match=problem):
        server_with(**{"penstock.rest.token-file": path}).start()


def test_a_server_with_a_token_answers_those_who_have_it(tmp_path: pathlib.Path) -> None:
    settings = {"rest.bind-address": "0.0.0.0", "penstock.rest.token-file": token_file(tmp_path)}
    server = server_with(**settings).start()
    try:
        assert httpx.get(f"{server.url}/config").status_code == 401
        wrong = httpx.get(f"{server.url}/config", headers={"Authorization": "Bearer x"})
        assert wrong.status_code == 401 and wrong.headers["www-authenticate"] == "Bearer"
        right = httpx.get(f"{server.url}/config", headers={"Authorization": "Bearer 0123456789abcdef0123"})
        assert right.status_code == 200
    finally:
        server.stop()


def test_a_server_with_tls_wants_the_certificate_of_the_client(tmp_path: pathlib.Path) -> None:
    certificate, key = make_certificate(tmp_path)
    settings = {
        "security.ssl.rest.enabled": "true", "security.ssl.rest.cert": certificate,
        "security.ssl.rest.key": key, "security.ssl.rest.authentication-enabled": "true",
        "security.ssl.rest.ca": certificate, "rest.bind-address": "0.0.0.0",
    }  # fmt: skip
    server = server_with(**settings).start()
    try:
        assert server.url.startswith("https://localhost:")
        trusting = ssl.create_default_context(cafile=certificate)
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"{server.url}/config", verify=trusting)
        trusting.load_cert_chain(certificate, key)
        assert httpx.get(f"{server.url}/config", verify=trusting).status_code == 200
    finally:
        server.stop()


def test_a_port_in_use_is_told_and_a_range_finds_another_one() -> None:
    first = server_with().start()
    try:
        with pytest.raises(ValidationError, match=f"cannot listen on 127.0.0.1, port {first.port}") as told:
            server_with(**{"rest.port": str(first.port)}).start()
        assert "another port" in str(told.value)
        second = server_with(**{"rest.bind-port": f"{first.port},0"}).start()
        assert second.port != first.port
        second.stop()
    finally:
        first.stop()
    with pytest.raises(ValidationError, match="is not a port"):
        server_with(**{"rest.bind-port": "many"}).start()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
    ],
)
def test_pages_of_other_sites_cannot_cancel_a_job(
    client: httpx.Client, running: RunningJob, headers: dict[str, str], status: int
) -> None:
    answer = client.patch(f"/jobs/{running.job_id}", params=PATCH, headers=headers, content=b"{}")
    assert answer.status_code == status
    assert running.status().name == "RUNNING"


def test_no_page_may_be_framed_or_guessed_about(client: httpx.Client) -> None:
    headers = client.get("/config").headers
    assert headers["x-frame-options"] == "DENY" and headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers and "server" not in headers


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc%2fpasswd", "//etc/passwd",
        "/jobmanager/logs/..%2f..%2fetc%2fpasswd", "/jobmanager/logs/%2e%2e", "/jars/..%2fx.py", "/%00",
    ],
)  # fmt: skip
def test_paths_lead_nowhere_else(server: JobServer, path: str) -> None:
    answer = raw(server, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert answer.startswith(("HTTP/1.1 404", "HTTP/1.1 400")), answer[:200]
    assert "root:" not in answer


def test_headers_cannot_be_smuggled_in(server: JobServer) -> None:
    answer = raw(
        server, "GET /jobs/%0d%0aX-Evil:%201 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )
    assert answer.startswith("HTTP/1.1 4") and "\r\nX-Evil" not in answer


def raw(server: JobServer, text: str, body: bytes = b"") -> str:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(text.encode() + body)
        received = b""
        while part := connection.recv(65536):
            received += part
    return received.decode("latin-1")


def test_huge_bodies_are_refused_before_they_are_read(server: JobServer, running: RunningJob) -> None:
    head = f"POST /jobs/{running.job_id}/savepoints HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    declared = raw(server, head + "Content-Length: 99999999999\r\nConnection: close\r\n\r\n")
    assert declared.startswith("HTTP/1.1 413")


def test_a_body_without_a_length_is_refused_when_it_gets_too_large(running: RunningJob) -> None:
    server = server_with(**{"rest.server.max-content-length": "1000"}).start()
    try:

        def endless() -> Any:
            for _ in range(100):
                yield b"x" * 100

        headers = {"Content-Type": "application/json"}
        answer = httpx.post(f"{server.url}/jobs/{running.job_id}/stop", content=endless(), headers=headers)
        assert answer.status_code == 413 and "1000 bytes" in answer.json()["errors"][0]
    finally:
        server.stop()


def test_deep_json_is_not_a_crash(client: httpx.Client, running: RunningJob) -> None:
    body = b"[" * 100_000 + b"]" * 100_000
    headers = {"Content-Type": "application/json"}
    answer = client.post(f"/jobs/{running.job_id}/savepoints", content=body, headers=headers)
    assert answer.status_code == 400


def test_programs_are_not_taken_unless_that_was_switched_on(client: httpx.Client) -> None:
    answer = client.post("/jars/upload", files={"jarfile": ("a.py", b"print(1)")})
    assert answer.status_code == 404 and "web.submit.enable" in answer.json()["errors"][0]


def test_options_that_let_others_in_are_off_by_default_and_told_so() -> None:
    assert option("web.submit.enable").default is False
    assert option("web.access-control-allow-origin").default is None
    assert make_guard(Configuration(), "127.0.0.1", None).origins == frozenset()
    older = Configuration.from_dict({"jobmanager.web.access-control-allow-origin": "https://a.example, *"})
    assert make_guard(older, "127.0.0.1", None).origins == {"https://a.example"}


def test_secrets_are_masked_wherever_they_stand() -> None:
    shown = masked(
        {
            "jdbc.password": "x", "s3.access-key": "x", "azure.account-key": "x", "my.api-key": "x",
            "url": "jdbc:x://user:pw@host/db", "penstock.rest.token-file": "/t", "primary.key": "id",
            "kafka.sasl.jaas.config": "x", "security.ssl.rest.key-password": "x", "parallelism.default": "1",
        }
    )  # fmt: skip
    hidden = {key for key, value in shown.items() if value == "******"}
    assert hidden == {
        "jdbc.password", "s3.access-key", "my.api-key", "azure.account-key", "kafka.sasl.jaas.config",
        "security.ssl.rest.key-password",
    }  # fmt: skip
    assert shown["url"] == "jdbc:x://user:******@host/db"


def test_the_dashboard_is_served_and_nothing_beside_it(tmp_path: pathlib.Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    context = make_context(Configuration.from_dict({"rest.port": "0"}))
    server = JobServer(context).start()
    try:
        page = httpx.get(f"{server.url}/")
        assert "<html" in page.text and page.headers["content-type"].startswith("text/html")
        assert httpx.get(f"{server.url}/jobs/0123").status_code == 400
        for path in ("/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt"):
            head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            assert "secret" not in raw(server, head).partition("\r\n\r\n")[2].replace("secret.txt", "")
    finally:
        server.stop()
