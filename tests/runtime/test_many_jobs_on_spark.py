"""Jobs that want more cores than there are take turns.

Runs as a program of its own, too: Spark counts stages from 0 in a new session only.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from typing import Any

import pytest

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.common.errors import JobCancelledError
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.datagen import DataGeneratorSource
from penstock.runtime.spark.epoch_job import POOL
from penstock.runtime.spark.session import get_spark

JOBS = 6
EPOCHS = 50
"""Of the quickest job. Stages have numbers of three digits then; each epoch has two."""
LONGEST_S = 240


def busy(value: int) -> int:
    time.sleep(0.05)  # so that there is always somebody waiting for a core
    return value


def endless(number: int) -> Any:
    configuration = Configuration()
    configuration.set_string("execution.runtime-mode", "STREAMING")
    configuration.set_string("execution.epoch.max-records", "1")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    source = DataGeneratorSource(lambda i: i, None, type_info=Types.LONG())
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    stream = stream.map(busy, Types.LONG())
    stream.key_by(lambda v: v % 3, key_type=Types.LONG()).reduce(lambda a, b: (a + b) % 1000)
    return env.submit(f"endless {number}")


def main() -> None:
    """Prints the epochs of each job when the quickest has done its own, and how Spark's pools are ordered."""
    context: Any = get_spark({"spark.master": "local[2]"}).sparkContext._jsc.sc()
    jobs = [endless(number) for number in range(JOBS)]
    try:
        while max(done := [job.coordinator.progress.epoch for job in jobs]) < EPOCHS:
            time.sleep(0.05)
        queue = context.taskScheduler().rootPool().schedulableQueue().toArray()
        print(json.dumps([done, {pool.name(): pool.schedulingMode().toString() for pool in queue}]))
    finally:
        for job in jobs:
            job.cancel()
        for job in jobs:
            with contextlib.suppress(JobCancelledError):
                job.wait(60)


@pytest.mark.spark
@pytest.mark.timeout(2 * LONGEST_S)
def test_every_job_goes_on_where_the_numbers_of_stages_get_another_digit() -> None:
    # Left to itself Spark orders tasks that wait by the names of their stages, as texts: 100 comes before 99.
    said = subprocess.run(
        [sys.executable, __file__], check=True, timeout=LONGEST_S, stdout=subprocess.PIPE, text=True
    )
    done, pools = json.loads(said.stdout)
    assert min(done) > EPOCHS / 3, done
    assert pools[POOL] == "FIFO"


if __name__ == "__main__":
    main()
