# @error run
# BINARY(n) leaves no query for a Python function; BYTES does
from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

stream = t_env.to_data_stream(t_env.sql_query("SELECT x'0102' AS b"))
for line in stream.map(lambda r: str(r), Types.STRING()).execute_and_collect():
    print(line)
