"""`penstock run`: files, archives and modules given on the command line."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]

PROGRAM = """
from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

def use(value):
    import brought
    from pyflink.common import Row
    return str(Row(brought.twice(value), open("data/n.txt").read()))

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
env.from_collection([1, 2], Types.LONG()).map(use, Types.STRING()).print()
env.execute()
"""


def penstock(*arguments: str, cwd: pathlib.Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "penstock.cli.main", "run", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, timeout=300)


@pytest.mark.spark
def test_functions_find_what_the_command_line_brought(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "brought.py").write_text("from pyflink.common import Row\ntwice = lambda v: v * 2\n")
    (tmp_path / "content").mkdir()
    (tmp_path / "content" / "n.txt").write_text("n")
    archive = shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path / "content")
    (tmp_path / "lib" / "job.py").write_text(PROGRAM)
    given = ("-pyfs", str(tmp_path / "lib"), "-pyarch", f"{archive}#data")
    done = penstock(*given, "-pyexec", sys.executable, "-pym", "job", cwd=tmp_path)
    assert done.stdout.splitlines() == ["<Row(2, 'n')>", "<Row(4, 'n')>"], done.stderr


def test_a_program_or_a_module_has_to_be_named(tmp_path):
    done = penstock(cwd=tmp_path)
    assert done.returncode == 2
    assert "a program, or -pym with a module" in done.stderr
