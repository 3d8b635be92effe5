# event-time timers of a keyed process function on the rows of a table with a watermark; rowtime is the record's timestamp
# One element in a bundle: with larger ones PyFlink would hold back watermarks, and timers would fire later.
from pyflink.common import Configuration, Row, Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ListStateDescriptor
from pyflink.table import Schema, StreamTableEnvironment

config = Configuration()
config.set_integer("python.fn-execution.bundle.size", 1)
env = StreamExecutionEnvironment.get_execution_environment(config)
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

ds = env.from_collection(
    [
        Row(*r)
        for r in [
            ("a", 1, 1000),
            ("b", 2, 3000),
            ("a", 3, 6500),
            ("b", 4, 2500),
            ("a", 5, 12000),
            ("b", 6, 30000),
        ]
    ],
    type_info=Types.ROW_NAMED(["k", "v", "ms"], [Types.STRING(), Types.INT(), Types.LONG()]),
)
table = t_env.from_data_stream(
    ds,
    Schema.new_builder()
    .column_by_expression("rt", "TO_TIMESTAMP_LTZ(ms, 3)")
    .watermark("rt", "rt - INTERVAL '1' SECOND")
    .build(),
)
t_env.create_temporary_view("events", table)


class EveryFiveSeconds(KeyedProcessFunction):
    def open(self, ctx):
        self.values = ctx.get_list_state(ListStateDescriptor("values", Types.INT()))

    def process_element(self, value, ctx):
        self.values.add(value.v)
        due = ctx.timestamp() // 5000 * 5000 + 4999
        late = due <= ctx.timer_service().current_watermark()
        yield "%s %d at %d%s" % (value.k, value.v, ctx.timestamp(), " late" if late else "")
        if not late:
            ctx.timer_service().register_event_time_timer(due)

    def on_timer(self, timestamp, ctx):
        yield "%s fired %d %s" % (ctx.get_current_key(), timestamp, sorted(self.values.get()))
        self.values.clear()


# Rows whose value is 0 would be filtered; the rowtime stays one through projections that keep it.
rows = t_env.to_data_stream(t_env.sql_query("SELECT rt, k, v FROM events WHERE v > 0"))
for line in (
    rows.key_by(lambda r: r.k, Types.STRING())
    .process(EveryFiveSeconds(), Types.STRING())
    .execute_and_collect()
):
    print(line)
