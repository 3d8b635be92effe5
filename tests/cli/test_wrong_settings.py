"""`-D` and SET: a mistyped key is told, a value that cannot be read is refused, before Spark starts."""

from __future__ import annotations

import pathlib

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.cli.run import run_program
from penstock.common import config_check
from penstock.common.errors import ValidationError
from penstock.table import EnvironmentSettings, TableEnvironment

MISTYPED = "configuration key 'pipeline.nam' is not known and has no effect: did you mean 'pipeline.name'?"


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_check, "_told", set())


def test_run_refuses_a_value_before_the_program_begins(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "job.py"
    program.write_text("raise SystemExit('the program ran')")
    with pytest.raises(ValidationError) as refused:
        run_program(str(program), [], ["parallelism.default=two"])
    assert str(refused.value) == (
        "cannot read 'two' as Integer: expected a whole number\n  where: configuration key 'parallelism.default'"
    )


def test_sql_refuses_a_value_of_the_command_line() -> None:
    result = CliRunner().invoke(app, ["sql", "-D", "table.exec.state.ttl=soon", "-e", "SHOW TABLES"])
    assert result.exit_code == 2
    assert result.stderr == (
        "penstock sql: cannot read 'soon' as Duration: expected a duration such as '10 s', '500 ms' or '1 min'\n"
        "  where: configuration key 'table.exec.state.ttl'\n"
    )


def test_sql_warns_of_a_mistyped_key_of_the_command_line(caplog: pytest.LogCaptureFixture) -> None:
    result = CliRunner().invoke(app, ["sql", "-D", "pipeline.nam=2", "-e", "SHOW TABLES"])
    assert result.exit_code == 0 and caplog.messages == [MISTYPED]


def test_set_warns_of_a_mistyped_key_and_refuses_a_value(caplog: pytest.LogCaptureFixture) -> None:
    script = "SET 'pipeline.nam' = '2';\nSET 'my.own' = 'x';\nSET 'table.exec.state.ttl' = 'soon'"
    result = CliRunner().invoke(app, ["sql", "-e", script])
    assert result.exit_code == 1 and caplog.messages == [MISTYPED]
    assert result.stderr == (
        "[ERROR] statement 3, line 3: cannot read 'soon' as Duration: expected a duration such as '10 s', "
        "'500 ms' or '1 min'\n  where: configuration key 'table.exec.state.ttl'\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        ["run", "job.py"],
        ["run", "-d", "job.py"],
        ["list"],
        ["config"],
        ["cluster", "status"],
        ["history"],
        ["shell"],
    ],
)
@pytest.mark.parametrize("setting", ["nonsense", "=1"])
def test_a_setting_without_key_and_value_is_wrong_usage(words: list[str], setting: str) -> None:
    result = CliRunner().invoke(app, [*words, "-D", setting])
    assert result.exit_code == 2 and f"'{setting}' is not of the form key=value" in result.output


def test_a_savepoint_of_no_job_is_wrong_usage() -> None:
    assert CliRunner().invoke(app, ["savepoint"]).exit_code == 2


def test_config_tells_all_that_is_wrong(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "config.yaml").write_text(
        "parallelism.default: two\nrest.prt: 1\ntable.exec.state.ttl: soon\njdbc.url: x\nspark.ui.enabled: y\n"
        "metrics.reporter.prom.port: 1\npipeline.global-job-parameters.mine: 1\n"
    )
    result = CliRunner().invoke(app, ["config", "-c", str(tmp_path)])
    assert caplog.messages == []  # told by the verb itself, once
    assert result.stderr.splitlines() == [
        "configuration key 'rest.prt' is not known and has no effect: did you mean 'rest.port'?",
        "configuration key 'jdbc.url' is no option of Flink's or penstock's: only a program can read it",
    ]
    assert str(result.exception).splitlines() == [
        "cannot read 'two' as Integer: expected a whole number",
        "  where: configuration key 'parallelism.default'",
        "cannot read 'soon' as Duration: expected a duration such as '10 s', '500 ms' or '1 min'",
        "  where: configuration key 'table.exec.state.ttl'",
    ]


@pytest.mark.parametrize("words", [["run", "-d", "job.py"], ["list"]])
def test_who_talks_to_a_server_is_warned_of_a_mistyped_key(
    words: list[str],
    tmp_path: pathlib.Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.py").write_text("")
    CliRunner().invoke(app, [*words, "-m", "localhost:1", "-D", "rest.prot=1"])
    assert caplog.messages == [
        "configuration key 'rest.prot' is not known and has no effect: did you mean 'rest.port'?"
    ]


def test_a_query_warns_of_a_mistyped_key_of_the_program(caplog: pytest.LogCaptureFixture) -> None:
    environment = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    environment.get_config().set("pipeline.nam", "2")
    environment.execute_sql("SELECT 1")  # its rows are never asked for
    environment.execute_sql("SELECT 2")
    assert caplog.messages == [MISTYPED]
