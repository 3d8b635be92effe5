"""A user's type checker sees the package's types: it is marked as typed, in the wheel too."""

from __future__ import annotations

import pathlib
import zipfile

import pytest
from mypy import api

ROOT = pathlib.Path(__file__).parents[2]

PROGRAM = """\
from penstock.common import Types
from penstock.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_collection([1, 2], Types.LONG())
reveal_type(numbers.map(lambda n: n + 1, Types.LONG()))
reveal_type(numbers.key_by(lambda n: n))
reveal_type(env.execute("job"))
numbers.mapp(str)
"""

SETTINGS = """\
[mypy]
strict = true
[mypy-pyspark.*,py4j.*,sqlglot.*,pyarrow.*,pandas.*,numpy.*]
follow_imports = skip
"""


WHOLE = pathlib.Path(__file__).with_name("typed_program.txt")
GENERIC = ("MapState[Any, Any]", "Expression[Any]")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What mypy says of both programs; one run, for it reads the whole package."""
    folder = tmp_path_factory.mktemp("typed")
    (folder / "program.py").write_text(PROGRAM)
    (folder / "whole.py").write_text(WHOLE.read_text())
    (folder / "mypy.ini").write_text(SETTINGS)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        told, problems, _ = api.run(["--no-color-output", "program.py", "whole.py"])
    assert problems == ""
    return told.splitlines()


def test_mypy_sees_the_types_of_a_users_program(found: list[str]) -> None:
    assert [line for line in found if line.startswith("program.py")] == [
        'program.py:6: note: Revealed type is "penstock.datastream.stream.DataStream"',
        'program.py:7: note: Revealed type is "penstock.datastream.keyed_stream.KeyedStream"',
        'program.py:8: note: Revealed type is "penstock.common.job_execution_result.JobExecutionResult"',
        'program.py:9: error: "DataStream" has no attribute "mapp"; maybe "map"?  [attr-defined]',
    ]


def test_a_strictly_checked_program_meets_no_untyped_call(found: list[str]) -> None:
    """Functions, state, windows, connectors, tables and decorated functions: each has a type of its own."""
    lines = [line for line in found if line.startswith("whole.py")]
    revealed = [line.split('"')[1] for line in lines if "Revealed type" in line]
    assert len(lines) == len(revealed) == WHOLE.read_text().count("reveal_type("), lines
    assert [kind for kind in revealed if "Any" in kind and not kind.endswith(GENERIC)] == []


def test_the_wheel_has_the_mark_and_what_the_package_reads(tmp_path: pathlib.Path) -> None:
    from hatchling.builders.wheel import WheelBuilder

    wheel = next(WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"]))
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"penstock/py.typed", "penstock/common/options.txt"} <= names
