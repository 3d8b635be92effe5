"""Starts a program, watches its checkpoints and kills its processes; what the recovery tests share."""

from __future__ import annotations

import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

KILLS = int(os.environ.get("PENSTOCK_KILLS", "3"))
SEED = int(os.environ.get("PENSTOCK_SEED", "7"))

_SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a JVM that is killed after some seconds; its start then takes about half of the CPU time."""
_NOTHING_S = 600
_STALLED_S = 300
"""A result that does not change for so long will not change any more. Where ten others wanted each core, a job
of one epoch took more than two minutes."""
_DAEMON = re.compile(r" -m (pyspark|penstock\.runtime\.spark)\.daemon ")

Start = Callable[[], "subprocess.Popen[bytes]"]


def start(folder: pathlib.Path, program: pathlib.Path, *arguments: object) -> subprocess.Popen[bytes]:
    """The program in a process group of its own; what it says goes to job.log."""
    with (folder / "job.log").open("ab") as log:
        command = [sys.executable, str(program), *map(str, arguments)]
        return subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "JAVA_TOOL_OPTIONS": _SHORT_LIVED},
        )


def children(pid: int) -> dict[int, tuple[int, str]]:
    """All descendants of a process: parent and command line of each."""
    by_parent = defaultdict(list)
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except (FileNotFoundError, ProcessLookupError):
                continue
            by_parent[int(stat.rsplit(")", 1)[1].split()[1])].append((int(entry.name), line))
    found: dict[int, tuple[int, str]] = {}
    stack = [pid]
    while stack:
        parent = stack.pop()
        for child, line in by_parent[parent]:
            found[child] = (parent, line)
            stack.append(child)
    return found


def workers(pid: int) -> list[int]:
    """Python workers: forks of the daemon (Spark's or ours), with the same command line."""
    python = {p: parent for p, (parent, line) in children(pid).items() if _DAEMON.search(line)}
    return [p for p, parent in python.items() if parent in python]


def client_processes(pid: int) -> list[int]:
    """The processes in which Kafka clients of the driver live."""
    return [p for p, (_, line) in children(pid).items() if "connectors.kafka.client_process" in line]


def epochs_done(folder: pathlib.Path) -> int:
    names = [p.name for p in (folder / "chk").glob("*/chk-*")]
    return max((int(n.split("-")[1]) for n in names), default=0)


def wait_for(condition: Callable[[], bool], job: subprocess.Popen[bytes], folder: pathlib.Path) -> bool:
    """Waits until the condition holds (True) or the job has ended (False)."""
    deadline = time.monotonic() + _NOTHING_S
    while time.monotonic() < deadline:
        if condition():
            return True
        if job.poll() is not None:
            return False
        time.sleep(0.05)
    raise AssertionError(
        f"nothing happened for {_NOTHING_S} s; epochs: {epochs_done(folder)}; log:\n{log_of(folder)}"
    )


def wait_for_result(
    wanted: Any, result: Callable[[], Any], job: subprocess.Popen[bytes], folder: pathlib.Path
) -> None:
    """Waits until the result is what is wanted, as long as it keeps changing."""
    found, deadline = result(), time.monotonic() + _STALLED_S
    while found != wanted:
        assert job.poll() is None, f"the job ended\n{log_of(folder)}"
        if time.monotonic() > deadline:
            return  # the caller compares them, and says where they differ
        time.sleep(0.2)
        before, found = found, result()
        if found != before:
            deadline = time.monotonic() + _STALLED_S


def wait_for_end(job: subprocess.Popen[bytes], folder: pathlib.Path) -> None:
    """Waits until the job has ended well, as long as its epochs advance."""
    while wait_for(lambda b=epochs_done(folder): epochs_done(folder) > b, job, folder):
        pass
    assert job.wait() == 0, log_of(folder)


def run_killing_workers(folder: pathlib.Path, begin: Start, kills: int = KILLS) -> None:
    """Runs the program to its end while its Python workers are killed, `kills` times."""
    chance = random.Random(SEED)
    job = begin()
    killed = 0
    try:
        while killed < kills:
            before = epochs_done(folder)
            if not wait_for(lambda b=before: epochs_done(folder) > b and bool(workers(job.pid)), job, folder):
                break
            time.sleep(chance.uniform(0, 0.4))
            victims = workers(job.pid)
            if victims:
                os.kill(chance.choice(victims), signal.SIGKILL)
                killed += 1
        wait_for_end(job, folder)
    finally:
        stop(job)
    assert killed == kills, f"the job ended after {killed} kills: give it more to do"


def run_killing_drivers(folder: pathlib.Path, begin: Start, last: Start, kills: int = KILLS) -> None:
    """Starts the program, kills it after an epoch or more, and again, then lets the last one run to its end.

    Args:
        last: The same program; it may have larger epochs, as nobody kills it.
    """
    chance = random.Random(SEED + 1)
    for kill in range(kills):
        job = begin()
        try:
            before = epochs_done(folder)
            more = chance.randint(1, 3)
            running = wait_for(lambda b=before, m=more: epochs_done(folder) >= b + m, job, folder)
            assert running, f"the job ended after {kill} kills: give it more to do\n{log_of(folder)}"
            time.sleep(chance.uniform(0, 0.4))
        finally:
            stop(job)
    job = last()
    try:
        wait_for_end(job, folder)
    finally:
        stop(job)


def lines(folder: pathlib.Path) -> list[str]:
    """What the visible files below a folder hold: those that neither they nor their folders are hidden."""
    return [
        line
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
        for line in path.read_text().splitlines()
    ]


def stop(job: subprocess.Popen[bytes]) -> None:
    """SIGKILL for the driver, its JVM and the workers: the whole process group of this job."""
    if job.poll() is None:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait(30)


def log_of(folder: pathlib.Path) -> str:
    return (folder / "job.log").read_text()[-3000:]
