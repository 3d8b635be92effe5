"""What a job's statistics look like as Flink's JSON. No HTTP, no I/O: functions from `JobStatistics` to dicts."""
