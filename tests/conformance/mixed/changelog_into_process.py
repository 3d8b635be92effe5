# the changelog of a GROUP BY goes into a keyed process function that keeps the table in state; its stream is a table again
from pyflink.common import Row, RowKind, Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.table import ChangelogMode, Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

ds = env.from_collection(
    [Row("a", 1), Row("b", 5), Row("a", 2), Row("c", 9), Row("b", 7), Row("a", 4)],
    type_info=Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]),
)
t_env.create_temporary_view("events", ds)
totals = t_env.sql_query("SELECT k, SUM(v) AS total, COUNT(*) AS n FROM events GROUP BY k")


class Differences(KeyedProcessFunction):
    """How much each new total adds to the one before; retractions tell nothing new. The sum of a key's is its total."""

    def open(self, ctx):
        self.before = ctx.get_state(ValueStateDescriptor("before", Types.INT()))

    def process_element(self, value, ctx):
        if value.get_row_kind() in (RowKind.UPDATE_BEFORE, RowKind.DELETE):
            return
        yield Row(value.k, value.total - (self.before.value() or 0), value.total > 6)
        self.before.update(value.total)


class Upserts(KeyedProcessFunction):
    """The changelog by hand: a key's first row is +I, every further one +U; totals above 10 are taken out."""

    def open(self, ctx):
        self.known = ctx.get_state(ValueStateDescriptor("known", Types.BOOLEAN()))

    def process_element(self, value, ctx):
        if value.get_row_kind() in (RowKind.UPDATE_BEFORE, RowKind.DELETE):
            return
        kind = RowKind.UPDATE_AFTER if self.known.value() else RowKind.INSERT
        if value.total > 10:
            kind = RowKind.DELETE
        self.known.update(kind != RowKind.DELETE)
        yield Row.of_kind(kind, value.k, value.total)


def fold(label, sql):
    table = []
    with t_env.execute_sql(sql).collect() as rows:
        for row in rows:
            if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
                table.append(list(row))
            else:
                table.remove(list(row))
    for row in sorted(table):
        print(label, *row)


changes = t_env.to_changelog_stream(totals).key_by(lambda r: r.k, Types.STRING())
t_env.create_temporary_view(
    "differences",
    changes.process(
        Differences(), Types.ROW_NAMED(["k", "plus", "big"], [Types.STRING(), Types.INT(), Types.BOOLEAN()])
    ),
)
fold("difference", "SELECT k, SUM(plus) FROM differences GROUP BY k")
upserts = changes.process(Upserts(), Types.ROW_NAMED(["k", "total"], [Types.STRING(), Types.INT()]))
t_env.create_temporary_view(
    "upserts",
    t_env.from_changelog_stream(
        upserts, Schema.new_builder().primary_key("k").build(), ChangelogMode.upsert()
    ),
)
fold("upsert", "SELECT k, total FROM upserts")
fold("upsert sum", "SELECT COUNT(*), SUM(total) FROM upserts")
