"""The stand-alone server: a port, and who may reach it."""

from __future__ import annotations

import http.client
import pathlib
import socket
import ssl
import threading
import urllib.request

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.common.configuration import Configuration
from penstock.common.errors import ValidationError
from penstock.gateway.options import GatewayOptions
from penstock.gateway.server import GatewayServer, check_door
from penstock.rest.security import tls_files
from tests.gateway.client import gateway_threads, until
from tests.servers.certificates import make_certificate

PORT = "sql-gateway.endpoint.rest.port"
BIND = "sql-gateway.endpoint.rest.bind-address"


def test_a_server_answers_until_it_is_stopped() -> None:
    server = GatewayServer({PORT: "0"}, lambda: None)
    thread = threading.Thread(target=server.run)
    thread.start()
    url = server.url
    try:
        until(lambda: _answers(url), "an answer")
    finally:
        server.stop()
        thread.join(60)
    assert not thread.is_alive()
    assert not _answers(url)
    until(lambda: not gateway_threads(), "the end of the threads")


def test_an_address_that_others_reach_needs_a_token(tmp_path: pathlib.Path) -> None:
    secret = tmp_path / "token"
    with pytest.raises(ValidationError, match=r"open to everybody who can reach 0\.0\.0\.0"):
        GatewayServer({PORT: "0", BIND: "0.0.0.0"})
    secret.write_text("a-long-enough-token\n")
    secret.chmod(0o600)
    options = GatewayOptions.read({BIND: "0.0.0.0", "penstock.rest.token-file": str(secret)})
    assert check_door(options) == "a-long-enough-token"
    secret.write_text(" ")
    with pytest.raises(ValidationError, match="can be guessed"):
        check_door(options)
    secret.chmod(0o644)
    with pytest.raises(ValidationError, match="others on this machine can read"):
        check_door(options)
    with pytest.raises(ValidationError, match="cannot be read"):
        check_door(GatewayOptions(token_file=str(tmp_path / "nothing")))


@pytest.mark.parametrize("address", ["localhost", "127.0.0.1", "::1", "127.1.2.3"])
def test_loopback_needs_none(address: str) -> None:
    assert check_door(GatewayOptions(address=address)) is None


def test_tls_is_that_of_the_job_server(tmp_path: pathlib.Path) -> None:
    certificate, key = make_certificate(tmp_path)
    tls = {
        "security.ssl.rest.enabled": "true",
        "security.ssl.rest.cert": certificate,
        "security.ssl.rest.key": key,
    }
    trusting = ssl.create_default_context(cafile=certificate)
    server = GatewayServer({PORT: "0", **tls}, lambda: None)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert server.url.startswith("https://localhost:")
        until(lambda: _answers(server.url, trusting), "an answer")
        assert not _answers(server.url, ssl.create_default_context()), "nobody trusts this certificate"
        assert not _answers(server.url.replace("https", "http"))
    finally:
        server.stop()
        thread.join(60)
    only = {"security.ssl.rest.authentication-enabled": "true", "security.ssl.rest.ca": certificate}
    options = GatewayOptions.read({BIND: "0.0.0.0"})
    assert check_door(options, tls_files(Configuration.from_dict({**tls, **only}))) is None
    with pytest.raises(ValidationError, match="open to everybody"):
        check_door(options, tls_files(Configuration.from_dict(tls)))
    with pytest.raises(ValidationError, match="there is no certificate"):
        GatewayServer({PORT: "0", "security.ssl.rest.enabled": "true"})


def test_a_port_that_is_taken_is_told_with_what_to_do() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = CliRunner().invoke(app, ["gateway", "start", "--port", str(port)])
    assert result.exit_code == 2
    assert f"cannot listen on localhost:{port}" in result.output
    assert "choose another port" in result.output


def test_a_wrong_option_is_told() -> None:
    result = CliRunner().invoke(app, ["gateway", "start", "-D", "nothing"])
    assert (result.exit_code, "key=value" in result.output) == (2, True)
    result = CliRunner().invoke(app, ["gateway", "start", "-D", "sql-gateway.session.idle-timeout=soon"])
    assert result.exit_code == 2
    assert "sql-gateway.session.idle-timeout" in result.output


def _answers(url: str, trust: ssl.SSLContext | None = None) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/v1/info", timeout=5, context=trust) as answer:
            return answer.status == 200
    except (OSError, http.client.HTTPException):
        return False
