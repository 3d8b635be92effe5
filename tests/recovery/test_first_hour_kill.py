"""The program of the first hour that kills its job and starts it again."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

PROGRAM = pathlib.Path(__file__).parents[2] / "examples" / "first_hour" / "exactly_once_files.py"


@pytest.mark.spark
def test_a_killed_job_that_is_started_again_has_written_every_number_once() -> None:
    done = subprocess.run([sys.executable, str(PROGRAM)], capture_output=True, text=True, timeout=550)
    assert done.stdout.splitlines() == ["killed in the middle: True", "each number once: True"], done.stderr
