"""How a JVM is started: what is remembered, what makes it forgotten, what is left to PySpark."""

from __future__ import annotations

import fcntl
import io
import pathlib
import subprocess
from collections.abc import Sequence
from typing import Any

import pytest

from penstock.common.cache_dir import cache_dir
from penstock.runtime.spark import class_archive, launch_command, session
from penstock.runtime.spark.class_archive import archive_name, archive_options
from penstock.runtime.spark.launch import JvmLaunch
from penstock.runtime.spark.launch_command import spark_command


@pytest.fixture
def cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def home(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    (tmp_path / "spark" / "jars" / "a.jar").write_text("a")
    return tmp_path / "spark"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """The arguments that Spark's launcher was asked with."""
    calls: list[Sequence[str]] = []

    def ask(home: str, java: str, arguments: Sequence[str], environment: Any) -> list[str]:
        calls.append(arguments)
        return ["java", "-cp", f"{home}/jars/*", *arguments]

    monkeypatch.setattr(launch_command, "_ask", ask)
    return calls


def test_a_command_is_asked_for_once(
    cache: pathlib.Path, home: pathlib.Path, asked: list[Sequence[str]]
) -> None:
    first = spark_command(str(home), "/java", {"spark.a": "1"})
    assert spark_command(str(home), "/java", {"spark.a": "1"}) == first
    assert asked == [["--conf", "spark.a=1", "pyspark-shell"]]


@pytest.mark.parametrize("change", ["settings", "variable", "java", "configuration", "damage"])
def test_a_command_is_asked_for_again_when_something_has_changed(
    cache: pathlib.Path,
    home: pathlib.Path,
    asked: list[Sequence[str]],
    monkeypatch: pytest.MonkeyPatch,
    change: str,
) -> None:
    settings, java = {"spark.a": "1"}, "/java"
    spark_command(str(home), java, settings)
    if change == "settings":
        settings = {"spark.a": "2"}
    elif change == "variable":
        monkeypatch.setenv("SPARK_DRIVER_MEMORY", "3g")
    elif change == "java":
        java = "/other"
    elif change == "configuration":
        (home / "conf").mkdir()
        (home / "conf" / "spark-defaults.conf").write_text("spark.b 1")
    else:
        [remembered] = cache.glob("launch-*.json")
        remembered.write_text('["java", ')
    assert spark_command(str(home), java, settings) is not None
    assert len(asked) == 2


def test_shell_settings_of_spark_are_left_to_its_scripts(
    cache: pathlib.Path, home: pathlib.Path, asked: list[Sequence[str]]
) -> None:
    (home / "conf").mkdir()
    (home / "conf" / "spark-env.sh").write_text("export A=1")
    assert spark_command(str(home), "/java", {}) is None
    assert not asked


def test_a_folder_that_others_can_write_to_is_no_cache(cache: pathlib.Path) -> None:
    assert cache_dir() == cache
    cache.chmod(0o777)
    assert cache_dir() is None


def test_a_place_where_no_folder_can_be_made_is_no_cache(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert cache_dir() is None


def _command(home: pathlib.Path, *options: str) -> list[str]:
    return ["java", *options, "-cp", f"{home}/jars/*", "Main"]


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[pathlib.Path]:
    """The archives that are to be made when this program has ended."""
    archives: list[pathlib.Path] = []
    monkeypatch.setattr(class_archive.atexit, "register", lambda _, archive: archives.append(archive))
    return archives


def test_an_archive_is_made_after_the_first_program_and_used_by_the_next(
    cache: pathlib.Path,
    home: pathlib.Path,
    planned: list[pathlib.Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(class_archive.sys, "stderr", io.StringIO())
    assert archive_options(_command(home), "/java") == []
    assert planned == []  # nobody is at a terminal
    monkeypatch.setenv("PENSTOCK_CLASS_ARCHIVE", "on")
    assert archive_options(_command(home), "/java") == []
    [archive] = planned
    archive.write_bytes(b"classes")
    assert f"-XX:SharedArchiveFile={archive}" in archive_options(_command(home), "/java")
    assert planned == [archive]


def test_other_jars_want_another_archive(home: pathlib.Path) -> None:
    before = archive_name(_command(home), "/java")
    (home / "jars" / "a.jar").write_text("another a")
    assert archive_name(_command(home), "/java") != before


def test_a_users_own_archive_and_the_switch_keep_ours_away(
    cache: pathlib.Path, home: pathlib.Path, planned: list[pathlib.Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert archive_options(_command(home, "-XX:SharedArchiveFile=mine.jsa"), "/java") == []
    monkeypatch.setenv("PENSTOCK_CLASS_ARCHIVE", "off")
    assert archive_options(_command(home), "/java") == []
    assert not planned


def test_of_several_makers_of_an_archive_one_works(
    cache: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[pathlib.Path] = []
    monkeypatch.setattr(class_archive, "_make", made.append)
    monkeypatch.setattr(class_archive.os, "nice", lambda _: 0)
    archive = cache / "spark-1.jsa"
    with open(archive.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        class_archive.main(archive)
    assert made == []
    class_archive.main(archive)
    assert made == [archive]


def test_a_jvm_that_does_not_come_up_is_no_gateway(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "connection"
    folder.mkdir()
    process = subprocess.Popen(["false"], stdin=subprocess.PIPE)
    assert JvmLaunch(process, str(folder)).connect() is None
    assert not folder.exists()


def test_an_early_jvm_serves_only_a_session_that_would_inherit_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setattr(session, "launch", lambda *_: None)
    monkeypatch.setattr(session, "prepare_java", lambda: "/java")
    early = session.StartingSession({"spark.a": "1"})
    assert early.fits({"spark.a": "1"})
    assert not early.fits({"spark.a": "2"})
    with monkeypatch.context() as changed:
        changed.setenv("SOME_TOKEN", "x")
        assert not early.fits({"spark.a": "1"})
    with monkeypatch.context() as moved:
        moved.chdir(tmp_path)
        assert not early.fits({"spark.a": "1"})
    assert early.fits({"spark.a": "1"})


def test_an_executor_is_told_how_many_cores_it_has() -> None:
    def told(**settings: str) -> str | None:
        return session._settings({key.replace("_", "."): value for key, value in settings.items()}).get(
            "spark.executor.defaultJavaOptions"
        )

    assert told(spark_master="spark://host:7077", spark_executor_cores="3") == "-XX:ActiveProcessorCount=3"
    assert told(spark_master="spark://host:7077") is None
    assert told(spark_master="local[2]", spark_executor_cores="3") is None
    own = {"spark.master": "yarn", "spark.executor.cores": "3", "spark.executor.defaultJavaOptions": "-Da=b"}
    assert session._settings(own)["spark.executor.defaultJavaOptions"] == "-Da=b"
    assert "spark.executor.extraJavaOptions" not in session._settings({"spark.master": "yarn"})
