"""What snapshots of keyed state cost a job: taken in an epoch, and written beside the epochs by processes.

A keyed job on local Spark fills its state, then changes a part of it in every epoch, so that a snapshot is due
every now and then. Prints the duration of epochs that brought none and of those that did, the longest, and what
their subtasks say they needed to write state; first as jobs with a small state do it, then as those with a large one.
usage: snapshot_cost.py [--megabytes 200] [--parallelism 2] [--changed-mb 10] [--snapshots 3] [--json FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import random
import statistics
import sys
import tempfile
import time
from typing import Any

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.common.errors import JobCancelledError
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.datagen import DataGeneratorSource
from penstock.datastream.state import ValueStateDescriptor
from penstock.runtime import job_registry

VALUE_BYTES = 1024
_PATIENCE_S = 1800
WAYS = IN_EPOCHS, BESIDE = "taken in an epoch", "written beside the epochs"


class Keep(KeyedProcessFunction):
    """A kilobyte for each key, another one each time."""

    def open(self, runtime_context: Any) -> None:
        self.kept = runtime_context.get_state(ValueStateDescriptor("kept", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: int, ctx: Any) -> Any:
        self.kept.update(random.Random(value).randbytes(VALUE_BYTES))
        return ()


def run(arguments: argparse.Namespace, folder: str, beside: bool) -> dict[str, Any]:
    keys = arguments.megabytes * 1024
    configuration = Configuration()
    for key, setting in {
        "execution.checkpointing.dir": folder,
        "execution.runtime-mode": "STREAMING",
        "execution.epoch.max-records": str(arguments.changed_mb * 1024 // arguments.parallelism),
        "web.checkpoints.history": "1000",
        **({} if beside else {"penstock.snapshot.background-size": "1 tb"}),
        "spark.master": f"local[{arguments.parallelism}]",
    }.items():
        configuration.set_string(key, setting)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(arguments.parallelism)
    numbers = DataGeneratorSource(lambda i: i, 10**12, type_info=Types.LONG())
    stream = env.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    stream.key_by(lambda v: v % keys, key_type=Types.LONG()).process(Keep(), Types.LONG()).print()
    client = env.execute_async("snapshot cost")
    (job,) = (found for found in job_registry.jobs() if not found.has_ended)
    statistics_ = job.coordinator.statistics
    deadline = time.monotonic() + _PATIENCE_S
    try:
        while True:
            with_, without = _epochs(statistics_, keys * VALUE_BYTES)
            if len(with_) >= arguments.snapshots and len(without) >= 5:
                return {"with": with_, "without": without}
            if time.monotonic() > deadline:
                raise SystemExit(f"{len(with_)} snapshots in {_PATIENCE_S} s")
            time.sleep(1)
    finally:
        client.cancel()
        with contextlib.suppress(JobCancelledError):
            job.wait(120)


def _epochs(found: Any, full_bytes: int) -> tuple[list[Any], list[Any]]:
    """(epoch ms, ms of the subtask that wrote longest, MB written) of full state, with and without a snapshot."""
    timings = {int(timing.epoch): timing.total_ms for timing in list(found.recent)}
    with_, without = [], []
    for record in found.checkpoints.listed():
        if record.state_bytes < full_bytes or record.id not in timings:
            continue
        longest = max((size.write_ms for size in record.sizes), default=0.0)
        epoch = (timings[record.id], longest, record.written_bytes / 1e6)
        (with_ if record.written_bytes > full_bytes / 2 else without).append(epoch)
    return with_, without


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--changed-mb", type=int, default=10)
    parser.add_argument("--snapshots", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    sys.stdout.write(
        f"{arguments.megabytes} MB of keyed state, parallelism {arguments.parallelism}, medians\n"
    )
    found = {}
    for way in WAYS:
        with tempfile.TemporaryDirectory(
            prefix="penstock-snapshot-cost-", ignore_cleanup_errors=True
        ) as folder:
            found[way] = run(arguments, folder, way == BESIDE)
        longest = max(epoch[0] for epochs in found[way].values() for epoch in epochs)
        sys.stdout.write(f"{way}: the longest epoch took {longest:,.0f} ms\n")
        for name, epochs in found[way].items():
            total, writing, written = (statistics.median(column) for column in zip(*epochs, strict=True))
            sys.stdout.write(
                f"    {name + ' a snapshot':20} {len(epochs):4} epochs {total:9,.0f} ms, of which a subtask wrote "
                f"state for {writing:7,.0f} ms ({written:,.1f} MB)\n"
            )
    if arguments.json:
        arguments.json.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
