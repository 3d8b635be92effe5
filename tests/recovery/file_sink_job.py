"""The SQL program that recovery tests start, kill and start again: files into compacted partitions of files.

file_sink_job.py IN OUTPUT CHECKPOINTS RECORDS_PER_EPOCH
"""

from __future__ import annotations

import sys

from sql_job import run

SINK = """
CREATE TABLE copies (k INT, v INT, ts TIMESTAMP(3), `minute` STRING) PARTITIONED BY (`minute`)
WITH (
  'connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv', 'auto-compaction' = 'true',
  'sink.rolling-policy.rollover-interval' = '1 h',
  'sink.partition-commit.policy.kind' = 'success-file', 'sink.partition-commit.trigger' = 'partition-time',
  'sink.partition-commit.delay' = '1 min', 'partition.time-extractor.timestamp-formatter' = 'yyyy-MM-dd HH-mm'
)
"""

INSERT = "INSERT INTO copies SELECT k, v, ts, DATE_FORMAT(ts, 'yyyy-MM-dd HH-mm') FROM events"


if __name__ == "__main__":
    run(SINK, INSERT, *sys.argv[1:])
