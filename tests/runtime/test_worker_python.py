"""A SparkSession of the program's own: its workers get a Python that can run functions, or the program is told."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import types
from typing import Any

import pytest

from penstock.common.errors import MissingDependencyError
from penstock.runtime.spark import worker_python
from penstock.runtime.spark.worker_python import fit_workers, refuse_version

OWN = f"{sys.version_info[0]}.{sys.version_info[1]}"
DO = """
  do:    run workers with the program's Python; before the session is made:
         import os, sys; os.environ["PYSPARK_PYTHON"] = sys.executable
         (on a cluster: the path of such a Python on its hosts, docs/cluster.md)"""


def context(master: str = "local[2]", python: str = "python3", **settings: str) -> Any:
    conf = {key.replace("_", "."): value for key, value in settings.items()}
    return types.SimpleNamespace(master=master, pythonExec=python, getConf=lambda: conf)


@pytest.fixture(autouse=True)
def nobody_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    worker_python._check.cache_clear()


def python(folder: pathlib.Path, script: str) -> str:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_workers_of_a_local_session_get_the_programs_python() -> None:
    session = context()
    fit_workers(session)
    assert session.pythonExec == sys.executable


def test_hosts_of_a_cluster_keep_theirs() -> None:
    session = context("spark://host:7077")
    fit_workers(session)
    assert session.pythonExec == "python3"


def test_the_setting_of_the_session_counts() -> None:
    session = context("spark://host:7077", spark_pyspark_python="environment/bin/python")
    fit_workers(session)
    assert session.pythonExec == "environment/bin/python"


def test_another_version_is_refused_with_the_line_to_add(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = python(tmp_path, "echo 3.8")
    monkeypatch.setenv("PYSPARK_PYTHON", other)
    with pytest.raises(MissingDependencyError) as refused:
        fit_workers(context())
    assert str(refused.value) == (
        f"workers are to run Python 3.8, the program runs {OWN}\n"
        f"  where: {other} (PYSPARK_PYTHON or spark.pyspark.python){DO}"
    )


def test_a_python_without_what_we_need_is_refused_with_the_reason(tmp_path: pathlib.Path) -> None:
    other = python(tmp_path, f"echo {OWN}; echo \"ModuleNotFoundError: No module named 'lmdb'\" >&2; exit 1")
    with pytest.raises(MissingDependencyError) as refused:
        fit_workers(context(spark_pyspark_python=other))
    assert str(refused.value) == (
        "the Python of the workers cannot run penstock: ModuleNotFoundError: No module named 'lmdb'\n"
        f"  where: {other} (PYSPARK_PYTHON or spark.pyspark.python){DO}"
    )


def test_a_python_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/no/such/python")
    with pytest.raises(MissingDependencyError) as refused:
        fit_workers(context())
    assert str(refused.value) == (
        "workers are to run '/no/such/python', and there is no such program\n"
        f"  where: the SparkSession (PYSPARK_PYTHON or spark.pyspark.python){DO}"
    )


def test_a_python_that_fits_is_asked_once(tmp_path: pathlib.Path) -> None:
    asked = tmp_path / "asked"
    other = python(tmp_path, f"echo x >> {asked}; echo {OWN}")
    for _ in range(2):
        fit_workers(context(spark_pyspark_python=other))
    assert asked.read_text() == "x\n"


def test_what_pyspark_finds_on_executors_is_told_the_same_way() -> None:
    refuse_version(RuntimeError("a task failed"))
    with pytest.raises(MissingDependencyError, match=f"executors do not run Python {OWN}, which"):
        refuse_version(RuntimeError("[PYTHON_VERSION_MISMATCH] Python in worker has different version"))


PROGRAM = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()

from penstock.common import Types
from penstock.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
words = env.from_collection(["to", "be", "not"], Types.STRING())
words.map(len, Types.INT()).print()
env.execute("own session")
print(spark.range(3).count(), "rows of Spark's")
"""


@pytest.mark.spark
def test_a_program_runs_in_its_own_session_whatever_python3_is_on_the_path(tmp_path: pathlib.Path) -> None:
    (tmp_path / "job.py").write_text(PROGRAM)
    os.rename(python(tmp_path, "echo wrong >&2; exit 1"), tmp_path / "python3")
    surroundings = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, "job.py"], cwd=tmp_path, env=surroundings, capture_output=True, text=True
    )
    assert done.stdout.splitlines() == ["2", "2", "3", "3 rows of Spark's"], done.stderr
