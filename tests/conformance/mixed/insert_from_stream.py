# INSERT INTO from a view of a stream, by execute_sql and by execute_insert; the file is read back and joined with a stream
import os
import tempfile

from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

base = tempfile.mkdtemp()
ds = env.from_collection(
    [Row(1, "a", [1, 2]), Row(2, "b", []), Row(3, "c", None)],
    type_info=Types.ROW_NAMED(
        ["id", "s", "xs"], [Types.INT(), Types.STRING(), Types.BASIC_ARRAY(Types.INT())]
    ),
)
t_env.create_temporary_view("things", ds.map(lambda r: Row(r.id * 10, r.s, r.xs), ds.get_type()))
t_env.execute_sql(
    """
    CREATE TABLE stored (id INT, s STRING, xs ARRAY<INT>)
    WITH ('connector' = 'filesystem', 'path' = '%s', 'format' = 'json')"""
    % base
)
t_env.execute_sql("INSERT INTO stored SELECT * FROM things WHERE id < 30").wait()
t_env.sql_query("SELECT id + 1, s, xs FROM things WHERE id = 30").execute_insert("stored").wait()

lines = []
for folder, _, files in os.walk(base):
    for file in files:
        with open(os.path.join(folder, file)) as f:
            lines += f.read().splitlines()
for line in sorted(lines):
    print("line", line)
stream = t_env.to_data_stream(
    t_env.sql_query("""
    SELECT s.id, s.s, t.xs FROM stored s JOIN things t ON s.s = t.s WHERE s.id <= 31""")
)
for line in stream.map(lambda r: "%d %s %s" % (r.id, r.s, r.xs), Types.STRING()).execute_and_collect():
    print("join", line)
