# a StatementSet becomes part of the stream program: two inserts and a sink of a DataStream run as one job by env.execute()
import os
import tempfile

from pyflink.common import Encoder, Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSink
from pyflink.table import DataTypes, Schema, StreamTableEnvironment, TableDescriptor

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

base = tempfile.mkdtemp()
ds = env.from_collection(
    [Row(1, "a"), Row(20, "b"), Row(3, "c"), Row(40, "d")],
    type_info=Types.ROW_NAMED(["n", "s"], [Types.INT(), Types.STRING()]),
)
t_env.create_temporary_view("numbers", ds)
t_env.execute_sql(
    """
    CREATE TABLE low (n INT, s STRING) WITH ('connector' = 'filesystem', 'path' = '%s/low', 'format' = 'csv')"""
    % base
)
high = (
    TableDescriptor.for_connector("filesystem")
    .schema(Schema.new_builder().column("n", DataTypes.INT()).column("s", DataTypes.STRING()).build())
    .option("path", base + "/high")
    .format("csv")
    .build()
)

statements = t_env.create_statement_set()
statements.add_insert_sql("INSERT INTO low SELECT n, s FROM numbers WHERE n < 10")
statements.add_insert(high, t_env.sql_query("SELECT n * 2, UPPER(s) FROM numbers WHERE n >= 10"))
statements.attach_as_datastream()
t_env.to_data_stream(t_env.sql_query("SELECT s, n FROM numbers")).map(
    lambda r: "%s=%d" % (r.s, r.n), Types.STRING()
).sink_to(FileSink.for_row_format(base + "/stream", Encoder.simple_string_encoder()).build())
env.execute("both worlds")

for name in ("low", "high", "stream"):
    for folder, _, files in os.walk(os.path.join(base, name)):
        for file in files:
            with open(os.path.join(folder, file)) as f:
                for line in f:
                    print(name, line.strip())
