# @error run
# a value of undeclared type leaves no query for a Python function
from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

t_env.create_temporary_view("t", env.from_collection([("a", 1)]).map(lambda v: v))
stream = t_env.to_data_stream(t_env.sql_query("SELECT f0 FROM t"))
for line in stream.map(lambda r: str(r), Types.STRING()).execute_and_collect():
    print(line)
