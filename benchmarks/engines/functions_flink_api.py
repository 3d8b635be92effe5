"""Runs a query per function; on PyFlink where that is installed, else on penstock.

usage: functions_flink_api.py FOLDER batch|streaming COLUMNS EXPRESSIONS   (as JSON, by name)
Prints the seconds of each INSERT; the first expression is run once more before, to warm up.
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


def main():
    folder, mode, columns, asked = sys.argv[1:]
    settings = (
        EnvironmentSettings.in_batch_mode() if mode == "batch" else EnvironmentSettings.in_streaming_mode()
    )
    t_env = TableEnvironment.create(settings)
    t_env.get_config().set("parallelism.default", "2")
    t_env.execute_sql(f"""CREATE TEMPORARY TABLE source ({columns})
        WITH ('connector' = 'filesystem', 'path' = 'file://{folder}', 'format' = 'parquet')""")
    expressions = json.loads(asked)
    first = next(iter(expressions))
    seconds = {}
    for name in (first, *expressions):
        seconds[name] = run(t_env, expressions[name])
    print(json.dumps({"seconds": seconds}))


def run(t_env, expression):
    """Seconds from the INSERT to the end of its job."""
    t_env.execute_sql("DROP TEMPORARY VIEW IF EXISTS computed")
    t_env.execute_sql(f"CREATE TEMPORARY VIEW computed AS SELECT {expression} AS r FROM source")
    with t_env.execute_sql("DESCRIBE computed").collect() as described:
        kind = next(iter(described))[1]
    t_env.execute_sql("DROP TEMPORARY TABLE IF EXISTS target")
    t_env.execute_sql(f"CREATE TEMPORARY TABLE target (r {kind}) WITH ('connector' = 'blackhole')")
    started = time.perf_counter()
    t_env.execute_sql(f"INSERT INTO target SELECT {expression} FROM source").wait()
    return time.perf_counter() - started


main()
