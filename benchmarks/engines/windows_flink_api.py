"""Counts per key in event-time windows; runs on PyFlink where that is installed, else on penstock.

usage: windows_flink_api.py tumbling|sliding ROWS
"""

import json
import sys
import time

try:
    import pyflink  # noqa: F401

    ON_FLINK = True
except ImportError:
    from penstock.runtime.compat import install_pyflink_alias

    install_pyflink_alias()
    ON_FLINK = False

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import AggregateFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows

KEYS = 10_000
START_MS = 1_700_000_000_000
WINDOWS = {
    "tumbling": lambda: TumblingEventTimeWindows.of(Time.seconds(10)),
    "sliding": lambda: SlidingEventTimeWindows.of(Time.seconds(60), Time.seconds(1)),
}


class Stamp(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return START_MS + value // 10


class Count(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


def run(kind, rows):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    numbers = env.from_source(
        NumberSequenceSource(0, rows - 1), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()
    ).set_parallelism(1)  # one split: event time goes forward
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamp())
    timed = numbers.assign_timestamps_and_watermarks(strategy).set_parallelism(1)
    windows = timed.key_by(lambda v: v % KEYS, key_type=Types.LONG()).window(WINDOWS[kind]())
    counts = windows.aggregate(Count(), output_type=Types.LONG())
    counts.filter(lambda n: False).print()
    started = time.time()
    env.execute(f"{kind} windows")
    return time.time() - started


kind, rows = sys.argv[1], int(sys.argv[2])
if not ON_FLINK:
    run(kind, 50_000)
print(json.dumps({"rows": rows, "seconds": run(kind, rows)}))
