"""`penstock sql --gateway`: the client in front of a gateway that runs in this process."""

from __future__ import annotations

import io
import pathlib
import re
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.cli.sql.app import Arguments, run_client
from penstock.cli.sql.gateway_calls import GatewayCalls, GatewayFailure
from penstock.cli.sql.output import Output
from penstock.cli.sql.remote import RemoteEnvironment
from penstock.common.errors import ValidationError
from penstock.common.logical_type_json import logical_type_json, type_of_json
from penstock.runtime.in_process import InProcessEpochs
from penstock.runtime.job_list import find_job
from penstock.sql.streaming import jobs
from tests.gateway.served import ServedGateway

ENDLESS = "CREATE TABLE endless (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '50')"
HOLE = "CREATE TABLE hole (n BIGINT) WITH ('connector' = 'blackhole')"


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Iterator[ServedGateway]:
    monkeypatch.setattr(jobs, "make_runner", InProcessEpochs)
    with ServedGateway(prepare=lambda: None) as served:
        yield served


class Shown:
    """A client's run: exit code and what it wrote."""

    def __init__(self, gateway: ServedGateway, script: str, **arguments: object) -> None:
        out, err = io.StringIO(), io.StringIO()
        self.code = run_client(
            Arguments(execute=script, gateway=gateway.url, **arguments),
            Output(out, err),  # type: ignore[arg-type]
        )
        self.out, self.err = out.getvalue(), err.getvalue()


def test_statements_run_at_the_gateway(gateway: ServedGateway) -> None:
    shown = Shown(gateway, f"{ENDLESS}; SHOW TABLES; SELECT a, b FROM (VALUES (1, TRUE)) t(a, b);")
    assert (shown.code, shown.err) == (0, "")
    assert "[INFO] Execute statement succeeded." in shown.out
    assert "|    endless |" in shown.out
    assert "| +I |           1 |    TRUE |" in shown.out
    assert "1 row in" in shown.out


def test_options_are_kept_by_the_gateway(gateway: ServedGateway) -> None:
    shown = Shown(gateway, "SET 'a.b' = 'it''s'; SET; RESET 'a.b'; SET;", define=("c.d=e",))
    assert shown.code == 0
    first, second = shown.out.split("Execute statement succeeded.")[1:]
    assert "it's" in first
    assert "it's" not in second
    assert "c.d" in second


def test_an_option_that_means_nothing_is_undone(gateway: ServedGateway) -> None:
    environment = RemoteEnvironment(GatewayCalls(gateway.url, {}))
    try:
        with pytest.raises(GatewayFailure, match=r"sql-client\.verbose"):
            environment.execute_sql("SET 'sql-client.verbose' = 'maybe'")
        assert "sql-client.verbose" not in environment.get_config().to_map()
    finally:
        environment.close()


def test_an_error_of_the_gateway_is_shown_with_its_reason(gateway: ServedGateway) -> None:
    shown = Shown(gateway, "SELECT nope FROM (VALUES (1)) t(a);")
    assert shown.code == 1
    assert "[ERROR] statement 1, line 1: SqlError: column 'nope' not found in any table" in shown.err


def test_an_insert_is_submitted_and_outlives_the_client(gateway: ServedGateway) -> None:
    shown = Shown(gateway, f"{ENDLESS}; {HOLE}; INSERT INTO hole SELECT n FROM endless;")
    assert shown.code == 0
    [line] = [line for line in shown.out.splitlines() if "submitted to the cluster" in line]
    job = find_job(line.split()[-1])
    assert job.status().name == "RUNNING"
    job.cancel()


def test_ids_of_jobs_and_paths_of_savepoints_are_shown_whole(
    gateway: ServedGateway, tmp_path: pathlib.Path
) -> None:
    folder = f"SET 'execution.checkpointing.savepoint-dir' = '{tmp_path}/{'deep' * 20}'"
    shown = Shown(gateway, f"{folder}; {ENDLESS}; {HOLE}; INSERT INTO hole SELECT n FROM endless; SHOW JOBS;")
    [job] = re.findall("submitted to the cluster: ([0-9a-f]{32})", shown.out)
    assert f"| {job} |" in shown.out
    stopped = Shown(gateway, f"{folder}; STOP JOB '{job}' WITH SAVEPOINT;")
    [path] = re.findall(r"\| +(\S*/savepoint-\S+) \|", stopped.out)
    assert pathlib.Path(path.removeprefix("file:")).is_dir()


def test_a_query_that_is_left_ends_at_the_gateway(gateway: ServedGateway) -> None:
    environment = RemoteEnvironment(GatewayCalls(gateway.url, {}))
    environment.execute_sql(ENDLESS).close()
    result = environment.execute_sql("SELECT n FROM endless")
    assert result.job_id is not None
    with result.collect() as rows:
        assert len([next(rows) for _ in range(20)]) == 20
    assert find_job(result.job_id).status().name == "CANCELED"
    environment.close()


def test_completion_asks_the_gateway_for_names(gateway: ServedGateway) -> None:
    from penstock.cli.sql.completion import Names, suggest

    environment = RemoteEnvironment(GatewayCalls(gateway.url, {}))
    environment.execute_sql(ENDLESS).close()
    assert [s.text for s in suggest("SELECT * FROM en", Names(environment))] == ["endless"]
    assert "n" in [
        s.text for s in suggest("SELECT  FROM endless"[:7], Names(environment), "SELECT  FROM endless")
    ]
    assert environment.get_current_catalog() == "default_catalog"
    environment.close()


def test_who_is_not_there_is_told(tmp_path: pathlib.Path) -> None:
    with pytest.raises(GatewayFailure, match="does not answer"):
        GatewayCalls("127.0.0.1:9", {})
    with pytest.raises(ValidationError, match="not the address of a gateway"):
        GatewayCalls("ftp://x", {})
    result = CliRunner().invoke(app, ["sql", "--gateway", "127.0.0.1:9", "-e", "SHOW TABLES"])
    assert result.exit_code != 0


def test_a_token_is_sent(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("s3cret-s3cret-s3cret")
    secret.chmod(0o600)
    with ServedGateway({"penstock.rest.token-file": str(secret)}, prepare=lambda: None) as served:
        with pytest.raises(GatewayFailure, match="token") as refused:
            GatewayCalls(served.url, {})
        assert "PENSTOCK_REST_TOKEN" in str(refused.value.do)
        own = tmp_path / "own"
        own.write_text("s3cret-s3cret-s3cret\n")
        shown = Shown(served, "SET;", define=(f"penstock.rest.token-file={own}",))
        assert shown.code == 0 and str(own) not in shown.out  # a path here is none of the gateway's business
        monkeypatch.setenv("PENSTOCK_REST_TOKEN", "s3cret-s3cret-s3cret")
        GatewayCalls(served.url, {}).close()


def test_types_come_back_as_they_were_described() -> None:
    import json

    recorded = json.loads((pathlib.Path(__file__).parents[2] / "gateway" / "flink_values.json").read_text())
    for column in recorded["columns"]:
        assert logical_type_json(type_of_json(column["logicalType"])) == column["logicalType"]
