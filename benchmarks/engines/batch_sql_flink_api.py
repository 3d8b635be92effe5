"""Runs the queries of benchmarks/tpch in batch mode; on PyFlink where that is installed, else on penstock.

usage: batch_sql_flink_api.py DATA RUNS [QUERY...]
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

try:
    import pyflink  # noqa: F401
except ImportError:
    from penstock.runtime.compat import install_pyflink_alias

    install_pyflink_alias()

from pyflink.table import EnvironmentSettings, TableEnvironment
from tpch.measure import measure
from tpch.tables import TABLES, flink_ddl

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
for table in TABLES:
    t_env.execute_sql(flink_ddl(table, sys.argv[1]))


def answer(text):
    with t_env.execute_sql(text).collect() as rows:
        return [tuple(row) for row in rows]


measure(answer, runs=int(sys.argv[2]), only=sys.argv[3:])
