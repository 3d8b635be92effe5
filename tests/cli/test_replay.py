"""`penstock replay` on the command line."""

from __future__ import annotations

import json
import pathlib

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.runtime import coordinator
from tests.runtime.test_replay import run


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(coordinator, "RETAIN_EVERY_EPOCHS", 100)
    run(tmp_path, fails_at=16)
    return str(tmp_path)


def test_an_epoch_is_shown_operator_by_operator(folder: str) -> None:
    result = CliRunner().invoke(app, ["replay", folder, "--epoch", "4", "--operator", "total"])
    assert result.exit_code == 0, result.output
    assert "3 in, 3 out" in result.output and "<- subtask" in result.output and "26" in result.output
    assert "collect" not in result.output


def test_a_failed_epoch_fails_again_with_exit_code_1(folder: str) -> None:
    result = CliRunner().invoke(app, ["replay", folder, "--json"])
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert told["epoch"] == 6 and "16 is too much" in told["error"]


def test_the_heading_tells_what_the_epoch_failed_with(folder: str) -> None:
    heading = CliRunner().invoke(app, ["replay", folder]).output.splitlines()[0]
    assert heading.startswith("epoch 6, which failed: KeyedProcessFunction 'Total' failed on an element")
    assert heading.endswith("ArithmeticError: 16 is too much")


def test_the_debugger_opens_where_the_function_raised(folder: str) -> None:
    result = CliRunner().invoke(app, ["replay", folder, "--pdb"], input="p value\nq\n")
    assert "16" in result.output and "process_element" in result.output


def test_an_operator_that_is_not_there_is_told(folder: str) -> None:
    result = CliRunner().invoke(app, ["replay", folder, "--operator", "nobody"])
    assert result.exit_code == 2 and "nobody" in result.output
