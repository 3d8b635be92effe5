"""Savepoints of every version stay readable, and jobs go on from them exactly."""

from __future__ import annotations

import pathlib
import shutil
from collections import Counter
from typing import Any

import pytest

from penstock.checkpoint.contents import open_contents
from penstock.checkpoint.listing import describe, state_rows
from tests.compat import programs
from tests.runtime.in_process import StopAt

VERSIONS = sorted(path.parent.name for path in programs.FOLDER.glob("*/datastream"))


def test_there_are_stored_savepoints() -> None:
    assert VERSIONS


@pytest.fixture(scope="module")
def whole() -> Counter[Any]:
    _, rows = programs.start(programs.datastream(2), {})
    return Counter(rows)


@pytest.mark.parametrize("parallelism", [2, 3])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_program_goes_on_from_a_stored_savepoint(
    version: str, parallelism: int, whole: Counter[Any], tmp_path: pathlib.Path
) -> None:
    copied = shutil.copytree(programs.FOLDER / version / "datastream", tmp_path / "savepoint")
    stop = StopAt(programs.STOPPED_AT_EPOCH)
    job, rows = programs.start(programs.datastream(2), {}, stop)
    stop.stop(job, tmp_path)
    seen = Counter(rows)
    settings = {"execution.state-recovery.path": str(copied)}
    _, more = programs.start(programs.datastream(parallelism), settings)
    assert seen + Counter(more) == whole
    assert 0 < sum(seen.values()) < sum(whole.values())


@pytest.mark.parametrize("version", VERSIONS)
def test_the_tools_read_a_stored_savepoint(version: str) -> None:
    contents = open_contents(str(programs.FOLDER / version / "datastream"))
    states = {op.uid: {s.name: s.kind for s in op.states} for op in describe(contents)}
    assert states["everything"] == {
        "person": "value", "seen": "list", "stock": "map", "total": "reducing", "sum": "aggregating",
        "any": "value",
    }  # fmt: skip
    operator = contents.operator("everything")
    (seen,) = state_rows(operator, "seen", key="3")
    assert seen["value"] == list(range(3, seen["value"][-1] + 1, 7)) and len(seen["value"]) > 10
    (person,) = state_rows(operator, "person", key="3")
    assert person["value"] == {"name": f"p{seen['value'][-1]}", "age": len(seen["value"])}
    assert {row["domain"] for row in state_rows(operator, "timers")} == {"event"}
