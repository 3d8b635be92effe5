"""What metrics cost a job: the keyed count of rest_load.py without them, with them, and with a counter of its own.

    without     the driver keeps no totals of operators, subtasks and checkpoints; no reporter
    with        as it is, and two reporters: Prometheus, which is scraped every second, and lines of JSON every second
    counter     the same, and the function counts every record in a counter that it has registered

Tasks count the records of each batch in any case: their reports carry that for other reasons, too. Runs take turns,
and the best of each kind counts, because what disturbs a run makes it slower only.
usage: metrics_cost.py [--seconds 20] [--rounds 5] [--parallelism CORES-1]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import socket
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from typing import Any
from unittest import mock

import cloudpickle
import rest_load
from rest_load import KEYS, Count, rate_of

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.datagen import DataGeneratorSource
from penstock.runtime.running_job import RunningJob
from penstock.runtime.statistics import JobStatistics

WARM_UP_S = 8
MOST_LOSS = 0.02
KINDS = ("without", "with", "counter")


class CountingCount(Count):
    """The count, with a metric of its own."""

    def open(self, runtime_context: Any) -> None:
        super().open(runtime_context)
        self.seen = runtime_context.get_metrics_group().counter("seen")

    def process_element(self, value: int, ctx: Any) -> Any:
        self.seen.inc()
        yield from super().process_element(value, ctx)


@contextlib.contextmanager
def no_totals() -> Iterator[None]:
    """Everything that statistics keep for metrics is left out; records and the lengths of epochs are not."""
    nothing = lambda *_, **__: None  # noqa: E731
    names = ("_count_operators", "_count_subtasks", "_note_checkpoint")
    with contextlib.ExitStack() as stack:
        for name in names:
            stack.enter_context(mock.patch.object(JobStatistics, name, nothing))
        yield


@contextlib.contextmanager
def scraped(port: int) -> Iterator[list[int]]:
    """Asks Prometheus's port every second; the sizes of what it told."""
    over, sizes = threading.Event(), []

    def scrape() -> None:
        while not over.wait(1.0):
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as told,
            ):
                sizes.append(len(told.read()))

    thread = threading.Thread(target=scrape)
    thread.start()
    try:
        yield sizes
    finally:
        over.set()
        thread.join()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def start_job(kind: str, port: int, folder: str, parallelism: int) -> RunningJob:
    settings = {} if kind == "without" else reporters(port, folder)
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(parallelism)
    source = DataGeneratorSource(lambda i: i, None, None, Types.LONG())
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    count = CountingCount() if kind == "counter" else Count()
    numbers.key_by(lambda v: v % KEYS, key_type=Types.LONG()).process(count, Types.LONG()).print()
    return env.submit(f"count {kind}")


def reporters(port: int, folder: str) -> dict[str, str]:
    return {
        "metrics.reporter.prom.factory.class": "prom",
        "metrics.reporter.prom.port": str(port),
        "metrics.reporter.lines.factory.class": "jsonlines",
        "metrics.reporter.lines.path": str(pathlib.Path(folder) / "metrics.jsonl"),
        "metrics.reporter.lines.interval": "1 s",
    }


def measure(kind: str, seconds: float, parallelism: int) -> float:
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        if kind == "without":
            stack.enter_context(no_totals())
        job = start_job(kind, port, folder, parallelism)
        stack.callback(job.cancel)
        sizes = stack.enter_context(scraped(port)) if kind != "without" else []
        rate_of(job, WARM_UP_S)
        rate = rate_of(job, seconds)
        if kind != "without" and not sizes:
            raise SystemExit("Prometheus has told nothing")
    return rate


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--parallelism", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    options = parser.parse_args()
    cloudpickle.register_pickle_by_value(rest_load)  # workers do not find this folder
    measure("without", 5, options.parallelism)  # starts Spark and warms its code up
    rates: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(options.rounds):
        for kind in KINDS:
            rates[kind].append(measure(kind, options.seconds, options.parallelism))
    best = {kind: max(found) for kind, found in rates.items()}
    print(
        f"keyed count, parallelism {options.parallelism} on {os.cpu_count()} cores, best of {options.rounds}"
    )
    for kind, rate in best.items():
        spread = (rate - min(rates[kind])) / rate
        print(
            f"  {kind:10s} {rate:12,.0f} rows/s   {1 - rate / best['without']:6.1%} lost   (spread {spread:.0%})"
        )
    holds = 1 - best["with"] / best["without"] < MOST_LOSS
    print(f"  less than {MOST_LOSS:.0%} lost: {'yes' if holds else 'NO'}")
    print(json.dumps({"rows_per_second": rates}))


if __name__ == "__main__":
    main()
