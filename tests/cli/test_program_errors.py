"""`penstock run`: what a program raises is shown as Python would show it, without the command line's frames."""

from __future__ import annotations

import pathlib
import re
import sys
from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from penstock.cli import run
from penstock.cli.main import app

Shown = Callable[[str], str]


@pytest.fixture
def shown(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Shown:
    """What a program writes to standard error, its path as `job.py`, without marks below the lines."""
    monkeypatch.setattr(run, "_start_spark", lambda *_: None)
    monkeypatch.setattr(run, "prepare", lambda *_: None)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)

    def shown(text: str) -> str:
        program = tmp_path / "job.py"
        program.write_text(text)
        result = CliRunner().invoke(app, ["run", str(program)])
        assert result.exit_code == 1, result.output
        return re.sub(r"\n *[~^]+(?=\n)", "", result.stderr.replace(str(program), "job.py"))

    return shown


def test_a_syntax_error_shows_the_line_and_nothing_else(shown: Shown) -> None:
    assert shown("a = 1\nb = = 2\n") == (
        """  File "job.py", line 2
    b = = 2
SyntaxError: invalid syntax
"""
    )


def test_an_error_shows_the_frames_of_the_program(shown: Shown) -> None:
    assert shown("def inner():\n    return {}['missing']\n\n\ninner()\n") == (
        """Traceback (most recent call last):
  File "job.py", line 5, in <module>
    inner()
  File "job.py", line 2, in inner
    return {}['missing']
KeyError: 'missing'
"""
    )


def test_causes_are_shown_too(shown: Shown) -> None:
    text = shown(
        "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise ValueError('no') from error\n"
    )
    assert text == (
        """Traceback (most recent call last):
  File "job.py", line 2, in <module>
    1 / 0
ZeroDivisionError: division by zero

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "job.py", line 4, in <module>
    raise ValueError('no') from error
ValueError: no
"""
    )


def test_a_program_that_runs_another_with_runpy_shows_its_own_frames(shown: Shown) -> None:
    text = shown("import runpy\n\nrunpy.run_module('no_such_module')\n")
    assert '  File "job.py", line 3, in <module>' in text and "penstock" not in text
    assert text.endswith("ImportError: No module named no_such_module\n")


def test_a_programs_own_hook_shows_its_errors(shown: Shown) -> None:
    hook = (
        "import sys\n\nsys.excepthook = lambda kind, error, frames: print('mine', error, file=sys.stderr)\n"
    )
    assert shown(f"{hook}raise ValueError('x')\n") == "mine x\n"


def test_the_versions_are_an_option_too() -> None:
    asked, told = (CliRunner().invoke(app, [word]) for word in ("--version", "version"))
    assert asked.exit_code == told.exit_code == 0
    assert asked.stdout == told.stdout and re.match(
        r"penstock \d\S*, Spark \d\S*, Python \d\S*\n", told.stdout
    )
