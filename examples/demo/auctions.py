"""The demo: a live auction house on local Spark, about 30 seconds.

A generator makes bids. Two things happen to them, each drawn on the terminal as its results come:

- keyed state: per auction the highest bid so far is kept in ValueState; a new leader is announced
- event time: bids are counted and summed per category in 5-second windows, closed by watermarks

usage: auctions.py [--seconds 30] [--rate 20000]
"""

from __future__ import annotations

import argparse
import time
from collections import deque
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table

from penstock.common import Duration, Time, Types, WatermarkStrategy
from penstock.datastream import (
    AggregateFunction,
    KeyedProcessFunction,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows

CATEGORIES = ["art", "books", "clocks", "maps", "wine"]
AUCTIONS = 200
START_MS = 1_700_000_000_000
BID = Types.TUPLE([Types.INT(), Types.STRING(), Types.INT(), Types.LONG()])
LEADERS = OutputTag("leaders", Types.TUPLE([Types.STRING(), Types.INT(), Types.INT()]))
RESULT = Types.TUPLE([Types.STRING(), Types.STRING(), Types.LONG(), Types.LONG()])


class MakeBid:
    """Bid number i: auction, category, price, time. A pure function of i, so that a retry makes the same bid."""

    def __init__(self, rate: int) -> None:
        self.rate = rate

    def __call__(self, i: int) -> tuple[int, str, int, int]:
        scattered = i * 2_654_435_761 % 2**32
        auction = scattered % AUCTIONS
        price = 10 + scattered // 7 % 400 + i // (self.rate * 2)
        return auction, CATEGORIES[auction % len(CATEGORIES)], price, START_MS + i * 1000 // self.rate


class Leader(KeyedProcessFunction):
    """Keeps each auction's highest bid and tells when it is beaten."""

    def open(self, runtime_context: Any) -> None:
        self.highest = runtime_context.get_state(ValueStateDescriptor("highest", Types.INT()))

    def process_element(self, bid: Any, ctx: Any) -> Any:
        highest = self.highest.value()
        if highest is None or bid[2] > highest:
            self.highest.update(bid[2])
            yield LEADERS, (f"{bid[1]} #{bid[0]}", highest or 0, bid[2])
        yield bid


class Volume(AggregateFunction):
    """How many bids, and what they add up to."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, bid: Any, acc: tuple[int, int]) -> tuple[int, int]:
        return acc[0] + 1, acc[1] + bid[2]

    def get_result(self, acc: tuple[int, int]) -> tuple[int, int]:
        return acc

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


class Labelled(ProcessWindowFunction):
    """Adds the window and the category to the volume."""

    def process(self, key: str, context: Any, elements: Any) -> Any:
        count, total = next(iter(elements))
        second = (context.window().start - START_MS) // 1000
        yield f"{second:3d}-{second + 5:3d} s", key, count, total


def build(env: StreamExecutionEnvironment, rate: int) -> Any:
    source = DataGeneratorSource(MakeBid(rate), None, RateLimiterStrategy.per_second(rate), BID)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(500))
    strategy = strategy.with_timestamp_assigner(lambda bid, _: bid[3])
    bids = env.from_source(source, strategy, "bids", BID).set_parallelism(1)  # one clock: bids in order
    led = bids.key_by(lambda bid: bid[0], key_type=Types.INT()).process(Leader(), BID)
    windows = (
        led.key_by(lambda bid: bid[1], key_type=Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .aggregate(Volume(), Labelled(), None, RESULT)
    )
    leaders = led.get_side_output(LEADERS).map(lambda v: (v[0], "leads", v[1], v[2]), RESULT)
    return windows.union(leaders)


class Screen:
    """What the terminal shows."""

    def __init__(self, seconds: int) -> None:
        self.windows: deque[tuple[Any, ...]] = deque(maxlen=10)
        self.leaders: deque[tuple[Any, ...]] = deque(maxlen=6)
        self.seconds = seconds
        self.started = time.monotonic()

    def is_over(self) -> bool:
        return time.monotonic() - self.started >= self.seconds

    def take(self, row: tuple[Any, ...]) -> None:
        (self.leaders if row[1] == "leads" else self.windows).append(row)

    def render(self, statistics: Any) -> Group:
        volume = Table("window", "category", "bids", "volume", title="5-second windows, event time")
        for window, category, count, total in self.windows:
            volume.add_row(window, category, f"{count:,}", f"{total:,}")
        leaders = Table("auction", "was", "now", title="new leaders, keyed state")
        for auction, _, before, now in self.leaders:
            leaders.add_row(auction, f"{before}", f"{now}")
        left = max(0, self.seconds - (time.monotonic() - self.started))
        status = (
            f"{statistics.records_read:,} bids   {statistics.epochs} epochs   "
            f"median epoch {statistics.median_epoch_ms:.0f} ms   {left:.0f} s left"
        )
        return Group(volume, leaders, Panel(status))


def draw(screen: Screen, rows: Any, job: Any, console: Console) -> None:
    """Redraws the tables in place, four times a second."""
    drawn = 0.0
    with Live(console=console, auto_refresh=False) as live:
        while not screen.is_over():
            screen.take(next(rows))
            if time.monotonic() - drawn > 0.25:
                drawn = time.monotonic()
                live.update(screen.render(job.statistics), refresh=True)


def write_lines(screen: Screen, rows: Any, job: Any, console: Console) -> None:
    """Where the output is not a terminal: one line per window."""
    while not screen.is_over():
        row = next(rows)
        if row[1] != "leads":
            console.print(f"{row[0]}  {row[1]:8s} {row[2]:7,} bids, volume {row[3]:11,}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--rate", type=int, default=20_000)
    arguments = parser.parse_args()
    console = Console()
    console.print("Starting Spark ...")
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    rows = build(env, arguments.rate).collect_async()
    job = env.submit("auctions")
    while not job.statistics.epochs and not job.status().is_globally_terminal_state():
        time.sleep(0.1)
    screen = Screen(arguments.seconds)
    (draw if console.is_terminal else write_lines)(screen, rows, job, console)
    job.cancel()
    seconds = time.monotonic() - screen.started
    s = job.statistics
    console.print(
        f"Stopped cleanly: {s.records_read:,} bids in {seconds:.0f} s, {s.records_read / seconds:,.0f} rows/s, "
        f"{s.epochs} epochs, median epoch {s.median_epoch_ms:.0f} ms."
    )


if __name__ == "__main__":
    main()
