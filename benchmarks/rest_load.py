"""What 1,000 requests per second to the REST server cost the job beside it, on local Spark.

A keyed count runs as fast as it can, with the server in its driver. It is measured without requests, for a minute
with them, then without again; the client is a process of its own that keeps its connections and asks for overview,
jobs, details, metrics and checkpoints, at moments that are fixed beforehand (so an answer that comes late counts from
when it should have been asked for). Server and client need cores, too: by default the job has all but one.
usage: rest_load.py [--rate 1000] [--seconds 60] [--parallelism CORES-1] [--profile FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
from typing import Any

from side_by_side import script

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.datagen import DataGeneratorSource
from penstock.datastream.state import ValueStateDescriptor
from penstock.rest.server import JobServer, make_context
from penstock.runtime.running_job import RunningJob

KEYS = 10_000
WARM_UP_S = 20
MOST_LOSS = 0.05
MOST_GROWTH_MB = 20.0


# -- the job ---------------------------------------------------------------------------------------------


class Count(KeyedProcessFunction):
    """The count of keyed_state.py."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if count < 0:
            yield count


def start_job(configuration: Configuration, parallelism: int) -> RunningJob:
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    source = DataGeneratorSource(lambda i: i, None, None, Types.LONG())
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    numbers.key_by(lambda v: v % KEYS, key_type=Types.LONG()).process(Count(), Types.LONG()).print()
    return env.submit("count under load")


def rate_of(job: RunningJob, seconds: float) -> float:
    """Records read per second, from the end of an epoch to the end of an epoch."""
    stats = job.statistics

    def next_epoch() -> tuple[float, int]:
        epochs = stats.epochs
        while stats.epochs == epochs:
            if job.has_ended:
                raise SystemExit(f"the job has ended: {job.error}")
            time.sleep(0.001)
        return time.monotonic(), stats.records_read

    began, before = next_epoch()
    time.sleep(max(0.0, seconds - (time.monotonic() - began)))
    ended, after = next_epoch()
    return (after - before) / (ended - began)


# -- both ------------------------------------------------------------------------------------------------


def memory_mb() -> float:
    found = re.search(r"RssAnon:\s+(\d+)", pathlib.Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def under_load(url: str, job: RunningJob, options: argparse.Namespace) -> tuple[dict[str, Any], float, float]:
    """What the client tells, the job's rate meanwhile, and the share of a core that this process took."""
    words = script("rest_requests.py", url, job.job_id, options.rate, options.seconds + 2)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()  # it has begun
    profiler = _profiler(options)
    began, cpu = time.monotonic(), time.process_time()
    rate = rate_of(job, options.seconds)
    share = (time.process_time() - cpu) / (time.monotonic() - began)
    said, _ = process.communicate(timeout=options.seconds + 120)
    if profiler is not None:
        profiler.wait(60)
    if process.returncode:
        raise SystemExit(said)
    return json.loads(said), rate, share


def _profiler(options: argparse.Namespace) -> subprocess.Popen[bytes] | None:
    tool = shutil.which("py-spy", path=f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}")
    if not options.profile or tool is None:
        return None
    words = f"record -p {os.getpid()} -d 20 -r 200 -f raw -t -o {options.profile}".split()
    return subprocess.Popen([tool, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    configuration = Configuration.from_dict({"rest.port": "0"})
    server = JobServer(make_context(configuration)).start()
    job = start_job(configuration, options.parallelism)
    try:
        rate_of(job, options.warm_up)
        cpu, began = time.process_time(), time.monotonic()
        first = rate_of(job, options.seconds / 2)
        alone = (time.process_time() - cpu) / (time.monotonic() - began)
        memory = [memory_mb()]
        told, loaded, share = under_load(server.url, job, options)
        memory.append(memory_mb())
        last = rate_of(job, options.seconds / 2)
        memory.append(memory_mb())
    finally:
        job.cancel()
        server.stop()
    without = (first + last) / 2
    return {
        "parallelism": options.parallelism, "cores": os.cpu_count(), **told, "rows_per_second": [first, loaded, last],
        "loss": 1 - loaded / without, "driver_cpu": [alone, share], "memory_mb": memory,
    }  # fmt: skip


def report(found: dict[str, Any], wanted_rate: float) -> None:
    first, loaded, last = found["rows_per_second"]
    print(
        f"keyed count, parallelism {found['parallelism']} on {found['cores']} cores, REST server in its driver"
    )
    print(
        f"  requests     {found['requests']:,d}, {found['per_second']:,.0f}/s, {found['errors']} errors, "
        f"p50 {found['p50_ms']:.1f} ms, p99 {found['p99_ms']:.1f} ms, p99.9 {found['p999_ms']:.1f} ms"
    )
    print(
        f"  rows/s       {first:,.0f} before, {loaded:,.0f} meanwhile, {last:,.0f} after: {found['loss']:.1%} less"
    )
    alone, share = found["driver_cpu"]
    print(
        f"  driver       {alone:.2f} cores without, {share:.2f} with requests; the client {found['client_cpu']:.2f}"
    )
    print(
        "  driver's memory  "
        + ", ".join(f"{mb:.0f} MB" for mb in found["memory_mb"])
        + " (before, with, after)"
    )
    verdicts = {
        "no errors": found["errors"] == 0,
        "all requests in time": found["per_second"] >= 0.98 * wanted_rate,
        f"less than {MOST_LOSS:.0%} lost": found["loss"] < MOST_LOSS,
        "memory flat": found["memory_mb"][2] - found["memory_mb"][0] < MOST_GROWTH_MB,
    }
    print("  " + "; ".join(f"{what}: {'yes' if holds else 'NO'}" for what, holds in verdicts.items()))
    print(json.dumps(found))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=1000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--warm-up", type=float, default=WARM_UP_S)
    parser.add_argument("--parallelism", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    parser.add_argument("--profile", help="py-spy writes the driver's stacks there")
    options = parser.parse_args()
    report(measure(options), options.rate)


if __name__ == "__main__":
    main()
