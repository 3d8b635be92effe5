"""The program that recovery tests start, kill and start again: a captured table, copied and counted.

cdc_job.py OPTIONS SINK CHECKPOINTS RECORDS_PER_EPOCH: options of the captured table and of the sinks are JSON.
"""

from __future__ import annotations

import json
import sys

from penstock.table import EnvironmentSettings, TableEnvironment

SETTINGS = {
    "parallelism.default": "2",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1000",
    "restart-strategy.fixed-delay.delay": "10 ms",
}

TABLES = (
    "captured (id BIGINT, name STRING, price DECIMAL(10, 2), note STRING, PRIMARY KEY (id) NOT ENFORCED)",
    "copied (id BIGINT, name STRING, price DECIMAL(10, 2), note STRING, PRIMARY KEY (id) NOT ENFORCED)",
    "counted (name STRING, n BIGINT, total DECIMAL(38, 2), PRIMARY KEY (name) NOT ENFORCED)",
)
INSERTS = (
    "INSERT INTO copied SELECT * FROM captured",
    "INSERT INTO counted SELECT name, COUNT(*), SUM(price) FROM captured GROUP BY name",
)


def run(options: str, sink: str, checkpoints: str, records_per_epoch: str) -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    settings = {
        **SETTINGS,
        "execution.checkpointing.dir": checkpoints,
        "execution.epoch.max-records": records_per_epoch,
    }
    for key, value in settings.items():
        env.get_config().set(key, value)
    captured, to = json.loads(options), json.loads(sink)
    each = (
        captured,
        {**to, "table-name": to["table-name"]},
        {**to, "table-name": to["table-name"] + "_counted"},
    )
    for table, given in zip(TABLES, each, strict=True):
        quoted = ", ".join("'{}' = '{}'".format(k, v.replace("'", "''")) for k, v in given.items())
        env.execute_sql(f"CREATE TABLE {table} WITH ({quoted})")
    statements = env.create_statement_set()
    for insert in INSERTS:
        statements.add_insert_sql(insert)
    statements.execute().wait()


if __name__ == "__main__":
    run(*sys.argv[1:])
