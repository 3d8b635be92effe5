"""`penstock state ls|show|diff`."""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import sys
from itertools import islice
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.common import Time, Types
from penstock.common.errors import CheckpointError
from penstock.connectors.collect import CollectSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.graph.transformations import SinkTransformation
from tests.runtime.in_process import start
from tests.state_processor.conftest import everything, numbers


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> pathlib.Path:
    """Two savepoints of one job, and its checkpoints."""
    env = StreamExecutionEnvironment.get_execution_environment()
    return two_savepoints(everything(env), tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="module")
def windows(tmp_path_factory: Any) -> pathlib.Path:
    """Two savepoints of a job with windows."""
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = numbers(env)
    windowed = stream.key_by(lambda v: v % 5, key_type=Types.LONG()).window(
        TumblingEventTimeWindows.of(Time.milliseconds(1000))
    )
    sums = windowed.reduce(lambda a, b: a + b).uid("w").set_parallelism(2)
    both = sums.union(stream.map(lambda v: v, Types.LONG()))
    return two_savepoints(both, tmp_path_factory.mktemp("windows"))


def two_savepoints(stream: Any, base: pathlib.Path) -> pathlib.Path:
    sink = CollectSink(Types.LONG())
    end = SinkTransformation("collect", (stream._transformation,), parallelism=1, sink=sink)
    settings = {"execution.epoch.max-records": "20", "execution.checkpointing.dir": str(base / "checkpoints")}
    settings["execution.checkpointing.externalized-checkpoint-retention"] = "RETAIN_ON_CANCELLATION"
    job = start([end], settings)
    rows = sink.iterator(job)
    list(islice(rows, 20))
    first = job.trigger_savepoint(str(base))
    list(islice(rows, 40))
    second = job.trigger_savepoint(str(base))
    job.cancel()
    shutil.move(first, base / "first")
    shutil.move(second, base / "second")
    return base


