"""The SQL program that recovery tests start, kill and start again: files into compacted partitions of files.

file_sink_job.py IN OUTPUT CHECKPOINTS RECORDS_PER_EPOCH
"""

from __future__ import annotations

import sys

from sql_job import SETTINGS, SOURCE

from penstock.table import EnvironmentSettings, TableEnvironment

SINK = """
CREATE TABLE copies (k INT, v INT, ts TIMESTAMP(3), `minute` STRING) PARTITIONED BY (`minute`)
WITH (
  'connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv', 'auto-compaction' = 'true',
  'sink.partition-commit.policy.kind' = 'success-file', 'sink.partition-commit.trigger' = 'partition-time',
  'sink.partition-commit.delay' = '1 min', 'partition.time-extractor.timestamp-formatter' = 'yyyy-MM-dd HH-mm'
)
"""

INSERT = "INSERT INTO copies SELECT k, v, ts, DATE_FORMAT(ts, 'yyyy-MM-dd HH-mm') FROM events"


def main(source: str, output: str, checkpoints: str, records_per_epoch: str) -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    settings = {
        **SETTINGS,
        "execution.checkpointing.dir": checkpoints,
        "execution.epoch.max-records": records_per_epoch,
    }
    for key, value in settings.items():
        env.get_config().set(key, value)
    env.execute_sql(SOURCE.format(path=source))
    env.execute_sql(SINK.format(path=output))
    env.execute_sql(INSERT).wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
