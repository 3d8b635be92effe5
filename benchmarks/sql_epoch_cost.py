"""What an epoch of a streaming GROUP BY costs over little and over much state, for the same number of changed keys.

A growing Parquet table is grouped by key into `blackhole`. First a file with every key is read, 10,000 or 5 million
of them; then 1,000 rows of random keys at a time are put beside it, each file an epoch. usage: sql_epoch_cost.py
"""

from __future__ import annotations

import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CHANGES, EPOCHS = 1_000, 25


def main() -> None:
    if len(sys.argv) > 1:
        measure(int(sys.argv[1]))
        return
    found = {}
    for keys in (10_000, 5_000_000):
        command = [sys.executable, __file__, str(keys)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
        if done.returncode:
            raise SystemExit(done.stderr[-3000:])
        found[keys] = float(done.stdout.strip().splitlines()[-1])
        print(
            f"{keys:>9,} keys: {CHANGES:,} changed keys take {found[keys] * 1000:.0f} ms (median of {EPOCHS} epochs)"
        )
    small, large = found.values()
    print(f"5 million keys cost {large / small:.2f} x what 10,000 cost")


def measure(keys: int) -> None:
    """Prints the median of the epochs that read one small file."""
    from penstock.sql.streaming.epoch_runner import SqlEpochRunner
    from penstock.table import EnvironmentSettings, TableEnvironment

    epochs: list[tuple[int, float]] = []
    run = SqlEpochRunner.run

    def timed(self, plans):  # type: ignore[no-untyped-def]
        started = time.perf_counter()
        reports = run(self, plans)
        read = sum(s.records for r in reports for n in r.nodes for s in n.splits)
        epochs.append((read, time.perf_counter() - started))
        return reports

    SqlEpochRunner.run = timed  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        dice = np.random.default_rng(1)
        write(path, "first", np.arange(keys))
        t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        t_env.get_config().set("parallelism.default", "2")
        t_env.execute_sql(f"""
            CREATE TABLE events (k BIGINT, v BIGINT) WITH ('connector' = 'filesystem', 'path' = 'file://{path}',
            'format' = 'parquet', 'source.monitor-interval' = '50 ms')""")
        t_env.execute_sql(
            "CREATE TABLE target (k BIGINT, n BIGINT, s BIGINT) WITH ('connector' = 'blackhole')"
        )
        result = t_env.execute_sql("INSERT INTO target SELECT k, COUNT(*), SUM(v) FROM events GROUP BY k")
        wait(lambda: sum(read for read, _ in epochs) >= keys)
        for number in range(EPOCHS + 5):
            write(path, f"more-{number}", dice.integers(0, keys, CHANGES))
            wanted = keys + (number + 1) * CHANGES
            wait(lambda wanted=wanted: sum(read for read, _ in epochs) >= wanted)
        client = result.get_job_client()
        if client is not None:
            client.cancel()
    small = [seconds for read, seconds in epochs if read == CHANGES]
    print(statistics.median(small[-EPOCHS:]))


def write(folder: pathlib.Path, name: str, keys: np.ndarray) -> None:  # type: ignore[type-arg]
    """A file that appears whole: hidden until it is written."""
    hidden = folder / f".{name}"
    pq.write_table(pa.table({"k": pa.array(keys, pa.int64()), "v": pa.array(keys % 7, pa.int64())}), hidden)
    hidden.rename(folder / f"{name}.parquet")


def wait(condition) -> None:  # type: ignore[no-untyped-def]
    deadline = time.monotonic() + 600
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("nothing happened for ten minutes")
        time.sleep(0.01)


if __name__ == "__main__":
    main()
