"""The two jobs that are tormented, and what each must have written in the end, in plain Python.

    stream   keyed state and event-time timers, tumbling windows and an interval join; an exactly-once FileSink
    sql      a regular join, a window aggregate and an interval join as one job; files in CSV

Events are numbers 0..n-1; one every 100 ms of event time. What a job writes does not depend on the order in which the
two subtasks of a source are read, so each line must be there exactly once, whatever happened in between.
"""

from __future__ import annotations

import datetime as dt
import pathlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

KEYS = 7
STEP_MS = 100
TIMER_MS = 700
WINDOW_MS = 2_000
JOIN_MS = 300
BEGIN = dt.datetime(2024, 1, 1)

Settings = dict[str, str]


def settings(folder: pathlib.Path, records: int = 40) -> Settings:
    """What both jobs are configured with: small epochs, and a restart strategy that does not give up."""
    return {
        "execution.runtime-mode": "STREAMING",
        "execution.checkpointing.dir": str(folder / "chk"),
        "execution.checkpointing.savepoint-dir": str(folder / "savepoints"),
        "execution.epoch.max-records": str(records),
        "parallelism.default": "2",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "1000",
        "restart-strategy.fixed-delay.delay": "1 ms",
    }


WRITTEN_BESIDE = {"penstock.snapshot.background-size": "1 b", "penstock.snapshot.min-growth": "1 b"}
"""Any state is large enough to be written anew beside the epochs, and soon."""


def key_of(number: int) -> int:
    return number * 31 % KEYS


# --- the stream job -----------------------------------------------------------------------------------------


def run_stream(folder: pathlib.Path, numbers: int, chosen: Settings) -> None:
    """Builds and runs the program; returns when it has ended."""
    from penstock.common import Configuration, Encoder, Time, Types, WatermarkStrategy
    from penstock.common.watermark_strategy import TimestampAssigner
    from penstock.datastream import KeyedProcessFunction, ProcessJoinFunction, StreamExecutionEnvironment
    from penstock.datastream.connectors.file_system import FileSink, RollingPolicy
    from penstock.datastream.connectors.number_seq import NumberSequenceSource
    from penstock.datastream.state import MapStateDescriptor
    from penstock.datastream.window import TumblingEventTimeWindows

    class EveryStep(TimestampAssigner):
        def extract_timestamp(self, value: int, record_timestamp: int) -> int:
            return value * STEP_MS

    class Recent(KeyedProcessFunction):
        """When event time is a while behind a number: the sum of what came in that while, which is then forgotten."""

        def open(self, runtime_context: Any) -> None:
            descriptor = MapStateDescriptor("recent", Types.LONG(), Types.LONG())
            self.recent = runtime_context.get_map_state(descriptor)

        def process_element(self, value: int, ctx: Any) -> None:
            self.recent.put(value * STEP_MS, value)
            ctx.timer_service().register_event_time_timer(value * STEP_MS // TIMER_MS * TIMER_MS + TIMER_MS)

        def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
            due = [t for t in self.recent.keys() if t < timestamp]  # noqa: SIM118 (a state, not a dict)
            total = sum(self.recent.get(t) for t in due)
            for t in due:
                self.recent.remove(t)
            yield f"timer,{ctx.get_current_key()},{timestamp},{len(due)},{total}"

    class Pair(ProcessJoinFunction):
        def process_element(self, left: int, right: int, ctx: Any) -> Iterator[str]:
            yield f"join,{left},{right}"

    env = StreamExecutionEnvironment.get_execution_environment(_configuration(Configuration, chosen))
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EveryStep())
    source = NumberSequenceSource(0, numbers - 1)
    stream = env.from_source(source, strategy, "numbers", Types.LONG())
    keyed = stream.key_by(key_of, Types.LONG())
    timers = keyed.process(Recent(), Types.STRING())
    windows = (
        keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS)))
        .reduce(lambda a, b: a + b)
        .map(lambda total: f"window,{total}", Types.STRING())
    )
    halves = keyed.filter(lambda v: v % 2 == 0).key_by(key_of, Types.LONG())
    others = keyed.filter(lambda v: v % 2 == 1).key_by(key_of, Types.LONG())
    joined = (
        halves.interval_join(others)
        .between(Time.milliseconds(-JOIN_MS * KEYS), Time.milliseconds(JOIN_MS * KEYS))
        .process(Pair(), Types.STRING())
    )
    # Some parts end in the epoch in which they began, others are put together from pieces of several.
    rolling = RollingPolicy.default_rolling_policy(part_size=1_500)
    made = FileSink.for_row_format(str(folder / "out"), Encoder.simple_string_encoder())
    sink = made.with_rolling_policy(rolling).build()
    timers.union(windows, joined).sink_to(sink)
    env.execute("chaos stream")


