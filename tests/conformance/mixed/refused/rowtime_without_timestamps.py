# @error run
# rowtime metadata of records without timestamps
from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

ds = env.from_collection([Row("a", 1), Row("a", 2)], type_info=Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]))
t_env.create_temporary_view("t", ds, Schema.new_builder().column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)").build())
table = t_env.sql_query("SELECT k, CAST(rowtime AS STRING) FROM t")
with table.execute().collect() as rows:
    for row in rows:
        print(row)
