"""Connectors in whole jobs, without Spark: coordinator, stages and checkpoints are the real ones.

Tasks fail and worker processes are lost at random (seeded) points; what the sink shows must not tell.
"""

from __future__ import annotations

import os

import pytest

from penstock.common import Configuration, Encoder, Row, Types, WatermarkStrategy
from penstock.common.datatypes import DataTypes
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.datagen import DataGeneratorSource
from penstock.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    FileSource,
    RollingPolicy,
    StreamFormat,
)
from penstock.datastream.connectors.hybrid_source import HybridSource
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.datastream.formats.parquet import ParquetBulkWriters, ParquetColumnarRowInputFormat
from penstock.runtime.stage import StageInstance
from tests.runtime.in_process import Chaos, run_in_process

NO_WATERMARKS = WatermarkStrategy.no_watermarks()
SETTINGS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1000",
    "restart-strategy.fixed-delay.delay": "1 ms",
    "execution.epoch.max-records": "1000",
}


@pytest.fixture
def environment(monkeypatch):
    """Makes environments whose jobs run in this process, disturbed by `chaos`."""

    def make(chaos=None, parallelism=2):
        run_in_process(monkeypatch, chaos)
        configuration = Configuration()
        for key, value in SETTINGS.items():
            configuration.set_string(key, value)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(parallelism)
        return env

    return make


def visible(folder) -> list[str]:
    return [
        os.path.join(path, name)
        for path, _, names in os.walk(folder)
        for name in names
        if not name.startswith(".")
    ]


def lines(folder) -> list[str]:
    return [line for path in visible(folder) for line in open(path).read().splitlines()]


def as_text(index):
    return f"line {index}"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("compacting", [False, True])
def test_a_file_sink_shows_every_record_once_whatever_fails(tmp_path, environment, seed, compacting):
    chaos = Chaos(seed, 0.35)
    env = environment(chaos)
    builder = FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
    builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    builder.with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=60_000))
    if compacting:
        strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2).build()
        builder.enable_compact(strategy, FileCompactor.concat_file_compactor())
    source = DataGeneratorSource(as_text, 30_000, type_info=Types.STRING())
    env.from_source(source, NO_WATERMARKS, "generated").sink_to(builder.build())
    env.execute("chaos")
    assert sorted(lines(tmp_path)) == sorted(as_text(i) for i in range(30_000))
    assert chaos.failures > 0


def test_an_epoch_that_fails_before_it_has_a_writer_takes_nothing_from_the_one_before(
    tmp_path, environment, monkeypatch
):
    begin, chaos = StageInstance._begin, Chaos(3, 0.3)

    def unlucky(self, mine, warm):
        chaos(None, None)
        return begin(self, mine, warm)

    monkeypatch.setattr(StageInstance, "_begin", unlucky)
    env = environment(None)
    builder = FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
    builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    source = DataGeneratorSource(as_text, 30_000, type_info=Types.STRING())
    env.from_source(source, NO_WATERMARKS, "generated").sink_to(builder.build())
    env.execute("unlucky")
    assert sorted(lines(tmp_path)) == sorted(as_text(i) for i in range(30_000))
    assert chaos.failures > 0


def test_text_files_are_read_once_whatever_fails(tmp_path, environment):
    expected = []
    for number in range(5):
        content = [f"{number}:{line}" for line in range(4_000)]
        (tmp_path / f"f{number}").write_text("\n".join(content))
        expected += content
    chaos = Chaos(7, 0.2)
    env = environment(chaos)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path)).build()
    assert sorted(env.from_source(source, NO_WATERMARKS, "files").execute_and_collect()) == sorted(expected)
    assert chaos.failures > 0


def test_rows_go_to_parquet_and_back(tmp_path, environment):
    row_type = DataTypes.ROW(
        [DataTypes.FIELD("id", DataTypes.BIGINT()), DataTypes.FIELD("text", DataTypes.STRING())]
    )
    type_info = Types.ROW_NAMED(["id", "text"], [Types.LONG(), Types.STRING()])
    env = environment()
    numbers = env.from_source(NumberSequenceSource(1, 100), NO_WATERMARKS, "numbers")
    rows = numbers.map(lambda i: Row(id=i, text=str(i)), output_type=type_info)
    rows.sink_to(FileSink.for_bulk_format(str(tmp_path), ParquetBulkWriters.for_row_type(row_type)).build())
    env.execute("write")
    source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(row_type), str(tmp_path)).build()
    read = env.from_source(source, NO_WATERMARKS, "read").execute_and_collect()
    assert sorted(row.id for row in read) == list(range(1, 101))


def test_a_hybrid_source_survives_failures(environment):
    env = environment(Chaos(3, 0.3))
    source = (
        HybridSource.builder(NumberSequenceSource(0, 99))
        .add_source(DataGeneratorSource(lambda i: 100 + i, 50, type_info=Types.LONG()))
        .build()
    )
    stream = env.from_source(source, NO_WATERMARKS, "both", type_info=Types.LONG())
    assert sorted(stream.execute_and_collect()) == list(range(150))
