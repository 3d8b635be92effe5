# which statements run what: INSERT runs only itself, env.execute() the sinks of streams and what was attached, each once
import os
import tempfile

from pyflink.common import Encoder, Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSink
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

base = tempfile.mkdtemp()
NAMES = ("stream", "inserted", "attached", "query")


def show(step):
    """How many lines each of the four sinks has written so far."""
    counts = []
    for name in NAMES:
        lines = 0
        for folder, _, files in os.walk(os.path.join(base, name)):
            for file in files:
                with open(os.path.join(folder, file)) as f:
                    lines += len(f.readlines())
        counts.append("%s=%d" % (name, lines))
    print(step, *counts)


def file_sink(name):
    return FileSink.for_row_format(os.path.join(base, name), Encoder.simple_string_encoder()).build()


ds = env.from_collection([Row(1), Row(2), Row(3)], type_info=Types.ROW_NAMED(["n"], [Types.INT()]))
t_env.create_temporary_view("numbers", ds)
for name in ("inserted", "attached"):
    t_env.execute_sql(
        "CREATE TABLE %s (n INT) WITH ('connector' = 'filesystem', 'path' = '%s/%s', 'format' = 'csv')"
        % (name, base, name)
    )
ds.map(lambda r: str(r.n), Types.STRING()).sink_to(file_sink("stream"))
show("1 nothing ran")
t_env.execute_sql("INSERT INTO inserted SELECT n FROM numbers WHERE n > 1").wait()
show("2 after INSERT")
with t_env.execute_sql("SELECT n FROM numbers").collect() as rows:
    print("collected", sorted(row[0] for row in rows))
show("3 after SELECT")
t_env.create_statement_set().add_insert_sql(
    "INSERT INTO attached SELECT n FROM numbers"
).attach_as_datastream()
t_env.to_data_stream(t_env.sql_query("SELECT n FROM numbers WHERE n < 2")).map(
    lambda r: str(r.n), Types.STRING()
).sink_to(file_sink("query"))
show("4 after attach")
env.execute()
show("5 after execute")
t_env.execute_sql("INSERT INTO inserted SELECT n FROM numbers").wait()
show("6 after INSERT again")
