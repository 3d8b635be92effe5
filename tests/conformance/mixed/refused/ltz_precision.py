# @error run
# a TIMESTAMP_LTZ leaves a query for a Python function only with precision 3
from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

stream = t_env.to_data_stream(t_env.sql_query("SELECT CAST(TO_TIMESTAMP_LTZ(1, 3) AS TIMESTAMP_LTZ(6)) AS ts"))
for line in stream.map(lambda r: str(r), Types.STRING()).execute_and_collect():
    print(line)
