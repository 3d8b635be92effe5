"""A job with a large keyed state, written once: runs on PyFlink where that is installed, else on penstock.

usage: recovery_flink_api.py FOLDER KEYS VALUE_BYTES PARALLELISM [CHECKPOINT]
Gives each key a value as fast as it can, then again and again at a steady rate, for ever. `FOLDER/filled` is made
when all keys have one. A key that has lost its value fails the job.
"""

import os
import pathlib
import random
import sys
import time

try:
    import pyflink  # noqa: F401
except ImportError:
    from penstock.runtime.compat import install_pyflink_alias

    install_pyflink_alias()

from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, MapFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor

FOLDER, KEYS, VALUE_BYTES, PARALLELISM = pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:5])
CHECKPOINT = sys.argv[5] if len(sys.argv) > 5 else None


class Steadily(MapFunction):
    """Some hundred elements in a second, once there is a value for every key."""

    def map(self, value):
        if value >= KEYS:
            time.sleep(0.001)
        return value


class Keep(KeyedProcessFunction):
    def open(self, runtime_context):
        self.kept = runtime_context.get_state(ValueStateDescriptor("kept", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value, ctx):
        if value >= KEYS and self.kept.value() is None:
            raise ValueError(f"the state of key {value % KEYS} is lost")
        self.kept.update(random.Random(value).randbytes(VALUE_BYTES))
        if value == KEYS + 10:
            (FOLDER / "filled").touch()
        yield value


configuration = Configuration()
settings = {
    "execution.checkpointing.dir": f"file://{FOLDER}/checkpoints",
    "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    "execution.runtime-mode": "STREAMING",
    "state.backend.type": "rocksdb",
    "python.fn-execution.bundle.size": "1000",
    "python.fn-execution.bundle.time": "100",
}
if os.environ.get("RECOVERY_ON_FLINK"):
    settings |= {"execution.checkpointing.interval": "1 s", "execution.checkpointing.incremental": "true",
                 "taskmanager.memory.managed.size": "1g"}  # fmt: skip
    if CHECKPOINT:
        # As its owner: else Flink writes all state again before its first checkpoint is complete.
        settings |= {
            "execution.state-recovery.path": CHECKPOINT,
            "execution.state-recovery.claim-mode": "CLAIM",
        }
for key, setting in settings.items():
    configuration.set_string(key, setting)
env = StreamExecutionEnvironment.get_execution_environment(configuration)
env.set_parallelism(PARALLELISM)
env.set_max_parallelism(128)
numbers = env.from_source(
    NumberSequenceSource(0, 10**9), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()
).set_parallelism(1)
steadily = numbers.map(Steadily(), Types.LONG()).set_parallelism(1)
steadily.key_by(lambda v: v % KEYS, key_type=Types.LONG()).process(Keep(), Types.LONG()).filter(
    lambda v: False
).print()
env.execute("recovery")
