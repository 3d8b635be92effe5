"""Checkpoints, files, tables and dead letters on S3, that is, on a server that speaks its language; without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common import Configuration, Encoder, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from penstock.table import EnvironmentSettings, TableEnvironment
from tests.connectors.scripted import in_this_process, play
from tests.runtime.in_process import Chaos, run_in_process
from tests.servers.s3 import BUCKET, S3Server


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    server = S3Server()
    yield server
    server.stop()


def environment(settings: dict[str, str]) -> StreamExecutionEnvironment:
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def checked(n: int) -> str:
    if n % 50 == 7:
        raise ValueError("poison")
    return str(n)


def test_a_job_keeps_its_checkpoints_output_and_dead_letters_there(
    s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    chaos = Chaos(5, 0.2)
    run_in_process(monkeypatch, chaos)
    env = environment(
        {
            "execution.checkpointing.dir": f"s3://{BUCKET}/chk",
            "penstock.dead-letter.path": f"s3://{BUCKET}/dead",
            "execution.epoch.max-records": "60",
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "1000",
            "restart-strategy.fixed-delay.delay": "1 ms",
        }
    )
    env.set_parallelism(2)
    numbers = env.from_collection(list(range(400)), Types.INT()).map(checked, Types.STRING())
    sink = FileSink.for_row_format(f"s3://{BUCKET}/out", Encoder.simple_string_encoder()).build()
    numbers.sink_to(sink)
    env.execute("s3")
    good = sorted(str(n) for n in range(400) if n % 50 != 7)
    lines = [line for key in s3.keys("out/") for line in s3.read(key).decode().split()]
    assert sorted(lines) == good and chaos.failures > 0
    dead = [json.loads(line) for key in s3.keys("dead/") for line in s3.read(key).splitlines()]
    assert sorted(int(letter["value"]) for letter in dead) == list(range(7, 400, 50))
    assert s3.keys("chk/") in ([], ["chk/"])  # the job went on from there, and has cleaned up at its end

    run_in_process(monkeypatch, None)
    env = environment({})
    source = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), f"s3://{BUCKET}/out"
    ).build()
    read = env.from_source(source, WatermarkStrategy.no_watermarks(), "files").execute_and_collect()
    assert sorted(read) == good


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("json", "'connector' = 'filesystem', 'path' = '{path}', 'format' = 'json'"),
        ("parquet", "'connector' = 'filesystem', 'path' = '{path}', 'format' = 'parquet'"),
        ("delta", "'connector' = 'delta', 'table-path' = '{path}', 'storage.AWS_CONDITIONAL_PUT' = 'etag'"),
    ],
)
def test_tables_are_written_and_read_there(s3: S3Server, name: str, options: str) -> None:
    if name == "delta":
        pytest.importorskip("deltalake")
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    rows: list[Any] = [(1, "a"), (2, None), (3, "c")]
    play(f"s3_{name}", [rows])
    env.execute_sql(
        f"CREATE TABLE given (id INT, v STRING) WITH ('connector' = 'scripted', 'script' = 's3_{name}')"
    )
    there = options.format(path=f"s3://{BUCKET}/{name}")
    env.execute_sql(f"CREATE TABLE t (id INT, v STRING) WITH ({there})")
    with in_this_process():
        env.execute_sql("INSERT INTO t SELECT * FROM given").wait()
        assert sorted(tuple(row) for row in env.execute_sql("SELECT * FROM t").collect()) == rows
    assert s3.keys(f"{name}/")
