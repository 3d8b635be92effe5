"""The count per key, written once: runs on PyFlink where that is installed, else on penstock.

usage: keyed_state_flink_api.py ROWS [process|thread]
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

from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor

KEYS = 10_000


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield count


def run(rows, mode):
    configuration = Configuration()
    if mode:
        configuration.set_string("python.execution-mode", mode)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    numbers = env.from_source(
        NumberSequenceSource(0, rows - 1), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()
    )
    counts = numbers.key_by(lambda v: v % KEYS, key_type=Types.LONG()).process(Count(), Types.LONG())
    counts.filter(lambda n: False).print()
    started = time.time()
    env.execute("count per key")
    return time.time() - started


rows, mode = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None
if not ON_FLINK:
    run(50_000, mode)  # starts Spark and its Python workers, as a running cluster would have them
print(json.dumps({"rows": rows, "seconds": run(rows, mode)}))
