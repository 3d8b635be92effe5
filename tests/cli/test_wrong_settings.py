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


def test_a_query_warns_of_a_mistyped_key_of_the_program(caplog: pytest.LogCaptureFixture) -> None:
    environment = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    environment.get_config().set("pipeline.nam", "2")
    environment.execute_sql("SELECT 1")  # its rows are never asked for
    environment.execute_sql("SELECT 2")
    assert caplog.messages == [MISTYPED]
