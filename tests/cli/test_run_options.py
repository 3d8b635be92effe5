"""`penstock run`: options for starting from a savepoint become configuration."""

from __future__ import annotations

import io
import logging
import sys
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.cli import run
from penstock.cli.main import app


@pytest.mark.parametrize(
    "flags", [["-n", "-rm", "claim"], ["--allowNonRestoredState", "--restore-mode", "CLAIM"]]
)
def test_options_of_a_restore_are_configuration(flags: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr(run, "run_program", lambda *arguments: given.extend(arguments))
    result = CliRunner().invoke(app, ["run", "-s", "/savepoints/one", *flags, "job.py", "argument"])
    assert result.exit_code == 0, result.output
    program, arguments, settings, _ = given
    assert (program, arguments) == ("job.py", ["argument"])
    assert settings == [
        "execution.state-recovery.path=/savepoints/one",
        "execution.state-recovery.ignore-unclaimed-state=true",
        "execution.state-recovery.claim-mode=CLAIM",
    ]


@pytest.mark.parametrize(
    "terminal, own_logging, shown", [(True, False, 1), (True, True, 0), (False, False, 0)]
)
def test_a_terminal_shows_where_a_job_goes_on_from(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, own_logging: bool, shown: int
) -> None:
    error = io.StringIO()
    monkeypatch.setattr(error, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(sys, "stderr", error)
    logger = logging.getLogger("penstock.runtime.restoring")
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logger, "level", logging.NOTSET)
    logger.setLevel(logging.NOTSET)  # what loggers remember of their levels is forgotten, too
    monkeypatch.setattr(logging.getLogger(), "handlers", [logging.NullHandler()] if own_logging else [])
    run._show_restores()
    run._show_restores()
    logger.info("job 'x' goes on from checkpoint 12 (/checkpoints/chk-12)")
    assert error.getvalue() == "job 'x' goes on from checkpoint 12 (/checkpoints/chk-12)\n" * shown
