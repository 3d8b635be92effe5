# main output and side output of a process function are two tables of one query
from pyflink.common import Row, Types
from pyflink.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

broken = OutputTag("broken", Types.ROW_NAMED(["line", "reason"], [Types.STRING(), Types.STRING()]))


class Parse(ProcessFunction):
    def process_element(self, value, ctx):
        parts = value.split(",")
        if len(parts) != 2:
            yield broken, Row(value, "fields")
        elif not parts[1].isdigit():
            yield broken, Row(value, "number")
        else:
            yield Row(parts[0], int(parts[1]))


lines = env.from_collection(["a,1", "b,x", "a,5", "", "c,2,3", "b,7", "c,"], type_info=Types.STRING())
parsed = lines.process(Parse(), Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.INT()]))
t_env.create_temporary_view("good", parsed)
t_env.create_temporary_view("bad", parsed.get_side_output(broken))

with t_env.execute_sql("""
        SELECT 'good' AS kind, k AS what, n AS number FROM good
        UNION ALL SELECT 'bad', line || '?' || reason, CHAR_LENGTH(line) FROM bad""").collect() as rows:
    for row in rows:
        print("union", *row)
# How many updates come before it is left open: only the last count of each reason is compared.
counts = {}
with t_env.execute_sql("SELECT reason, COUNT(*) FROM bad GROUP BY reason").collect() as rows:
    for row in rows:
        counts[row[0]] = row[1]
print("reasons", sorted(counts.items()))
