"""Reads a CSV file as a table and counts per minute in SQL.

The table declares what its columns mean: `at_time` is event time, and rows may come up to 5 seconds late.
"""

import pathlib
import tempfile

from penstock.table import EnvironmentSettings, TableEnvironment

path = pathlib.Path(tempfile.mkdtemp()) / "orders.csv"
path.write_text(
    "pen,2.50,2024-05-01 10:00:05\nink,8.00,2024-05-01 10:00:40\npen,2.50,2024-05-01 10:01:10\n",
    encoding="utf-8",
)

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.execute_sql(f"""
    CREATE TABLE orders (
        item STRING,
        price DECIMAL(8, 2),
        at_time TIMESTAMP(3),
        WATERMARK FOR at_time AS at_time - INTERVAL '5' SECOND
    ) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')
""")
result = t_env.execute_sql("""
    SELECT window_start, COUNT(*) AS orders, SUM(price) AS total
    FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(at_time), INTERVAL '1' MINUTE))
    GROUP BY window_start, window_end
""")
with result.collect() as rows:
    for window_start, orders, total in rows:
        print(window_start, orders, total)
