"""`penstock cluster`: a session that does not come up."""

from __future__ import annotations

import pathlib
import sys

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.common.errors import ExternalSystemError


@pytest.mark.parametrize(
    "written, told",
    [
        ("echo no port is free", "the session did not start:\nno port is free"),
        ("seq 1 12", "the session did not start:\n" + "\n".join(map(str, range(3, 13)))),
        ("", "the session did not start, and did not say why"),
    ],
)
def test_a_session_that_does_not_start_tells_the_end_of_what_this_start_has_written(
    written: str, told: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "logs" / "session.log"
    log.parent.mkdir()
    log.write_text("an error of last week\n")
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{written}\nexit 1\n")
    python.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(ExternalSystemError) as refused:
        CliRunner().invoke(
            app, ["cluster", "start", "-D", f"penstock.session.dir={tmp_path}"], catch_exceptions=False
        )
    assert (refused.value.what, refused.value.where) == (told, str(log))
