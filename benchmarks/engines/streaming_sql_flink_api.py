"""Runs the streaming queries; on PyFlink where that is installed, else on penstock.

usage: streaming_sql_flink_api.py SMALL LARGE default|mini-batch QUERY...
"""

import json
import sys
import time

try:
    import pyflink  # noqa: F401
except ImportError:
    from penstock.runtime.compat import install_pyflink_alias

    install_pyflink_alias()

from pyflink.table import EnvironmentSettings, TableEnvironment

MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "50000",
}
BOTH = "(SELECT k, v, ts FROM clicks UNION ALL SELECT k, v, ts FROM orders)"
SINKS = {
    "group_by": "k INT, n BIGINT, total BIGINT, highest BIGINT",
    "tumbling": "k INT, ws TIMESTAMP(3), n BIGINT, total BIGINT, highest BIGINT",
    "interval_join": "k INT, cv BIGINT, ov BIGINT, cts TIMESTAMP(3)",
    "top_n": "k INT, v BIGINT, ts TIMESTAMP(3), r BIGINT",
}
QUERIES = {
    "group_by": f"SELECT k, COUNT(*), SUM(v), MAX(v) FROM {BOTH} GROUP BY k",
    "tumbling": """
        SELECT k, window_start, COUNT(*), SUM(v), MAX(v)
        FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '10' SECOND))
        GROUP BY k, window_start, window_end""",
    "interval_join": """
        SELECT c.k, c.v, o.v, c.ts FROM clicks c JOIN orders o ON c.k = o.k
        AND c.ts BETWEEN o.ts - INTERVAL '5' SECOND AND o.ts + INTERVAL '5' SECOND""",
    "top_n": f"""
        SELECT k, v, ts, r FROM (
            SELECT k, v, ts, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS r FROM {BOTH})
        WHERE r <= 10""",
}


def main():
    small, large, mode, *queries = sys.argv[1:]
    seconds = {}
    for query in queries:
        for folder in (small, large):
            seconds[query] = run(folder, mode, query)
    print(json.dumps({"seconds": seconds}))


def run(folder, mode, query):
    """Seconds from the INSERT to the end of its job."""
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "2")
    if mode == "mini-batch":
        for key, value in MINI_BATCH.items():
            t_env.get_config().set(key, value)
    for table in ("clicks", "orders"):
        t_env.execute_sql(f"""
            CREATE TEMPORARY TABLE {table} (k INT, v BIGINT, ts TIMESTAMP(3),
                WATERMARK FOR ts AS ts - INTERVAL '2' SECOND)
            WITH ('connector' = 'filesystem', 'path' = 'file://{folder}/{table}', 'format' = 'parquet')""")
    t_env.execute_sql(f"CREATE TEMPORARY VIEW events AS SELECT * FROM {BOTH}")
    t_env.execute_sql(f"CREATE TEMPORARY TABLE target ({SINKS[query]}) WITH ('connector' = 'blackhole')")
    started = time.perf_counter()
    t_env.execute_sql(f"INSERT INTO target {QUERIES[query]}").wait()
    return time.perf_counter() - started


main()
