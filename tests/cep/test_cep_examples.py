"""Every example runs as it stands and prints what its text promises."""

from __future__ import annotations

import pathlib
import re
import runpy
from unittest import mock

import pytest

from penstock.runtime.in_process import InProcessEpochs
from penstock.sql.streaming import jobs
from tests.runtime.in_process import run_in_process

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "cep"

EXPECTED = {
    "changing_rules": ["guessing (version 1): ann"],
    "double_bottom": ["ACME 20 12 18 12 16"],
    "fraud": ["card 4711: 0.5 and then 900.0"],
    "missing_heartbeat": [
        "press is alive at 8000",
        "press is alive at 17000",
        "oven was silent at 11000",
        "press was silent at 27000",
        "oven was silent at 40000",
        "press was silent at 50000",
    ],
}


def test_every_example_is_listed_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_example(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    run_in_process(monkeypatch, None)
    with mock.patch.object(jobs, "make_runner", InProcessEpochs):
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    # "2> value" where there are several subtasks: which one prints is not promised.
    printed = [re.sub(r"^\d+> ", "", line) for line in capsys.readouterr().out.splitlines()]
    assert sorted(printed) == sorted(EXPECTED[name])
