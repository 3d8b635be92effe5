"""A pattern of three steps over 10,000 keys through the pattern API, on two cores.

An event is a number n: its key is n mod 10,000, its kind one of ten, drawn from n, its time n / 10 ms. The pattern is
kind 0, then 1, then 2, each followed by the next, within ten seconds of event time, so that a partial match lives for
about ten events of its key. The readers share the numbers so that they move through the same time, as readers of
partitions do. With --apart each reads a part of the time of its own: the events of all but the first wait for the
watermark of the first, in state. Told are events per second, matches, and how much memory a worker took at most, over
a tenth of the events and over all: it must not grow with their number.

usage: cep.py [--events 2000000] [--parallelism 2] [--apart]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import time
from typing import Any

from penstock.cep import CEP, Pattern
from penstock.common import Configuration, Duration, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.number_seq import NumberSequenceSource

KEYS = 10_000


def kind_of(number: int) -> int:
    """One of ten kinds; a cheap hash, so that the kinds of a key's events have no pattern of their own."""
    return (number * 2_654_435_761 >> 16) % 10


def pattern() -> Pattern:
    return (
        Pattern.begin("first")
        .where(lambda event: event[1] == 0)
        .followed_by("second")
        .where(lambda event: event[1] == 1)
        .followed_by("third")
        .where(lambda event: event[1] == 2)
        .within(Duration.of_seconds(10))
    )


def run(events: int, parallelism: int, apart: bool = False) -> tuple[float, int]:
    """Seconds of the job, and how many matches it found."""
    share = (
        events if apart else -(-events // parallelism)
    )  # of the numbers, the first ones go to the first reader

    def event(number: int) -> tuple[int, int, int]:
        n = number if apart else number % share * parallelism + number // share
        return n % KEYS, kind_of(n), n

    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    env.set_parallelism(parallelism)
    numbers = env.from_source(
        NumberSequenceSource(0, events - 1), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()
    )
    by_number = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_seconds(2)
    ).with_timestamp_assigner(lambda event, _: event[2] // 10)
    row = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
    stream = numbers.map(event, row).assign_timestamps_and_watermarks(by_number)
    found = CEP.pattern(stream.key_by(lambda event: event[0], Types.LONG()), pattern()).select(
        lambda match: 1, output_type=Types.INT()
    )
    started = time.time()
    with found.execute_and_collect() as results:  # type: ignore[union-attr]
        matches = sum(1 for _ in results)
    return time.time() - started, matches


def worker_memory_mb() -> int:
    """The largest resident size that a Python worker of this process has had."""
    statuses = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as file:
            statuses[pid] = dict(line.split(":", 1) for line in file if ":" in line)

    def is_own(pid: str) -> bool:
        parent = statuses[pid]["PPid"].strip() if pid in statuses else "0"
        return parent == str(os.getpid()) or (parent != "0" and is_own(parent))

    workers = [status for pid, status in statuses.items() if is_own(pid) and "python" in status["Name"]]
    return max((int(status["VmHWM"].split()[0]) // 1024 for status in workers), default=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--apart", action="store_true", help="readers are far apart in time")
    arguments = parser.parse_args()
    # Starts Spark and its Python workers, as a running cluster would have them.
    run(50_000, arguments.parallelism)
    told: dict[str, Any] = {"machine": f"{os.cpu_count()} cores, {platform.machine()}"}
    for events in (arguments.events // 10, arguments.events):
        seconds, matches = run(events, arguments.parallelism, arguments.apart)
        memory = worker_memory_mb()
        told[f"{events} events"] = {
            "events/s": round(events / seconds),
            "matches": matches,
            "worker MB": memory,
        }
        print(f"{events:11,d} events  {events / seconds:9,.0f}/s  {matches:9,d} matches  {memory:5d} MB")
    print(json.dumps(told))


if __name__ == "__main__":
    main()
