"""How long an event takes from its creation until a reader of the sink can see what became of it.

A process of its own writes a file of stamped events into a folder every 50 ms, at a steady rate. A query reads the
folder as it grows and writes CSV files exactly once; this process looks at the output folder every 5 ms to see when
a file appears under its final name, which is when a reader would see it. What is in the files is read afterwards.

    count     SELECT ts, k, COUNT(*) OVER (PARTITION BY k ORDER BY pt …): a running count per key, one result an event
    window    COUNT(*) and MAX(ts) per key and second of event time; its latency is that of the event that was last,
              so the watermark's wait for the next events is in it

Both engines run the same SQL, look for new files every 20 ms, have two slots and keep checkpoints on disk. In Flink
output is seen when a checkpoint is complete, so its interval decides: it is measured with 1 s and with 100 ms. Here
every epoch commits. Events of the warm-up do not count; a result that should be there and is not when the run ends
counts as one that takes for ever, so an engine that falls behind cannot look fast.
usage: latency.py [--quick] [--rates 1000,10000,100000] [--seconds 20] [--queries count,window] [--engines …]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass

from engines.flink_cluster import cancel_jobs, flink_cluster
from engines.latency_events import write
from side_by_side import flink_python, script

PROGRAM = "engines/latency_flink_api.py"
EVENTS = "engines/latency_events.py"
ENGINES = ("penstock", "Flink 1 s", "Flink 100 ms")
QUERIES = ("count", "window")
_LOOK_SECONDS = 0.005
_START_SECONDS = 180


@dataclass(frozen=True)
class Phases:
    """Seconds: events of `counted` are measured; those before warm the engine up, those behind keep it busy."""

    warm_up: int
    counted: int
    after: int


def main() -> None:
    arguments = parsed()
    phases = Phases(8, 12, 4) if arguments.quick else Phases(30, arguments.seconds, 5)
    print(f"latency in ms  ({os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f})")
    heads = "".join(f"{name:>8s} " for name in ("p50", "p95", "p99"))
    print(f"{'query':8s} {'events/s':>9s} {'engine':14s} {heads}{'results':>10s} {'missing':>8s}")
    found = []
    for engine in arguments.engines.split(","):
        with launcher(engine) as (command, environment):
            for query in arguments.queries.split(","):
                for rate in map(int, arguments.rates.split(",")):
                    result = measure(command, environment, engine, query, rate, phases)
                    found.append(result)
                    shown = "".join(f"{result[p]:8.0f} " for p in ("p50", "p95", "p99"))
                    counts = f"{result['results']:10,d} {result['missing']:8,d}"
                    print(f"{query:8s} {rate:9,d} {engine:14s} {shown}{counts}", flush=True)
    told = [{k: None if v == math.inf else v for k, v in result.items()} for result in found]
    print(json.dumps({"title": "latency", "measured": told}))


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="10,000 events/s only, shorter: about 5 minutes")
    parser.add_argument("--rates")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--queries", default=",".join(QUERIES))
    parser.add_argument("--engines", default=",".join(ENGINES))
    arguments = parser.parse_args()
    arguments.rates = arguments.rates or ("10000" if arguments.quick else "1000,10000,100000")
    return arguments


@contextlib.contextmanager
def launcher(engine: str) -> Iterator[tuple[list[str], dict[str, str]]]:
    """How a program is started on an engine."""
    if engine == "penstock":
        yield [sys.executable], dict(os.environ)
        return
    with flink_cluster(flink_python(), []) as (command, environment):
        yield command, environment


def measure(
    command: list[str], environment: dict[str, str], engine: str, query: str, rate: int, phases: Phases
) -> dict[str, float | int | str]:
    """One run of a query on an engine."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        base = pathlib.Path(folder)
        for name in ("in", "out", "checkpoints"):
            (base / name).mkdir()
        interval = "100 ms" if engine.endswith("100 ms") else "1 s"
        program = script(PROGRAM, folder, query, interval)[1:]
        with running([*command, *program], environment, base / "log") as job:
            try:
                await_start(base, job)
                counts_from, stops, seen = follow(base, rate, phases, job)
            finally:
                cancel_jobs(environment)
        latencies = latencies_of(base / "out", seen, counts_from, stops)
        missing = expected(base, query, counts_from, stops) - len(latencies)
    ordered = sorted(latencies) + [math.inf] * max(0, missing)
    return {
        "engine": engine,
        "query": query,
        "rate": rate,
        "results": len(latencies),
        "missing": missing,
        **{f"p{p}": quantile(ordered, p) for p in (50, 95, 99)},
    }


def quantile(ordered: list[float], percent: int) -> float:
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] if ordered else math.nan


@contextlib.contextmanager
def running(
    command: list[str], environment: dict[str, str], log: pathlib.Path
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is gone afterwards."""
    with open(log, "w") as out:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=out)
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def await_start(base: pathlib.Path, job: subprocess.Popen[bytes]) -> None:
    """Writes single events until the first result is there: the engine is up."""
    deadline, number = time.monotonic() + _START_SECONDS, 0
    while not results(base):
        if job.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"the job did not start:\n{(base / 'log').read_text()[-3000:]}")
        write(base, f"start-{number}", 1)
        number += 1
        time.sleep(0.3)


def follow(
    base: pathlib.Path, rate: int, phases: Phases, job: subprocess.Popen[bytes]
) -> tuple[float, float, dict[str, float]]:
    """Lets events come for the three phases; when events counted, and when each file of results was seen first."""
    seen: dict[str, float] = {}
    with running(script(EVENTS, base, rate), dict(os.environ), base / "events.log"):
        counts_from = time.time() + phases.warm_up
        stops = counts_from + phases.counted
        while time.time() < stops + phases.after and job.poll() is None:
            new = results(base) - seen.keys()
            now = time.time()
            seen.update(dict.fromkeys(new, now))
            time.sleep(_LOOK_SECONDS)
    if job.poll() is not None:
        raise SystemExit(f"the job ended:\n{(base / 'log').read_text()[-3000:]}")
    return counts_from, stops, seen


def latencies_of(out: pathlib.Path, seen: dict[str, float], counts_from: float, stops: float) -> list[float]:
    """In milliseconds, of all results whose events count."""
    found = []
    for name, visible in seen.items():
        for line in (out / name).read_text().splitlines():
            created = int(line.split(",")[0]) / 1000
            if counts_from <= created < stops:
                found.append((visible - created) * 1000)
    return found


def expected(base: pathlib.Path, query: str, counts_from: float, stops: float) -> int:
    """How many results the events that count have to have: one each, or one per key and second."""
    events, last = 0, dict[tuple[str, int], int]()
    for path in (base / "in").glob("*.csv"):
        for line in path.read_text().splitlines():
            stamp, key = line.split(",")
            created = int(stamp)
            events += counts_from * 1000 <= created < stops * 1000
            slot = (key, created // 1000)
            last[slot] = max(last.get(slot, 0), created)
    if query == "count":
        return events
    return sum(counts_from * 1000 <= created < stops * 1000 for created in last.values())


def results(base: pathlib.Path) -> set[str]:
    """Committed files: both engines hide those that may still be taken back behind a dot or an underscore.

    Names only, since this runs 200 times a second beside the engine that is measured.
    """
    return {name for name in os.listdir(base / "out") if not name.startswith((".", "_"))}


if __name__ == "__main__":
    main()
