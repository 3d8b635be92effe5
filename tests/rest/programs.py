"""A program for sessions under test: its epochs run in its own process, without Spark."""

from __future__ import annotations

ENDLESS = '''
"""An endless count. No early start of a JVM for who says pyspark: epochs run in this process."""
import sys
from penstock.runtime import submit
from penstock.runtime.in_process import InProcessEpochs
start = submit.submit_job
submit.submit_job = lambda sinks, configuration, name: start(sinks, configuration, name, InProcessEpochs)
from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy

print("arguments", sys.argv[1:])
env = StreamExecutionEnvironment.get_execution_environment()
source = DataGeneratorSource(lambda i: i, None, RateLimiterStrategy.per_second(200), Types.LONG())
numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
numbers.key_by(lambda v: v % 3, key_type=Types.LONG()).reduce(lambda a, b: (a + b) % 1000).uid("sum")
env.execute("endless " + "".join(sys.argv[1:]))
'''

TWO_JOBS = ENDLESS.replace(
    "source =",
    """env.from_collection([1, 2, 3], Types.LONG()).map(lambda v: v, Types.LONG()).print()
env.execute("first")
source =""",
)


def on_spark(program: str) -> str:
    """The same program with its epochs where they usually are."""
    lines = program.splitlines()
    return "\n".join(line for line in lines if "submit" not in line and "InProcess" not in line)
