# a stream registered under two names with different schemas, self-joined and joined with a file table; a name used again
import os
import tempfile

from pyflink.common import Row, RowKind, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import Schema, StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

ds = env.from_collection(
    [Row(1, None, "ann"), Row(2, 1, "bob"), Row(3, 1, "cyd"), Row(4, 3, "dan")],
    type_info=Types.ROW_NAMED(["id", "boss", "name"], [Types.INT(), Types.INT(), Types.STRING()]),
)
t_env.create_temporary_view("people", ds)
t_env.create_temporary_view(
    "bosses",
    ds,
    Schema.new_builder()
    .column("id", "INT")
    .column_by_expression("shown", "UPPER(name)")
    .column("name", "STRING")
    .build(),
)
folder = tempfile.mkdtemp()
with open(os.path.join(folder, "rooms.csv"), "w") as f:
    f.write("1,north\n3,south\n9,none\n")
t_env.execute_sql(
    """
    CREATE TABLE rooms (person INT, room STRING)
    WITH ('connector' = 'filesystem', 'path' = '%s', 'format' = 'csv')"""
    % folder
)
print(sorted(t_env.list_temporary_views()), sorted(t_env.list_tables()))


def fold(label, sql):
    """Prints the table that the changes leave: their order depends on which input came first."""
    table = []
    with t_env.execute_sql(sql).collect() as rows:
        for row in rows:
            if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
                table.append(list(row))
            else:
                table.remove(list(row))
    for row in sorted(table, key=str):
        print(label, *row)


fold("self", "SELECT p.name, b.shown FROM people p LEFT JOIN bosses b ON p.boss = b.id")
fold(
    "rooms",
    """
    SELECT p.name, b.name, r.room FROM people p JOIN bosses b ON p.boss = b.id LEFT JOIN rooms r ON r.person = p.id""",
)
fold("union", "SELECT id, name FROM people UNION SELECT id, shown FROM bosses")
try:
    t_env.create_temporary_view("people", ds)
    print("registered twice")
except Exception as error:
    print("refused")
print(t_env.drop_temporary_view("people"), t_env.drop_temporary_view("people"))
t_env.create_temporary_view("people", ds.filter(lambda r: r.id > 2))
fold("again", "SELECT * FROM people")