def stream_model(numbers: int) -> list[str]:
    timers: dict[tuple[int, int], list[int]] = defaultdict(list)
    windows: dict[tuple[int, int], int] = defaultdict(int)
    lines = []
    for n in range(numbers):
        time_ms, key = n * STEP_MS, key_of(n)
        timers[key, time_ms // TIMER_MS * TIMER_MS + TIMER_MS].append(n)
        windows[key, time_ms // WINDOW_MS] += n
        reach = JOIN_MS * KEYS // STEP_MS
        for m in range(max(0, n - reach), min(numbers, n + reach + 1)):
            if n % 2 == 0 and m % 2 == 1 and key_of(m) == key:
                lines.append(f"join,{n},{m}")
    lines += [f"timer,{key},{at},{len(due)},{sum(due)}" for (key, at), due in timers.items()]
    lines += [f"window,{total}" for total in windows.values()]
    return sorted(lines)


# --- the SQL job --------------------------------------------------------------------------------------------

_SOURCE = """
CREATE TABLE {name} (k INT, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '{folder}/in/{name}', 'format' = 'csv')
"""
_SINKS = """
CREATE TABLE pairs (k INT, a INT, b INT)
WITH ('connector' = 'filesystem', 'path' = '{folder}/out/pairs', 'format' = 'csv');
CREATE TABLE totals (k INT, n BIGINT, total INT)
WITH ('connector' = 'filesystem', 'path' = '{folder}/out/totals', 'format' = 'csv');
CREATE TABLE near (a INT, b INT)
WITH ('connector' = 'filesystem', 'path' = '{folder}/out/near', 'format' = 'csv')
"""
_INSERTS = """
INSERT INTO pairs SELECT x.k, x.v, y.v FROM x JOIN y ON x.k = y.k AND x.v = y.v + 2;
INSERT INTO totals SELECT k, COUNT(*), SUM(v) FROM TABLE(TUMBLE(TABLE x, DESCRIPTOR(ts), INTERVAL '2' SECOND))
    GROUP BY k, window_start, window_end;
INSERT INTO near SELECT x.v, y.v FROM x JOIN y ON x.k = y.k
    AND x.ts BETWEEN y.ts - INTERVAL '1' SECOND AND y.ts + INTERVAL '1' SECOND
"""


def write_events(folder: pathlib.Path, numbers: int) -> None:
    """The input of the SQL job: even numbers in one table, odd ones in the other, two files each."""
    for name, remainder in (("x", 0), ("y", 1)):
        (folder / "in" / name).mkdir(parents=True)
        mine = [n for n in range(numbers) if n % 2 == remainder]
        for file in range(2):
            lines = (f"{n // 2 % KEYS},{n},{_time(n)}\n" for n in mine[file::2])
            (folder / "in" / name / f"{file}.csv").write_text("".join(lines))


def _time(number: int) -> dt.datetime:
    return BEGIN + dt.timedelta(milliseconds=number * STEP_MS)


def run_sql(folder: pathlib.Path, numbers: int, chosen: Settings) -> None:
    from penstock.table import EnvironmentSettings, TableEnvironment

    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in {**chosen, "pipeline.name": "chaos sql"}.items():
        env.get_config().set(key, value)
    for name in ("x", "y"):
        env.execute_sql(_SOURCE.format(name=name, folder=folder))
    for sink in _SINKS.format(folder=folder).split(";"):
        env.execute_sql(sink)
    statements = env.create_statement_set()
    for insert in _INSERTS.split(";"):
        statements.add_insert_sql(insert)
    statements.execute().wait()


def sql_model(numbers: int) -> list[str]:
    xs = [n for n in range(numbers) if n % 2 == 0]
    ys = [n for n in range(numbers) if n % 2 == 1]
    by_key: dict[int, list[int]] = defaultdict(list)
    for y in ys:
        by_key[y // 2 % KEYS].append(y)
    lines = []
    totals: dict[tuple[int, int], list[int]] = defaultdict(list)
    for x in xs:
        key = x // 2 % KEYS
        totals[key, x * STEP_MS // WINDOW_MS].append(x)
        lines += [f"{key},{x},{y}" for y in by_key[key] if x == y + 2]
        lines += [f"{x},{y}" for y in by_key[key] if abs(x - y) * STEP_MS <= 1000]
    lines += [f"{key},{len(found)},{sum(found)}" for (key, _), found in totals.items()]
    return sorted(lines)


def _configuration(make: Callable[[], Any], chosen: Settings) -> Any:
    configuration = make()
    for key, value in chosen.items():
        configuration.set_string(key, value)
    return configuration


RUN = {"stream": run_stream, "sql": run_sql}
MODEL = {"stream": stream_model, "sql": sql_model}


def prepare(job: str, folder: pathlib.Path, numbers: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if job == "sql":
        write_events(folder, numbers)
