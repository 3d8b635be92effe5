# a stream that came from a query meets one that did not: union, connect with state, and the union as a table again
from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import KeyedCoProcessFunction
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

pair = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()])
left = env.from_collection([Row("a", 1), Row("b", 2), Row("c", 3)], type_info=pair)
right = env.from_collection([Row("a", 10), Row("c", 30), Row("d", 40)], type_info=pair)
t_env.create_temporary_view("lefts", left)
from_query = t_env.to_data_stream(t_env.sql_query("SELECT k, v * 100 AS v FROM lefts"))


class Match(KeyedCoProcessFunction):
    """Each side waits for the other; which comes first does not matter."""

    def open(self, ctx):
        self.left = ctx.get_state(ValueStateDescriptor("left", Types.INT()))
        self.right = ctx.get_state(ValueStateDescriptor("right", Types.INT()))

    def process_element1(self, value, ctx):
        self.left.update(value.v)
        return self.both(value.k)

    def process_element2(self, value, ctx):
        self.right.update(value.v)
        return self.both(value.k)

    def both(self, key):
        if self.left.value() is not None and self.right.value() is not None:
            yield Row(key, self.left.value() + self.right.value())


matched = (
    from_query.connect(right).key_by(lambda r: r.k, lambda r: r.k, Types.STRING()).process(Match(), pair)
)
for line in matched.map(lambda r: "%s %d" % tuple(r), Types.STRING()).execute_and_collect():
    print("matched", line)
# A union wants the same type on both sides: the rows of a query get it by a map.
united = from_query.map(lambda r: Row(r.k, r.v), pair).union(right, matched)
t_env.create_temporary_view("united", united)
with t_env.execute_sql("SELECT k, v, v > 50 FROM united").collect() as rows:
    for row in rows:
        print("united", *row)
