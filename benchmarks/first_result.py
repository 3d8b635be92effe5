"""How long the first result takes from the moment its element is done, with functions of all speeds.

Each case is a program of its own: a source that has more than it can ever read, a function that takes a given time
for each element, and a print. A result carries the time at which its function returned; this process notes when the
line arrives. Reported are, in seconds since the program was started,

    done      when the first element was done
    seen      when the first result arrived
    between   the seconds from the one to the other: below 3 is what is promised, at any speed
    later     the longest time between an element and its result while the case was watched, or the silence at its
              end

The row "turns slow" has a function that takes 1 µs for the first 100,000 elements and 100 ms for every one behind
them: batches that were large because the function was fast meet a slow one. It is told by `later`.

    map            number_sequence → map → print
    process p=1    … → key_by → process → print, parallelism 1
    process p=2    … with parallelism 2
    sql udf        INSERT INTO a print table SELECT of a scalar Python function, streaming

The exit code is 1 when a first result took more than 3 s. One run takes about 12 minutes.
usage: first_result.py [--jobs map,process1,process2,sql] [--speeds 1us,100us,1ms,10ms,100ms,1s,turns-slow]
                       [--watch SECONDS]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass

SPEEDS = {"1us": 1e-6, "100us": 1e-4, "1ms": 1e-3, "10ms": 1e-2, "100ms": 1e-1, "1s": 1.0, "turns-slow": -1.0}
JOBS = ("map", "process1", "process2", "sql")
PROMISED_SECONDS = 3.0
FAST_ELEMENTS = 100_000
_MANY = 1_000_000_000
_START_SECONDS = 600
_MARK = "done:"
_DONE = re.compile(_MARK.encode() + rb"(\d+\.\d+)")


def work(number: int, seconds: float) -> str:
    """What every function does: it takes its time, and says when it was done."""
    if seconds < 0:
        seconds = 1e-6 if number < FAST_ELEMENTS else 0.1
    if seconds >= 1e-3:
        time.sleep(seconds)
    else:  # a sleep as short as this takes much longer than it says
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass
    return f"{_MARK}{time.time():.6f}"


def run_stream(job: str, seconds: float) -> None:
    """The program of the stream jobs."""
    from penstock.common import Types, WatermarkStrategy
    from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
    from penstock.datastream.connectors.number_seq import NumberSequenceSource

    class Slow(KeyedProcessFunction):
        def process_element(self, value, ctx):  # type: ignore[no-untyped-def]
            yield work(value, seconds)

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2 if job == "process2" else 1)
    numbers = env.from_source(
        NumberSequenceSource(0, _MANY), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()
    )
    if job == "map":
        numbers.map(lambda n: work(n, seconds), output_type=Types.STRING()).print()
    else:
        numbers.key_by(lambda n: n % 16).process(Slow(), output_type=Types.STRING()).print()
    env.execute(f"first result: {job}")


def run_sql(seconds: float) -> None:
    """The program of the SQL job."""
    from penstock.table import EnvironmentSettings, TableEnvironment
    from penstock.table.udf import udf

    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.create_temporary_function("slow", udf(lambda n: work(n, seconds), result_type="STRING"))
    tables.execute_sql(
        "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'fields.n.kind' = 'sequence', "
        f"'fields.n.start' = '0', 'fields.n.end' = '{_MANY}', 'rows-per-second' = '1000000')"
    )
    tables.execute_sql("CREATE TABLE shown (line STRING) WITH ('connector' = 'print')")
    tables.execute_sql("INSERT INTO shown SELECT slow(n) FROM numbers").wait()


@dataclass(frozen=True)
class Found:
    """What one case took; None: nothing was seen."""

    job: str
    speed: str
    done: float | None = None
    seen: float | None = None
    between: float | None = None
    later: float | None = None


def measured(job: str, speed: str, watch_seconds: float) -> Found:
    """Runs one case in a process of its own, and ends it with all it has started."""
    command = [sys.executable, os.path.abspath(__file__), "--program", job, "--speeds", speed]
    started = time.time()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, start_new_session=True, bufsize=0
        )
        try:
            found = watched(process, job, speed, started, watch_seconds)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if found.seen is None and process.returncode not in (0, -signal.SIGKILL):
            errors.seek(0)
            sys.stderr.write(errors.read().decode(errors="replace")[-4_000:])
    return found


def watched(
    process: subprocess.Popen[bytes], job: str, speed: str, started: float, watch_seconds: float
) -> Found:
    """Reads what the program prints until `watch_seconds` behind its first result."""
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    selector = selectors.DefaultSelector()
    selector.register(process.stdout, selectors.EVENT_READ)
    done: float | None = None
    seen = later = last = 0.0
    rest = b""
    while (now := time.time()) < (seen + watch_seconds if seen else started + _START_SECONDS):
        selector.select(timeout=1.0)
        block = process.stdout.read(1 << 20)
        now = time.time()
        if block == b"":
            break
        lines = (rest + (block or b"")).split(b"\n")
        rest = lines.pop()
        times = [float(found) for found in _DONE.findall(b"\n".join(lines))]
        if times and not seen:
            seen = now
        if times and now - seen < 1.0:
            done = min(times) if done is None else min(done, *times)
        if times:
            later, last = max(later, now - min(times)), now
    if done is None:
        return Found(job, speed)
    later = max(later, time.time() - last)
    return Found(
        job, speed, round(done - started, 2), round(seen - started, 2), round(seen - done, 2), round(later, 2)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--speeds", default=",".join(SPEEDS))
    parser.add_argument("--watch", type=float, default=12.0)
    parser.add_argument("--program", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.program:
        seconds = SPEEDS[arguments.speeds]
        run_sql(seconds) if arguments.program == "sql" else run_stream(arguments.program, seconds)
        return
    print(f"first result  ({os.cpu_count()} cores, {platform.machine()}, load {os.getloadavg()[0]:.1f})")
    print(f"{'job':10s} {'per element':12s} {'done':>7s} {'seen':>7s} {'between':>8s} {'later':>7s}")
    found = []
    for job in arguments.jobs.split(","):
        for speed in arguments.speeds.split(","):
            result = measured(job, speed, arguments.watch)
            found.append(result)
            cells = (result.done, result.seen, result.between, result.later)
            shown = [
                f"{'-' if cell is None else format(cell, '.2f'):>{w}s}"
                for cell, w in zip(cells, (7, 7, 8, 7), strict=True)
            ]
            print(f"{job:10s} {speed:12s} {' '.join(shown)}", flush=True)
    print(json.dumps({"title": "first result", "measured": [asdict(result) for result in found]}))
    late = [f for f in found if f.between is None or f.between > PROMISED_SECONDS]
    sys.exit(1 if late else 0)


if __name__ == "__main__":
    main()
