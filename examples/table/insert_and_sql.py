"""A table goes through SQL and into a file, together with another one."""

import tempfile

from penstock.table import EnvironmentSettings, Schema, TableDescriptor, TableEnvironment
from penstock.table.expressions import col

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
orders = t_env.from_elements([("pen", 3), ("ink", 9), ("pen", 4)], ["item", "n"])
large = t_env.sql_query(f"SELECT item, n FROM {orders} WHERE n > 3")  # a table's text is its name

schema = Schema.new_builder().column("item", "STRING").column("n", "BIGINT").build()
folder = tempfile.mkdtemp()
target = (
    TableDescriptor.for_connector("filesystem").schema(schema).option("path", folder).format("csv").build()
)
t_env.create_temporary_table("target", target)

insertions = t_env.create_statement_set()
insertions.add(large.insert_into("target"))
insertions.add_insert("target", orders.group_by(col("item")).select(col("item"), col("n").sum))
insertions.execute().wait()
for item, n in t_env.from_path("target").order_by(col("item"), col("n")).execute().collect():
    print(item, n)
