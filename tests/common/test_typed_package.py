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


def test_mypy_sees_the_types_of_a_users_program(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "mypy.ini").write_text(SETTINGS)
    monkeypatch.chdir(tmp_path)
    found, problems, code = api.run(["--no-color-output", "program.py"])
    assert problems == "" and code == 1
    assert found.splitlines() == [
        'program.py:6: note: Revealed type is "penstock.datastream.stream.DataStream"',
        'program.py:7: note: Revealed type is "penstock.datastream.keyed_stream.KeyedStream"',
        'program.py:8: note: Revealed type is "penstock.common.job_execution_result.JobExecutionResult"',
        'program.py:9: error: "DataStream" has no attribute "mapp"; maybe "map"?  [attr-defined]',
        "Found 1 error in 1 file (checked 1 source file)",
    ]


def test_the_wheel_has_the_mark_and_what_the_package_reads(tmp_path: pathlib.Path) -> None:
    from hatchling.builders.wheel import WheelBuilder

    wheel = next(WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"]))
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"penstock/py.typed", "penstock/common/options.txt"} <= names
