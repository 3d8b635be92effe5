# a window aggregation as a stream: window_time is the record's timestamp, the watermark follows; windows of windows
# One element in a bundle: with larger ones PyFlink would hold back watermarks.
import os
import tempfile

from pyflink.common import Configuration, Time, Types
from pyflink.datastream import ProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows
from pyflink.table import StreamTableEnvironment

config = Configuration()
config.set_integer("python.fn-execution.bundle.size", 1)
env = StreamExecutionEnvironment.get_execution_environment(config)
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)
t_env.get_config().set("table.local-time-zone", "UTC")

folder = tempfile.mkdtemp()
with open(os.path.join(folder, "bids.csv"), "w") as f:
    f.write("a,1,1000\nb,2,3000\na,3,9000\na,4,12000\nb,5,13000\na,6,25000\na,7,11000\nb,8,41000\n")
t_env.execute_sql(
    """
    CREATE TABLE bids (k STRING, v INT, ms BIGINT, ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS ts)
    WITH ('connector' = 'filesystem', 'path' = '%s', 'format' = 'csv')"""
    % folder
)


class Stamp(ProcessFunction):
    def process_element(self, value, ctx):
        yield "%s..%s %s=%d at %d" % (
            value.window_start,
            value.window_end,
            value.k,
            value.total,
            ctx.timestamp(),
        )


class Largest(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield "%d..%d: %s" % (context.window().start, context.window().end, sorted(elements))


windows = t_env.sql_query("""
    SELECT k, window_start, window_end, window_time, SUM(v) AS total
    FROM TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY k, window_start, window_end, window_time""")
stream = t_env.to_data_stream(windows)
for line in stream.process(Stamp(), Types.STRING()).execute_and_collect():
    print("window", line)
# Flink refuses to keep rows with TIMESTAMP columns in a window's state: only the key and the total go on.
totals = stream.map(lambda r: (r.k, r.total), Types.TUPLE([Types.STRING(), Types.INT()]))
for line in (
    totals.key_by(lambda t: 0, Types.INT())
    .window(TumblingEventTimeWindows.of(Time.seconds(20)))
    .process(Largest(), Types.STRING())
    .execute_and_collect()
):
    print("of windows", line)
