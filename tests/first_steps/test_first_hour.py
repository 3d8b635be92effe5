"""The programs of a newcomer's first hour print what they promise; all but one run in this process."""

from __future__ import annotations

import functools
import pathlib
import re
import runpy

import pytest

from penstock.runtime import submit
from penstock.runtime.in_process import InProcessEpochs
from penstock.sql.streaming import jobs

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "first_hour"
EXPECTED = {
    "word_count": [
        f"({pair})"
        for pair in ("be,1", "be,2", "is,1", "not,1", "or,1", "question,1", "that,1", "the,1", "to,1", "to,2")
    ],
    "state_and_timers": ["cellar is silent since 0 s", "roof is silent since 150 s"],
    "windows_and_late_data": [
        "late> (roof,16,30000)",
        "minute> (roof,3,20000)",
        "minute> (roof,4,70000)",
        "minute> (roof,8,130000)",
    ],
    "sql_over_csv": ["2024-05-01 10:00:00 2 10.50", "2024-05-01 10:01:00 1 2.50"],
    "table_with_python_function": ["AT 4", "GH 5"],
}
KILLS = {"exactly_once_files"}  # tests/recovery/test_first_hour_kill.py


def test_every_program_is_tested() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(EXPECTED) | KILLS


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_program_prints(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_here = functools.partial(submit.submit_job, make_runner=InProcessEpochs)
    monkeypatch.setattr(submit, "submit_job", run_here)
    monkeypatch.setattr(jobs, "make_runner", InProcessEpochs)
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    # "2> value" where there are several subtasks: which one prints is not promised.
    printed = [re.sub(r"^\d+> ", "", line) for line in capsys.readouterr().out.splitlines()]
    assert sorted(printed) == EXPECTED[name]
