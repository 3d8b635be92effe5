"""The queries of benchmarks/latency.py, on PyFlink where that is installed, else on penstock; runs until killed.

usage: latency_flink_api.py FOLDER count|window CHECKPOINT_INTERVAL
"""

import sys

try:
    import pyflink  # noqa: F401
except ImportError:
    from penstock.runtime.compat import install_pyflink_alias

    install_pyflink_alias()

from pyflink.table import EnvironmentSettings, TableEnvironment

QUERIES = {
    "count": "SELECT ts, k, COUNT(*) OVER (PARTITION BY k ORDER BY pt "
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM events",
    "window": "SELECT MAX(ts), k, COUNT(*) FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(rt), INTERVAL '1' SECOND)) "
    "GROUP BY k, window_start, window_end",
}

folder, query, interval = sys.argv[1:]
t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "2")
t_env.get_config().set("execution.checkpointing.interval", interval)
t_env.get_config().set("execution.checkpointing.dir", f"file://{folder}/checkpoints")
t_env.execute_sql(
    f"""
    CREATE TABLE events (
      ts BIGINT, k BIGINT, pt AS PROCTIME(), rt AS TO_TIMESTAMP_LTZ(ts, 3), WATERMARK FOR rt AS rt
    ) WITH ('connector' = 'filesystem', 'path' = 'file://{folder}/in', 'format' = 'csv',
            'source.monitor-interval' = '20 ms')"""
)
t_env.execute_sql(
    f"""
    CREATE TABLE results (ts BIGINT, k BIGINT, n BIGINT) WITH (
      'connector' = 'filesystem', 'path' = 'file://{folder}/out', 'format' = 'csv')"""
)
t_env.execute_sql(f"INSERT INTO results {QUERIES[query]}").wait()