def run(*arguments: Any, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["state", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.stdout


def test_ls_of_a_folder_lists_checkpoints_and_savepoints(folder: pathlib.Path) -> None:
    found = json.loads(run("ls", folder, "--json"))
    kinds = {pathlib.Path(item["path"]).name: item["kind"] for item in found}
    assert kinds["first"] == kinds["second"] == "savepoint"
    assert any(name.startswith("chk-") and kind == "checkpoint" for name, kind in kinds.items())
    assert all(item["job_name"] == "test job" and item["state_bytes"] > 0 for item in found)
    assert [item["epoch"] for item in found] == sorted(item["epoch"] for item in found)
    text = run("ls", folder)
    assert str(folder / "first") in text and "KiB" in text


def test_ls_tells_what_cannot_be_used(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    shutil.copytree(folder / "first", tmp_path / "damaged")
    (tmp_path / "damaged" / "_metadata").write_bytes(b"x")
    (found,) = json.loads(run("ls", tmp_path, "--json"))
    assert "damaged" in found["problem"]


def problems(path: pathlib.Path, *options: str) -> dict[str, str]:
    """What `ls` says is wrong, by the last part of the path."""
    found = json.loads(run("ls", path, "--json", *options))
    return {pathlib.Path(item["path"]).name: item["problem"] for item in found}


def test_ls_finds_state_files_that_are_missing(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (shared,) = folder.glob("checkpoints/*/shared")
    assert not any(problems(folder).values())
    shutil.move(shared, tmp_path / "aside")
    try:
        found = problems(folder)
        checkpoint = next(path for path in folder.glob("checkpoints/*/chk-*"))
        text = run("ls", checkpoint)
    finally:
        shutil.move(tmp_path / "aside", shared)
    assert found.pop("first") == found.pop("second") == ""
    assert found and all("missing" in problem and str(shared) in problem for problem in found.values())
    assert "missing" in text and str(checkpoint) in text


def test_ls_finds_files_of_another_size(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    part = next(shutil.copytree(folder / "first", tmp_path / "copy").rglob("*.parquet"))
    size = part.stat().st_size
    part.write_bytes(part.read_bytes()[:100])
    assert problems(tmp_path) == {"copy": f"a file has 100 bytes instead of {size}: {part}"}


def test_ls_finds_changed_bytes_if_it_reads_all_files(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    part = next(shutil.copytree(folder / "first", tmp_path / "copy").rglob("*.parquet"))
    assert not any({**problems(folder, "--verify"), **problems(tmp_path, "--verify")}.values())
    (shared,) = folder.glob("checkpoints/*/shared")
    whole = {path: path.read_bytes() for path in shared.rglob("*") if path.is_file()}
    for path in (part, *whole):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    quickly = {**problems(folder), **problems(tmp_path)}
    found = {**problems(folder, "--verify"), **problems(tmp_path, "--verify")}
    for path, content in whole.items():
        path.write_bytes(content)
    assert not any(quickly.values())
    assert found.pop("first") == found.pop("second") == ""
    assert str(part) in found["copy"]
    assert len(found) > 1 and all("damaged" in problem for problem in found.values())


def test_ls_of_a_savepoint_lists_operators_states_and_sources(folder: pathlib.Path) -> None:
    shown = json.loads(run("ls", folder / "first", "--json"))
    (operator,) = (o for o in shown["operators"] if o["uid"] == "all")
    assert operator["parallelism"] == 2 and operator["key_type"] == "TUPLE<LONG,STRING>"
    states = {state["name"]: (state["kind"], state["type"]) for state in operator["states"]}
    assert states["stock"] == ("map", "STRING -> LONG") and states["seen"] == ("list", "LONG")
    assert next(iter(shown["sources"]["numbers"].values()))["position"].isdigit()
    text = run("ls", folder / "first")
    assert "STRING -> LONG" in text and "numbers" in text


def test_show_filters_by_key_and_limits(folder: pathlib.Path) -> None:
    path = folder / "first"
    everything = json.loads(run("show", path, "all", "total", "--json"))
    assert {row["key"][0] for row in everything} == {0, 1, 2, 3, 4}
    one = json.loads(run("show", path, "all", "seen", "--key", '[0, "k"]', "--json"))
    assert [row["key"] for row in one] == [[0, "k"]]
    assert one[0]["value"] == [n for n in one[0]["value"] if n % 5 == 0] and len(one[0]["value"]) > 1
    assert len(json.loads(run("show", path, "all", "timers", "--limit", 3, "--json"))) == 3
    text = run("show", path, "all", "stock", "--limit", 2)
    assert "map_key" in text and "more than 2 rows" in text
    assert "PICKLE" in run("show", path, "all")
    with pytest.raises(CheckpointError, match="has no keyed state 'nothing'"):
        run("show", path, "all", "nothing")


def test_windows_are_shown_by_a_process_that_has_nothing_of_the_job(windows: pathlib.Path) -> None:
    for state in ("timers", "window-contents"):
        command = [
            sys.executable,
            "-m",
            "penstock.cli.main",
            "state",
            "show",
            str(windows / "first"),
            "w",
            state,
        ]
        shown = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=120)
        assert [0, 1000] in [row["window"] for row in json.loads(shown.stdout)], shown.stderr


def test_a_checkpoint_shows_the_same_as_a_savepoint(folder: pathlib.Path) -> None:
    *_, checkpoint = [i for i in json.loads(run("ls", folder, "--json")) if i["kind"] == "checkpoint"]
    rows = json.loads(run("show", checkpoint["path"], "all", "person", "--json"))
    assert {row["key"][0]: row["value"]["age"] % 5 for row in rows} == {n: n for n in range(5)}


def test_a_folder_without_state_is_an_error(tmp_path: pathlib.Path) -> None:
    with pytest.raises(CheckpointError, match="there is no checkpoint or savepoint"):
        run("ls", tmp_path)


def test_diff_counts_and_shows_what_changed(folder: pathlib.Path) -> None:
    assert json.loads(run("diff", folder / "first", folder / "first", "--json"))["sources"] == []
    found = json.loads(run("diff", folder / "first", folder / "second", "-n", 1, "--json", code=1))
    (operator,) = (o for o in found["operators"] if o["uid"] == "all")
    states = {state["name"]: state for state in operator["states"]}
    assert operator["status"] == "changed" and states["person"]["changed"] == 5
    assert states["event"]["kind"] == "timer" and states["event"]["added"] > 0
    example = states["total"]["examples"][0]
    assert int(example["after"]) > int(example["before"])
    assert found["sources"][0]["uid"] == "numbers"
    assert "changed" in run("diff", folder / "first", folder / "second", code=1)


def test_diff_shows_what_tells_entries_of_a_key_apart(folder: pathlib.Path, windows: pathlib.Path) -> None:
    def examples(base: pathlib.Path, uid: str) -> dict[str, dict[str, Any]]:
        found = json.loads(run("diff", base / "first", base / "second", "-n", 1, "--json", code=1))
        (operator,) = (o for o in found["operators"] if o["uid"] == uid)
        return {state["name"]: state["examples"][0] for state in operator["states"] if state["examples"]}

    found = examples(folder, "all")
    assert found["stock"]["map_key"] in ('"i0"', '"i1"') and found["event"]["time"] > 10_000
    assert found["seen"]["chunk"] >= 0
    assert set(found["total"]) == {"key", "before", "after"}
    assert examples(windows, "w")["window-contents"]["window"] == "[0, 1000]"
    text = run("diff", folder / "first", folder / "second", "-n", 1, code=1)
    assert '"i0"' in text and str(found["event"]["time"]) in text
    assert "[0, 1000]" in run("diff", windows / "first", windows / "second", "-n", 1, code=1)
