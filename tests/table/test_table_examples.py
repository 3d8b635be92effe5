"""Every program of examples/table runs as it stands and prints what it says."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "table"
EXPECTED = {
    "changelog_to_process_function": ["[('be', 1), ('to', 2)]"],
    "stream_query_stream": ["6 x PEN", "80 x PEN"],
    "upserts_as_table": ["[1, 3]"],
}


def test_all_examples_are_checked() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(EXPECTED)


@pytest.mark.spark
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_an_example_prints_what_it_says(name: str) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert sorted(done.stdout.split("\n")[:-1]) == sorted(EXPECTED[name])
