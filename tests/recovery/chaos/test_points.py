"""Every named point of the epoch protocol is crashed at, by an error and by SIGKILL; nothing is lost or doubled."""

from __future__ import annotations

import json
import pathlib
import signal
from collections.abc import Iterator

import pytest
from processes import lines

from chaos import jobs
from chaos.faults import Fault
from chaos.victim import OK, Victims, victims
from penstock.common.points import Point

NUMBERS = 400
RECORDS = {"stream": 40, "sql": 15}
STARTS = (Point.RESTORE_FOUND, Point.RESTORE_SWEPT, Point.RESTORE_PUBLISHED)
"""Points that only a job reaches that was started again."""


@pytest.fixture(scope="module")
def server() -> Iterator[Victims]:
    with victims() as started:
        yield started


@pytest.mark.parametrize(("job", "kind"), [("stream", "driver killed"), ("sql", "exception")])
@pytest.mark.parametrize("point", Point, ids=lambda p: p.name)
def test_nothing_is_lost_or_doubled_by_a_crash_at(
    point: Point, job: str, kind: str, server: Victims, tmp_path: pathlib.Path
) -> None:
    run(server, job, tmp_path, point, kind)


def run(server: Victims, job: str, folder: pathlib.Path, point: Point, kind: str) -> None:
    jobs.prepare(job, folder, NUMBERS)
    records = RECORDS[job]
    ordered = [Fault("driver killed", Point.PLANNED.name, 3)] if point in STARTS else []
    codes = []
    if ordered:
        codes.append(server.run(job, folder, NUMBERS, faults=ordered, records=records))
    once = point in STARTS or point.name.startswith(("END", "RETAIN", "SAVEPOINT"))
    fault = Fault(kind, point.name, 1 if once else 2)
    codes.append(server.run(job, folder, NUMBERS, faults=[fault], savepoint_at=3, records=records))
    assert point.name in struck(folder), f"the job never came to {point.name}"
    if kind == "driver killed":
        assert codes[-1] == -signal.SIGKILL
    if codes[-1] != OK:
        codes.append(server.run(job, folder, NUMBERS, records=records))
    assert codes[-1] == OK, (folder / "job.log").read_text()[-3000:]
    assert sorted(lines(folder / "out")) == jobs.MODEL[job](NUMBERS)


def struck(folder: pathlib.Path) -> list[str]:
    path = folder / "struck"
    return [json.loads(line)["point"] for line in path.read_text().splitlines()] if path.exists() else []
