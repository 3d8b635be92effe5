"""Streams and tables in one job, in this process: borders, watermarks in band, lifecycles."""

from __future__ import annotations

import pathlib
from typing import Any
from unittest import mock

import pytest

from penstock.common import Row, RowKind, Types, WatermarkStrategy
from penstock.common.errors import ValidationError
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor
from penstock.runtime import submit
from penstock.runtime.in_process import InProcessEpochs
from penstock.sql.streaming import jobs
from penstock.table import ChangelogMode, DataTypes, Schema, StreamTableEnvironment
from penstock.table.udf import ScalarFunction, udf

PAIR = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.LONG()])


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of both APIs run their tasks here."""
    real = submit.submit_job

    def here(sinks: Any, configuration: Any, name: str, _: Any = None, about: Any = None) -> Any:
        return real(sinks, configuration, name, InProcessEpochs)

    monkeypatch.setattr(submit, "submit_job", here)
    monkeypatch.setattr(jobs, "submit_job", here)


def environments(parallelism: int = 1) -> tuple[Any, Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    return env, StreamTableEnvironment.create(env)


def collected(stream: Any) -> list[Any]:
    with stream.execute_and_collect() as rows:
        return list(rows)


def changes(rows: list[Any]) -> list[tuple[str, tuple[Any, ...]]]:
    return [(str(row.get_row_kind()), tuple(row)) for row in rows]


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("records", ["1", "100"])
def test_stream_to_query_to_stream(parallelism: int, records: str) -> None:
    env, t_env = environments(parallelism)
    env.get_configuration().set_string("execution.epoch.max-records", records)
    stream = env.from_collection([Row("a", 1), Row("b", 2), Row("a", 3)], PAIR)
    t_env.create_temporary_view("t", stream)
    table = t_env.sql_query("SELECT k, v * 10 AS v FROM t WHERE v > 1")
    doubled = t_env.to_data_stream(table).map(
        lambda r: (r.k, r.v + 1), Types.TUPLE([Types.STRING(), Types.LONG()])
    )
    assert sorted(collected(doubled)) == [("a", 31), ("b", 21)]


@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_changelog_goes_through_a_keyed_function_and_back_into_sql(parallelism: int) -> None:
    class Last(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

        def process_element(self, value: Any, ctx: Any) -> Any:
            if value.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
                before = self.last.value() or 0
                self.last.update(value.n)
                yield Row(value.k, value.n - before)

    env, t_env = environments(parallelism)
    env.get_configuration().set_string("execution.epoch.max-records", "1")
    stream = env.from_collection([Row("a", 1), Row("b", 2), Row("a", 3), Row("a", 5)], PAIR)
    t_env.create_temporary_view("t", stream)
    counts = t_env.to_changelog_stream(t_env.sql_query("SELECT k, COUNT(*) AS n FROM t GROUP BY k"))
    steps = counts.key_by(lambda r: r.k, Types.STRING()).process(Last(), PAIR)
    t_env.create_temporary_view("steps", steps)
    with t_env.execute_sql("SELECT k, SUM(v) FROM steps GROUP BY k").collect() as rows:
        final = {row[0]: row[1] for row in rows if row.get_row_kind() != RowKind.DELETE}
    assert final == {"a": 3, "b": 1}


def test_upserts_by_primary_key_become_a_table() -> None:
    env, t_env = environments()
    rows = [
        Row.of_kind(RowKind.INSERT, "a", 1),
        Row.of_kind(RowKind.UPDATE_AFTER, "a", 4),
        Row.of_kind(RowKind.INSERT, "b", 5),
        Row.of_kind(RowKind.DELETE, "b", 5),
    ]
    schema = (
        Schema.new_builder()
        .column("k", DataTypes.STRING().not_null())
        .column("v", DataTypes.BIGINT())
        .primary_key("k")
    )
    table = t_env.from_changelog_stream(
        env.from_collection(rows, PAIR), schema.build(), ChangelogMode.upsert()
    )
    t_env.create_temporary_view("t", table)
    with t_env.execute_sql("SELECT SUM(v) FROM t").collect() as found:
        assert [row[0] for row in found][-1] == 4


class FirstField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


def test_three_windows_in_a_row_answer_in_the_epoch_that_completes_them() -> None:
    env, t_env = environments()
    env.get_configuration().set_string("execution.epoch.max-records", "4")
    stream = env.from_collection(
        [Row("a", 1_000), Row("a", 2_500), Row("b", 4_000), Row("a", 90_000), Row("a", 95_000)], PAIR
    ).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(FirstField())
    )
    schema = (
        Schema.new_builder()
        .column("k", DataTypes.STRING())
        .column("v", DataTypes.BIGINT())
        .column_by_metadata("rowtime", DataTypes.TIMESTAMP_LTZ(3))
        .watermark("rowtime", "SOURCE_WATERMARK()")
    )
    t_env.create_temporary_view("t", stream, schema.build())

    def window(source: str, size: int, columns: str) -> str:
        tumble = f"TABLE(TUMBLE(TABLE {source}, DESCRIPTOR(rowtime), INTERVAL '{size}' SECOND))"
        groups = "GROUP BY window_start, window_end, window_time"
        return f"SELECT window_time AS rowtime, {columns} FROM {tumble} {groups}"

    t_env.create_temporary_view("w1", t_env.sql_query(window("t", 1, "COUNT(*) AS n")))
    t_env.create_temporary_view("w2", t_env.sql_query(window("w1", 2, "SUM(n) AS n")))
    three = t_env.to_data_stream(t_env.sql_query(window("w2", 10, "SUM(n) AS n")))

    class WithEpoch(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value.n, ctx.timestamp()

    results = three.key_by(lambda r: 0).process(WithEpoch(), Types.TUPLE([Types.LONG(), Types.LONG()]))
    epochs: list[int] = []
    seen = mock.patch(
        "penstock.connectors.collect._CollectCommitter.commit",
        autospec=True,
        side_effect=lambda self, items: epochs.extend(item.epoch for item in items),
    )
    with seen:
        env_job = results.execute_and_collect()
        list(env_job)
    # 4 s lie in the first epoch, and so does 90 s, which completes 0-10 s on all three levels.
    assert epochs[0] == 1


def test_functions_are_opened_once_with_a_context_and_closed(tmp_path: pathlib.Path) -> None:
    log = tmp_path / "log"

    class Traced(ScalarFunction):
        def open(self, function_context: Any) -> None:
            with log.open("a") as file:
                file.write(f"open {function_context.get_job_parameter('who', '?')}\n")
            self.calls = function_context.get_metric_group().counter("calls")

        def eval(self, value: Any) -> Any:
            self.calls.inc()
            return value + 1

        def close(self) -> None:
            with log.open("a") as file:
                file.write("close\n")

    env, t_env = environments()
    env.get_config().set_global_job_parameters({"who": "me"})
    env.get_configuration().set_string("execution.epoch.max-records", "1")
    t_env.create_temporary_function("traced", udf(Traced(), result_type=DataTypes.BIGINT()))
    t_env.create_temporary_view("t", env.from_collection([Row("a", 1), Row("b", 2), Row("a", 3)], PAIR))
    stream = t_env.to_data_stream(t_env.sql_query("SELECT traced(v) AS v FROM t"))
    assert sorted(r.v for r in collected(stream)) == [2, 3, 4]
    assert log.read_text().splitlines() == ["open me", "close"]


def test_inserts_of_a_statement_set_run_with_the_streams_of_the_program(tmp_path: pathlib.Path) -> None:
    env, t_env = environments()
    stream = env.from_collection([Row("a", 1), Row("b", 2)], PAIR)
    t_env.create_temporary_view("t", stream)
    t_env.execute_sql(
        f"CREATE TABLE written (k STRING, v BIGINT) WITH ('connector' = 'filesystem', 'format' = 'csv', "
        f"'path' = '{(tmp_path / 'out').as_uri()}')"
    )
    statements = t_env.create_statement_set()
    statements.add_insert_sql("INSERT INTO written SELECT k, v + 1 FROM t")
    statements.add_insert("written", t_env.sql_query("SELECT k, v + 100 FROM t"))
    statements.attach_as_datastream()
    assert sorted(collected(stream.map(lambda r: r.v * 2, Types.LONG()))) == [2, 4]
    files = [f for f in (tmp_path / "out").glob("*") if f.is_file() and not f.name.startswith((".", "_"))]
    assert sorted(line for f in files for line in f.read_text().split()) == ["a,101", "a,2", "b,102", "b,3"]


def test_an_updating_table_is_no_stream_of_insertions() -> None:
    env, t_env = environments()
    t_env.create_temporary_view("t", env.from_collection([Row("a", 1)], PAIR))
    with pytest.raises(ValidationError, match="to_changelog_stream"):
        t_env.to_data_stream(t_env.sql_query("SELECT k, COUNT(*) FROM t GROUP BY k"))


def test_a_border_that_cannot_work_is_refused_when_it_is_built() -> None:
    env, t_env = environments()
    rows = env.from_collection([Row("a", 1)], PAIR)
    wrong = Schema.new_builder().column("k", DataTypes.STRING()).column("w", DataTypes.BIGINT()).build()
    with pytest.raises(ValidationError, match="column 'w'"):
        t_env.from_data_stream(rows, wrong)
    types = (
        Schema.new_builder()
        .column("k", DataTypes.ARRAY(DataTypes.INT()))
        .column("v", DataTypes.BIGINT())
        .build()
    )
    with pytest.raises(ValidationError, match="does not convert"):
        t_env.from_data_stream(rows, types)
    with pytest.raises(ValidationError, match="undeclared type"):
        t_env.from_data_stream(env.from_collection([object()]))
    with pytest.raises(ValidationError, match="rows with a kind"):
        t_env.from_changelog_stream(env.from_collection([1], Types.LONG()))
    with pytest.raises(ValidationError, match="primary key"):
        t_env.from_changelog_stream(rows, None, ChangelogMode.upsert())
