"""The SQL program that recovery tests start, kill and start again: a window aggregate from files into files.

sql_job.py IN OUTPUT CHECKPOINTS RECORDS_PER_EPOCH
"""

from __future__ import annotations

import sys

from penstock.table import EnvironmentSettings, TableEnvironment

SETTINGS = {
    "parallelism.default": "2",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "100",
    "restart-strategy.fixed-delay.delay": "10 ms",
}

SOURCE = """
CREATE TABLE events (k INT, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')
"""

SINK = """
CREATE TABLE totals (k INT, starts TIMESTAMP(3), n BIGINT, total BIGINT)
WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')
"""

INSERT = """
INSERT INTO totals
SELECT k, window_start, COUNT(*), SUM(v)
FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY k, window_start, window_end
"""


def run(sink: str, insert: str, source: str, output: str, checkpoints: str, records_per_epoch: str) -> None:
    """Runs the two statements over the events of `source`, into `output`."""
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    settings = {
        **SETTINGS,
        "execution.checkpointing.dir": checkpoints,
        "execution.epoch.max-records": records_per_epoch,
    }
    for key, value in settings.items():
        env.get_config().set(key, value)
    env.execute_sql(SOURCE.format(path=source))
    env.execute_sql(sink.format(path=output))
    env.execute_sql(insert).wait()


if __name__ == "__main__":
    run(SINK, INSERT, *sys.argv[1:])
