"""Processes are killed with SIGKILL in the middle of epochs; the FileSink's output is exactly once.

`KILLS` says how often: 5 in `make test`, 50 in `make chaos`. When a kill comes is random, but seeded and printed.
"""

from __future__ import annotations

import os
import pathlib
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable

import pytest

KILLS = int(os.environ.get("PENSTOCK_KILLS", "5"))
SEED = int(os.environ.get("PENSTOCK_SEED", "7"))
NUMBERS = 4_000 * KILLS
RECORDS_PER_EPOCH = 400
JOB = pathlib.Path(__file__).with_name("job.py")

pytestmark = [pytest.mark.spark, pytest.mark.chaos, pytest.mark.timeout(60 + 60 * KILLS)]


def start(folder: pathlib.Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(JOB), str(folder / "out"), str(folder / "chk"), str(NUMBERS)]
    log = (folder / "job.log").open("ab")
    return subprocess.Popen(
        [*command, str(RECORDS_PER_EPOCH)], stdout=log, stderr=log, start_new_session=True
    )


def children(pid: int) -> dict[int, str]:
    """All descendants of a process, with their command lines."""
    found: dict[int, str] = {}
    parents = defaultdict(list)
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except (FileNotFoundError, ProcessLookupError):
                continue
            parents[int(stat.rsplit(")", 1)[1].split()[1])].append((int(entry.name), line))
    stack = [pid]
    while stack:
        for child, line in parents[stack.pop()]:
            found[child] = line
            stack.append(child)
    return found


def workers(pid: int) -> list[int]:
    """Python workers: forks of the pyspark daemon, with the same command line."""
    python = [p for p, line in children(pid).items() if "pyspark.daemon" in line]
    return [p for p in python if any(p in children(daemon) for daemon in python)]


def epochs_done(folder: pathlib.Path) -> int:
    names = [p.name for p in (folder / "chk").glob("*/chk-*")]
    return max((int(n.split("-")[1]) for n in names), default=0)


def wait_for(condition: Callable[[], bool], job: subprocess.Popen[bytes], folder: pathlib.Path) -> bool:
    """Waits until the condition holds (True) or the job has ended (False)."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if condition():
            return True
        if job.poll() is not None:
            return False
        time.sleep(0.02)
    log = (folder / "job.log").read_text()[-3000:]
    raise AssertionError(f"nothing happened for 120 s; epochs: {epochs_done(folder)}; log:\n{log}")


def check_output(folder: pathlib.Path) -> None:
    """Every number once, and every count of every key once and in order."""
    lines = [
        line
        for path in (folder / "out").rglob("*.csv")
        if not path.name.startswith(".")
        for line in path.read_text().splitlines()
    ]
    rows = [tuple(map(int, line.split(","))) for line in lines]
    assert sorted(number for _, number, _ in rows) == list(range(NUMBERS))
    by_key = defaultdict(list)
    for key, _, count in rows:
        by_key[key].append(count)
    for key, counts in by_key.items():
        assert sorted(counts) == list(range(1, len(counts) + 1)), f"key {key}"


def test_output_is_exactly_once_when_python_workers_are_killed(tmp_path: pathlib.Path) -> None:
    chance = random.Random(SEED)
    job = start(tmp_path)
    killed = 0
    try:
        while killed < KILLS:
            before = epochs_done(tmp_path)
            if not wait_for(
                lambda b=before: epochs_done(tmp_path) > b and bool(workers(job.pid)), job, tmp_path
            ):
                break
            time.sleep(chance.uniform(0, 0.4))
            victims = workers(job.pid)
            if victims:
                os.kill(chance.choice(victims), signal.SIGKILL)
                killed += 1
        assert job.wait(300) == 0, (tmp_path / "job.log").read_text()[-3000:]
    finally:
        stop(job)
    assert killed == KILLS, f"the job ended after {killed} kills: give it more numbers"
    check_output(tmp_path)


def test_output_is_exactly_once_when_the_driver_is_killed(tmp_path: pathlib.Path) -> None:
    chance = random.Random(SEED + 1)
    for kill in range(KILLS):
        job = start(tmp_path)
        try:
            before = epochs_done(tmp_path)
            more = chance.randint(1, 3)
            running = wait_for(lambda b=before, m=more: epochs_done(tmp_path) >= b + m, job, tmp_path)
            assert running, f"the job ended after {kill} kills: give it more numbers"
            time.sleep(chance.uniform(0, 0.4))
        finally:
            stop(job)
    last = start(tmp_path)
    try:
        assert last.wait(300) == 0, (tmp_path / "job.log").read_text()[-3000:]
    finally:
        stop(last)
    check_output(tmp_path)


def stop(job: subprocess.Popen[bytes]) -> None:
    """SIGKILL for the driver, its JVM and the workers: the whole process group of this job."""
    if job.poll() is None:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait(30)
