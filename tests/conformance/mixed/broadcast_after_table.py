# rows of a file table are broadcast to a keyed stream that came from a query
# Which side comes first is not fixed: elements wait in state until both have ended, so that the results are.
import os
import tempfile

from pyflink.common import Row, Types
from pyflink.datastream import KeyedBroadcastProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

folder = tempfile.mkdtemp()
with open(os.path.join(folder, "rules.csv"), "w") as f:
    f.write("pen,2\nink,10\ncap,3\n")
t_env.execute_sql(
    """
    CREATE TABLE rules (item STRING, factor INT)
    WITH ('connector' = 'filesystem', 'path' = '%s', 'format' = 'csv')"""
    % folder
)
orders = env.from_collection(
    [Row("pen", 3), Row("ink", 1), Row("nib", 5), Row("pen", 4), Row("ink", 0)],
    type_info=Types.ROW_NAMED(["item", "qty"], [Types.STRING(), Types.INT()]),
)
t_env.create_temporary_view("orders", orders)

rules_state = MapStateDescriptor("rules", Types.STRING(), Types.INT())


class Apply(KeyedBroadcastProcessFunction):
    """Keeps elements until the end of both inputs, which is when the timer fires."""

    def open(self, ctx):
        self.waiting = ctx.get_list_state(ListStateDescriptor("waiting", Types.INT()))

    def process_element(self, value, ctx):
        self.waiting.add(value.qty)
        ctx.timer_service().register_event_time_timer(1)

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(rules_state).put(value.item, value.factor)

    def on_timer(self, timestamp, ctx):
        item = ctx.get_current_key()
        factor = ctx.get_broadcast_state(rules_state).get(item)
        for qty in self.waiting.get():
            yield Row(item, None if factor is None else qty * factor)


keyed = t_env.to_data_stream(t_env.sql_query("SELECT item, qty FROM orders WHERE qty > 0")).key_by(
    lambda r: r.item, Types.STRING()
)
rules = t_env.to_data_stream(t_env.sql_query("SELECT item, factor FROM rules")).broadcast(rules_state)
priced = keyed.connect(rules).process(
    Apply(), Types.ROW_NAMED(["item", "price"], [Types.STRING(), Types.INT()])
)
t_env.create_temporary_view("priced", priced)
with t_env.execute_sql("SELECT item, price FROM priced").collect() as rows:
    for row in rows:
        print(*row)
