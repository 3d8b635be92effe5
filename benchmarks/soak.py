"""A job at a steady rate for a long time, with restarts: does anything grow?

Every few seconds: memory of driver, JVM and Python workers, open files and threads of all of them, size of the
checkpoint folder. Workers and the driver are killed now and then. Writes a plot into docs as it goes, and says how
the second half compares with the first, and how much of the machine the job has used.

With `--tick-seconds 2` records come in a burst every two seconds, one epoch each, and the job sleeps in between:
that leaves most of the machine to others. With 0 they come one by one, and epochs follow each other.
usage: soak.py [--minutes 60] [--rate 5000] [--tick-seconds 0] [--restart-minutes 10] [--plot FILE] [--csv FILE]
"""

from __future__ import annotations

import argparse
import csv
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from sessions import members
from side_by_side import HERE, script

EVERY_S = 5
COLUMNS = ["driver MB", "JVM MB", "workers MB", "open files", "threads", "checkpoints MB", "checkpoint files"]


class Job:
    """The job's processes."""

    def __init__(self, folder: pathlib.Path, rate: int, tick_seconds: float) -> None:
        self._folder = folder
        self._rate = rate
        self._tick_seconds = tick_seconds
        self.starts = 0
        self._cpu_seconds: dict[int, float] = {}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self._folder / "log").open("ab") as log:
            command = script("engines/soak_job.py", self._folder, self._rate, self._tick_seconds)
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        self.starts += 1

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(60)

    def kill_a_worker(self) -> None:
        assert self._process is not None
        workers = [member.pid for member in members(self._process.pid) if member.kind == "worker"]
        if workers:
            os.kill(workers[-1], signal.SIGKILL)  # the first one is the daemon that makes the others

    def check(self) -> None:
        if self._process is None or self._process.poll() is not None:
            raise SystemExit(f"the job has ended:\n{(self._folder / 'log').read_text()[-3000:]}")

    @property
    def cpu_seconds(self) -> float:
        """Of all processes that there were, up to when they were last seen."""
        return sum(self._cpu_seconds.values())

    def epochs(self) -> int:
        """How many epochs are committed."""
        names = (path.name for path in (self._folder / "checkpoints").glob("*/chk-*"))
        return max((int(name.removeprefix("chk-")) for name in names), default=0)

    def sample(self) -> list[float]:
        assert self._process is not None
        found = members(self._process.pid)
        self._cpu_seconds.update({member.pid: member.cpu_seconds for member in found})
        memory = [sum(m.memory_mb for m in found if m.kind == kind) for kind in ("driver", "JVM", "worker")]
        files, threads = sum(m.open_files for m in found), sum(m.threads for m in found)
        sizes = [p.stat().st_size for p in _files(self._folder / "checkpoints")]
        return [*memory, files, threads, sum(sizes) / 1e6, len(sizes)]


def _files(folder: pathlib.Path) -> list[pathlib.Path]:
    found = []
    for path in folder.rglob("*"):
        try:
            if path.is_file():
                path.stat()
                found.append(path)
        except FileNotFoundError:
            continue
    return found


def run(arguments: argparse.Namespace) -> tuple[list[list[float]], str]:
    """The samples, and a sentence about the whole."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-soak-"))
    job, rows = Job(folder, arguments.rate, arguments.tick_seconds), []
    restart_s = arguments.restart_minutes * 60
    epochs = 0
    began = next_restart = time.monotonic()
    turn = 0
    try:
        job.start()
        next_restart += restart_s
        while (elapsed := time.monotonic() - began) < arguments.minutes * 60:
            time.sleep(EVERY_S)
            job.check()
            try:
                rows.append([round(elapsed, 1), *job.sample()])
            except FileNotFoundError:  # a file went while it was looked at
                continue
            epochs = max(epochs, job.epochs())
            if len(rows) % 12 == 0:
                write(rows, arguments)
            if time.monotonic() >= next_restart:
                next_restart += restart_s
                turn += 1
                if turn % 2:
                    job.kill_a_worker()
                else:
                    job.kill()
                    job.start()
    finally:
        job.kill()
        shutil.rmtree(folder, ignore_errors=True)
    write(rows, arguments)
    told = (
        f"{epochs:,} epochs, {turn} kills ({job.starts} starts of the driver), {arguments.rate:,} records/s, "
    )
    return rows, told + f"{job.cpu_seconds / rows[-1][0]:.2f} cores on average"


def write(rows: list[list[float]], arguments: argparse.Namespace) -> None:
    if arguments.csv:
        with arguments.csv.open("w", newline="") as file:
            csv.writer(file).writerows([["seconds", *COLUMNS], *rows])
    arguments.plot.write_text(plot(rows))


def plot(rows: list[list[float]]) -> str:
    """A line per figure, each scaled to its largest value."""
    width, height, left = 900, 110, 150
    last = max(rows[-1][0], 1.0)
    parts = []
    for number, name in enumerate(COLUMNS, start=1):
        values = [row[number] for row in rows]
        top = (number - 1) * height
        largest = max(*values, 1.0)
        points = " ".join(
            f"{left + (width - left) * row[0] / last:.1f},{top + height - 10 - 80 * row[number] / largest:.1f}"
            for row in rows
        )
        parts.append(
            f'<text x="4" y="{top + 60}">{name}</text><text x="4" y="{top + 78}">max {largest:,.0f}</text>'
        )
        parts.append(f'<polyline points="{points}" fill="none" stroke="#2b6cb0" stroke-width="1.5"/>')
        floor = top + height - 10
        parts.append(f'<line x1="{left}" x2="{width}" y1="{floor}" y2="{floor}" stroke="#ccc"/>')
    total = height * len(COLUMNS) + 24
    parts.append(f'<text x="{left}" y="{total - 6}">0 to {last / 60:.0f} minutes</text>')
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{total}" font-family="sans-serif" '
    )
    return head + 'font-size="13">' + "".join(parts) + "</svg>\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=int, default=5000)
    parser.add_argument("--tick-seconds", type=float, default=0)
    parser.add_argument("--restart-minutes", type=float, default=10)
    parser.add_argument("--plot", type=pathlib.Path, default=HERE.parent / "docs" / "images" / "soak.svg")
    parser.add_argument("--csv", type=pathlib.Path)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # not without killing the job
    rows, told = run(arguments)
    sys.stdout.write(told + "\n")
    half = len(rows) // 2
    sys.stdout.write(f"{'':18} {'first half':>12} {'second half':>12}   medians of {len(rows)} samples\n")
    for number, name in enumerate(COLUMNS, start=1):
        first = statistics.median(row[number] for row in rows[: half or 1])
        second = statistics.median(row[number] for row in rows[half:])
        sys.stdout.write(f"{name:18} {first:12,.1f} {second:12,.1f}\n")


if __name__ == "__main__":
    main()
