"""How long an event takes from its creation until a reader of the sink can see what became of it.

A process writes a file of stamped events into a folder every 50 ms, at a steady rate. A query reads the folder as it
grows and writes CSV files exactly once; this process polls the output and notes when each result appears.

    count     SELECT ts, k, COUNT(*) OVER (PARTITION BY k ORDER BY pt …): a running count per key, one result an event
    window    COUNT(*) and MAX(ts) per key and second of event time; its latency is that of the event that was last,
              so the watermark's wait for the next events is in it

Both engines run the same SQL, look for new files every 20 ms and have two slots. In Flink output is seen when a
checkpoint is complete, so its interval decides: it is measured with 1 s and with 100 ms. Here every epoch commits.
usage: latency.py [--rates 1000,10000,100000] [--seconds 20] [--queries count,window] [--engines …]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from engines.flink_cluster import flink_cluster
from side_by_side import flink_python, script

PROGRAM = "engines/latency_flink_api.py"
ENGINES = ("penstock", "Flink 1 s", "Flink 100 ms")
QUERIES = ("count", "window")
_TICK_SECONDS = 0.05
_WARM_UP_SECONDS = 10
_KEYS = 1_000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rates", default="1000,10000,100000")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--queries", default=",".join(QUERIES))
    parser.add_argument("--engines", default=",".join(ENGINES))
    arguments = parser.parse_args()
    print(f"latency in ms  ({os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f})")
    print(
        f"{'query':8s} {'events/s':>9s} {'engine':14s} {'p50':>8s} {'p95':>8s} {'p99':>8s} {'results':>10s}"
    )
    found = []
    for engine in arguments.engines.split(","):
        with launcher(engine) as (command, environment):
            for query in arguments.queries.split(","):
                for rate in map(int, arguments.rates.split(",")):
                    result = measure(command, environment, engine, query, rate, arguments.seconds)
                    found.append(result)
                    shown = "".join(f"{result[p]:8.0f} " for p in ("p50", "p95", "p99"))
                    print(f"{query:8s} {rate:9,d} {engine:14s} {shown} {result['results']:10,d}", flush=True)
    print(json.dumps({"title": "latency", "measured": found}))


@contextlib.contextmanager
def launcher(engine: str) -> Iterator[tuple[list[str], dict[str, str]]]:
    """How a program is started on an engine."""
    if engine == "penstock":
        yield [sys.executable], dict(os.environ)
        return
    with flink_cluster(flink_python(), []) as (command, environment):
        yield command, environment


def measure(
    command: list[str], environment: dict[str, str], engine: str, query: str, rate: int, seconds: int
) -> dict[str, float | int | str]:
    """One run: events come for the warm-up and `seconds`; those of the warm-up do not count."""
    with tempfile.TemporaryDirectory() as folder:
        base = pathlib.Path(folder)
        (base / "in").mkdir()
        (base / "out").mkdir()
        interval = "100 ms" if engine.endswith("100 ms") else "1 s"
        program = script(PROGRAM, folder, query, interval)[1:]
        with open(base / "log", "w") as log:
            job = subprocess.Popen([*command, *program], env=environment, stdout=log, stderr=log)
            try:
                await_start(base, job)
                latencies = follow(base, rate, seconds)
            finally:
                job.terminate()
                job.wait(60)
    latencies.sort()
    return {
        "engine": engine,
        "query": query,
        "rate": rate,
        "results": len(latencies),
        **{f"p{p}": quantile(latencies, p) for p in (50, 95, 99)},
    }


def quantile(ordered: list[float], percent: int) -> float:
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] if ordered else float("nan")


def await_start(base: pathlib.Path, job: subprocess.Popen[bytes]) -> None:
    """Writes single events until the first result is there: the engine is up."""
    deadline, number = time.monotonic() + 180, 0
    while not results(base):
        if job.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"the job did not start:\n{(base / 'log').read_text()[-3000:]}")
        write(base, f"start-{number}", 1)
        number += 1
        time.sleep(0.3)


def follow(base: pathlib.Path, rate: int, seconds: int) -> list[float]:
    """Writes events and reads results, by turns; the latency of each result in milliseconds."""
    begins = time.time()
    counts_from, stops = begins + _WARM_UP_SECONDS, begins + _WARM_UP_SECONDS + seconds
    per_tick, tick, seen, latencies = int(rate * _TICK_SECONDS), 0, results(base), list[float]()
    while (now := time.time()) < stops + 5:
        if now < stops and now >= begins + tick * _TICK_SECONDS:
            write(base, f"{tick:06d}", per_tick)
            tick += 1
        for path in results(base) - seen:
            seen.add(path)
            visible = time.time()
            for line in path.read_text().splitlines():
                created = int(line.split(",")[0]) / 1000
                if counts_from <= created < stops:
                    latencies.append((visible - created) * 1000)
        time.sleep(0.005)
    return latencies


def write(base: pathlib.Path, name: str, events: int) -> None:
    """A file of events that is there at once, as a whole."""
    stamp = int(time.time() * 1000)
    text = "".join(f"{stamp},{number % _KEYS}\n" for number in range(events))
    hidden = base / f".{name}"
    hidden.write_text(text)
    hidden.rename(base / "in" / f"{name}.csv")


def results(base: pathlib.Path) -> set[pathlib.Path]:
    """Committed files: both engines hide those that may still be taken back behind a dot or an underscore."""
    return {p for p in (base / "out").iterdir() if p.is_file() and not p.name.startswith((".", "_"))}


if __name__ == "__main__":
    main()
