"""A job at a steady rate for a long time, with restarts: does anything grow?

Every few seconds: memory of driver, JVM and Python workers, open files and threads of all of them, size of the
checkpoint folder. Workers and the driver are killed now and then. Writes a CSV and a plot, and says how the second
half compares with the first.
usage: soak.py [--minutes 60] [--rate 5000] [--restart-minutes 10] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import csv
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from side_by_side import script

EVERY_S = 5
_DAEMON = re.compile(r"(pyspark|penstock\.runtime\.spark)\.daemon")
COLUMNS = ["driver MB", "JVM MB", "workers MB", "open files", "threads", "checkpoints MB", "checkpoint files"]


class Job:
    """The job's processes."""

    def __init__(self, folder: pathlib.Path, rate: int) -> None:
        self._folder = folder
        self._rate = rate
        self.starts = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self._folder / "log").open("ab") as log:
            command = script("engines/soak_job.py", self._folder, self._rate)
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        self.starts += 1

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(60)

    def kill_a_worker(self) -> None:
        workers = [pid for pid, kind in self._members().items() if kind == "worker"]
        if workers:
            os.kill(workers[-1], signal.SIGKILL)

    def check(self) -> None:
        if self._process is None or self._process.poll() is not None:
            raise SystemExit(f"the job has ended:\n{(self._folder / 'log').read_text()[-3000:]}")

    def _members(self) -> dict[int, str]:
        assert self._process is not None
        found = {}
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.getpgid(int(entry.name)) != self._process.pid:
                    continue
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except (OSError, ProcessLookupError):
                continue
            # The JVM names the module of the daemon in its settings: it has to be recognized first.
            kind = "JVM" if "java" in line.split(" ")[0] else "worker" if _DAEMON.search(line) else "driver"
            found[int(entry.name)] = kind
        return found

    def sample(self) -> list[float]:
        memory = {"driver": 0.0, "JVM": 0.0, "worker": 0.0}
        files = threads = 0
        for pid, kind in self._members().items():
            try:
                status = pathlib.Path(f"/proc/{pid}/status").read_text()
                files += len(os.listdir(f"/proc/{pid}/fd"))
            except OSError:
                continue
            memory[kind] += _field(status, "RssAnon") / 1024
            threads += int(_field(status, "Threads"))
        sizes = [p.stat().st_size for p in _files(self._folder / "checkpoints")]
        return [*memory.values(), files, threads, sum(sizes) / 1e6, len(sizes)]


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


def _field(status: str, name: str) -> float:
    match = re.search(rf"^{name}:\s+(\d+)", status, re.MULTILINE)
    return float(match[1]) if match else 0.0


def run(minutes: float, rate: int, restart_minutes: float, out: pathlib.Path) -> list[list[float]]:
    folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-soak-"))
    job, rows = Job(folder, rate), []
    began = next_restart = time.monotonic()
    turn = 0
    try:
        job.start()
        next_restart += restart_minutes * 60
        while (elapsed := time.monotonic() - began) < minutes * 60:
            time.sleep(EVERY_S)
            job.check()
            try:
                rows.append([round(elapsed, 1), *job.sample()])
            except FileNotFoundError:  # a file went while it was looked at
                continue
            if time.monotonic() >= next_restart:
                next_restart += restart_minutes * 60
                turn += 1
                if turn % 2:
                    job.kill_a_worker()
                else:
                    job.kill()
                    job.start()
    finally:
        job.kill()
        shutil.rmtree(folder, ignore_errors=True)
    with (out / "soak.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["seconds", *COLUMNS], *rows])
    (out / "soak.svg").write_text(plot(rows))
    return rows


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
    parser.add_argument("--restart-minutes", type=float, default=10)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    arguments = parser.parse_args()
    rows = run(arguments.minutes, arguments.rate, arguments.restart_minutes, arguments.out)
    half = len(rows) // 2
    sys.stdout.write(f"{'':18} {'first half':>12} {'second half':>12}   medians of {len(rows)} samples\n")
    for number, name in enumerate(COLUMNS, start=1):
        first = statistics.median(row[number] for row in rows[: half or 1])
        second = statistics.median(row[number] for row in rows[half:])
        sys.stdout.write(f"{name:18} {first:12,.1f} {second:12,.1f}\n")


if __name__ == "__main__":
    main()
