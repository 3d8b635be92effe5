"""Shared by the benchmarks: runs the same job on several engines, one after the other, and prints ratios.

Every engine runs in a process of its own, prints one JSON line with `rows` and `seconds` (of the job itself, after
a warm-up where the engine has one) and is the only thing running. Absolute numbers are the machine's; trust ratios.
"""

from __future__ import annotations

import json
import os
import pathlib
import platform
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

HERE = pathlib.Path(__file__).parent


@dataclass(frozen=True)
class Measurement:
    """One engine's result."""

    engine: str
    rows: int
    seconds: float

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds


def flink_python() -> str:
    """The Python that has real PyFlink; installs it on first use."""
    done = subprocess.run(
        [str(HERE / "setup_flink.sh")], capture_output=True, text=True, check=True, timeout=1800
    )
    return done.stdout.strip().splitlines()[-1]


def run(engine: str, command: list[str], timeout_s: int = 900) -> Measurement:
    """Runs a command that tells its rows and seconds."""
    path = os.path.dirname(command[0]) + os.pathsep + os.environ["PATH"]
    result = told_by(engine, command, {**os.environ, "PATH": path}, timeout_s)
    return Measurement(engine, result["rows"], result["seconds"])


def told_by(
    engine: str, command: list[str], environment: dict[str, str] | None = None, timeout_s: int = 3600
) -> dict[str, Any]:
    """Runs a command; what the JSON object says that it prints as its last line in braces."""
    print(f"{time.strftime('%H:%M:%S')} {engine} ...", file=sys.stderr, flush=True)
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, env=environment)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise SystemExit(f"{engine} failed:\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}")
    result: dict[str, Any] = json.loads(lines[-1])
    return result


def report(title: str, measurements: list[Measurement], base: str) -> None:
    """A table with rows per second and how many times faster `base` is."""
    rate = {m.engine: m.rows_per_second for m in measurements}
    print(f"\n{title}  ({os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()})")
    print(f"{'engine':42s} {'rows':>11s} {'seconds':>9s} {'rows/s':>11s}   {base} is")
    for m in measurements:
        ratio = rate[base] / m.rows_per_second
        print(f"{m.engine:42s} {m.rows:11,d} {m.seconds:9.2f} {m.rows_per_second:11,.0f}   {ratio:8.1f} x")
    print(json.dumps({"title": title, "rows_per_second": {k: round(v) for k, v in rate.items()}}))


def script(name: str, *arguments: object, python: str = sys.executable) -> list[str]:
    return [python, str(HERE / name), *map(str, arguments)]
