"""Programs that mix streams and tables, each one job with exactly-once sinks.

A program builds its job and starts it; what it leaves in its folder is its answer. `test_mixed_ways.py` runs each in
several ways. Answers do not depend on the order of two keys, so they can be compared whatever the parallelism.
"""

from __future__ import annotations

import pathlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.common import Encoder, Row, RowKind, Types, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import KeyedCoProcessFunction, KeyedProcessFunction, ProcessFunction
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.state import ValueStateDescriptor
from penstock.table import ChangelogMode, DataTypes, Schema
from penstock.table.udf import udf

PAIR = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.LONG()])
EVENTS = [
    Row("a", 1_000),
    Row("b", 2_000),
    Row("a", 3_000),
    Row("c", 12_000),
    Row("a", 13_000),
    Row("b", 31_000),
]


@dataclass
class World:
    """What a program gets: its environments and the folder of its answer."""

    env: Any
    t_env: Any
    out: pathlib.Path

    def stream(self, rows: list[Row], type_info: Any = PAIR) -> Any:
        return self.env.from_collection(rows, type_info)

    def timed(self, rows: list[Row]) -> Any:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(_SecondField())
        return self.stream(rows).assign_timestamps_and_watermarks(strategy)

    def view(self, name: str, stream: Any, *schema: Any) -> None:
        self.t_env.create_temporary_view(name, stream, *schema)

    def query(self, text: str) -> Any:
        return self.t_env.sql_query(text)

    def write(self, stream: Any) -> None:
        """The elements as lines of the answer, exactly once."""
        sink = FileSink.for_row_format(str(self.out), Encoder.simple_string_encoder()).build()
        stream.map(_line, Types.STRING()).sink_to(sink)

    def write_changes(self, table: Any) -> None:
        self.write(self.t_env.to_changelog_stream(table))

    def run(self) -> None:
        self.env.execute("mixed")

    def answer(self) -> Counter[str]:
        """Lines, those of changes folded: what came minus what was taken back."""
        found: Counter[str] = Counter()
        for file in self.out.rglob("*"):
            if file.is_file() and not file.name.startswith((".", "_")):
                for line in file.read_text().split("\n")[:-1]:
                    kind, text = (line[:2], line[3:]) if line[:2] in _KINDS else ("+I", line)
                    found[text] += 1 if kind[0] == "+" else -1
        return Counter({text: count for text, count in found.items() if count})


_KINDS = ("+I", "-U", "+U", "-D")


class _SecondField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


def _line(value: Any) -> str:
    if not isinstance(value, Row):
        return str(value)
    return " ".join([str(value.get_row_kind()), *(str(field) for field in value)])


def _rowtime_schema() -> Schema:
    return (
        Schema.new_builder()
        .column("k", DataTypes.STRING())
        .column("v", DataTypes.BIGINT())
        .column_by_metadata("ts", DataTypes.TIMESTAMP_LTZ(3), "rowtime")
        .watermark("ts", "SOURCE_WATERMARK()")
        .build()
    )


def _windows(source: str) -> str:
    return (
        f"SELECT k, COUNT(*) AS n, window_time AS ts FROM TABLE(TUMBLE(TABLE {source}, DESCRIPTOR(ts), "
        "INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end, window_time"
    )


class Numbered(KeyedProcessFunction):
    """Numbers the elements of a key, in state."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield Row(value[0], self.count.value())


class Growth(KeyedProcessFunction):
    """By how much the newest value of a key differs from the one before; takes changes."""

    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        if value.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
            yield Row(value[0], value[1] - (self.last.value() or 0))
            self.last.update(value[1])


class Silence(KeyedProcessFunction):
    """Tells by a timer that a key has been silent for 15 seconds."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.seen.update(ctx.timestamp())
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 15_000)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        if self.seen.value() == timestamp - 15_000:
            yield Row(ctx.get_current_key(), timestamp)


class Both(KeyedCoProcessFunction):
    """Counts what came from either side."""

    def open(self, runtime_context: Any) -> None:
        self.left = runtime_context.get_state(ValueStateDescriptor("left", Types.LONG()))
        self.right = runtime_context.get_state(ValueStateDescriptor("right", Types.LONG()))

    def process_element1(self, value: Any, ctx: Any) -> Any:
        self.left.update((self.left.value() or 0) + value[1])
        yield from ()

    def process_element2(self, value: Any, ctx: Any) -> Any:
        self.right.update((self.right.value() or 0) + value[1])
        yield Row(value[0], self.right.value())


class Repeat(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield Row(value[0], value[1])
        yield Row(value[0], -value[1])


# --- the programs -------------------------------------------------------------------------------------------


def stream_query_stream(w: World) -> None:
    w.view("t", w.stream(EVENTS))
    rows = w.t_env.to_data_stream(w.query("SELECT k, v / 1000 AS v FROM t WHERE v > 1500"))
    w.write(rows.map(lambda r: f"{r.k}={r.v}", Types.STRING()))
    w.run()


def group_by_to_keyed_function_to_group_by(w: World) -> None:
    w.view("t", w.stream(EVENTS))
    counts = w.t_env.to_changelog_stream(w.query("SELECT k, COUNT(*) AS n FROM t GROUP BY k"))
    w.view("growth", counts.key_by(lambda r: r.k, Types.STRING()).process(Growth(), PAIR))
    w.write_changes(w.query("SELECT k, SUM(v) AS s FROM growth GROUP BY k"))
    w.run()


def windows_to_timers(w: World) -> None:
    w.view("t", w.timed(EVENTS), _rowtime_schema())
    windows = w.t_env.to_data_stream(w.query(_windows("t")))
    silent = windows.key_by(lambda r: r.k, Types.STRING()).process(Silence(), PAIR)
    w.write(silent)
    w.run()


def keyed_function_to_windows(w: World) -> None:
    rows = w.timed(EVENTS).process(Repeat(), PAIR)
    w.view("t", rows, _rowtime_schema())
    w.write(w.t_env.to_data_stream(w.query(_windows("t"))).map(lambda r: f"{r.k} {r.n}", Types.STRING()))
    w.run()


def windows_of_windows(w: World) -> None:
    w.view("t", w.timed(EVENTS), _rowtime_schema())
    w.view("w1", w.query(_windows("t")))
    text = (
        "SELECT SUM(n) AS n FROM TABLE(TUMBLE(TABLE w1, DESCRIPTOR(ts), INTERVAL '20' SECOND)) "
        "GROUP BY window_start, window_end"
    )
    w.write(w.t_env.to_data_stream(w.query(text)))
    w.run()


def upserts_to_join(w: World) -> None:
    changes = [
        Row.of_kind(RowKind.INSERT, "a", 1),
        Row.of_kind(RowKind.UPDATE_AFTER, "a", 7),
        Row.of_kind(RowKind.INSERT, "b", 2),
        Row.of_kind(RowKind.DELETE, "b", 2),
        Row.of_kind(RowKind.INSERT, "c", 3),
    ]
    key = Schema.new_builder().column("k", DataTypes.STRING().not_null()).column("v", DataTypes.BIGINT())
    schema = key.primary_key("k").build()
    w.view("prices", w.t_env.from_changelog_stream(w.stream(changes), schema, ChangelogMode.upsert()))
    w.view("t", w.stream(EVENTS))
    w.write_changes(w.query("SELECT t.k, t.v, p.v AS price FROM t LEFT JOIN prices p ON t.k = p.k"))
    w.run()


def changelog_out_and_in_again(w: World) -> None:
    w.view("t", w.stream(EVENTS))
    sums = w.t_env.to_changelog_stream(w.query("SELECT k, SUM(v) AS v FROM t GROUP BY k"))
    w.view("sums", w.t_env.from_changelog_stream(sums))
    w.write_changes(w.query("SELECT MAX(v) AS top, COUNT(*) AS n FROM sums"))
    w.run()


def two_queries_meet_in_a_function(w: World) -> None:
    w.view("t", w.stream(EVENTS))
    small = w.t_env.to_data_stream(w.query("SELECT k, v FROM t WHERE v < 10000"))
    large = w.t_env.to_data_stream(w.query("SELECT k, v FROM t WHERE v >= 10000"))
    by_key = small.key_by(lambda r: r.k, Types.STRING()).connect(large.key_by(lambda r: r.k, Types.STRING()))
    w.write(by_key.process(Both(), PAIR))
    w.run()


def function_of_the_user_between(w: World) -> None:
    w.t_env.create_temporary_function("twice", udf(lambda v: v * 2, result_type=DataTypes.BIGINT()))
    w.view("t", w.stream(EVENTS))
    numbered = (
        w.t_env.to_data_stream(w.query("SELECT UPPER(k) AS k, twice(v) AS v FROM t"))
        .key_by(lambda r: r.k, Types.STRING())
        .process(Numbered(), PAIR)
    )
    w.view("numbered", numbered)
    w.write_changes(w.query("SELECT k, MAX(twice(v)) AS m FROM numbered GROUP BY k"))
    w.run()


def top_n_to_stream(w: World) -> None:
    w.view("t", w.stream(EVENTS))
    w.write_changes(
        w.query(
            "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS r FROM t) WHERE r <= 2"
        )
    )
    w.run()


def statement_set_with_a_stream(w: World) -> None:
    rows = w.stream(EVENTS)
    w.view("t", rows)
    w.t_env.execute_sql(
        "CREATE TABLE written (k STRING, v BIGINT) WITH ('connector' = 'filesystem', 'format' = 'csv', "
        f"'path' = '{(w.out / 'table').as_uri()}')"
    )
    statements = w.t_env.create_statement_set()
    statements.add_insert_sql("INSERT INTO written SELECT k, v + 1 FROM t WHERE k <> 'a'")
    statements.add_insert("written", w.query("SELECT k, v + 2 FROM t WHERE k = 'a'"))
    statements.attach_as_datastream()
    w.write(rows.key_by(lambda r: r.k, Types.STRING()).process(Numbered(), PAIR))
    w.run()


def insert_of_a_stream(w: World) -> None:
    numbered = w.stream(EVENTS).key_by(lambda r: r.k, Types.STRING()).process(Numbered(), PAIR)
    w.view("t", numbered)
    w.t_env.execute_sql(
        "CREATE TABLE written (k STRING, v BIGINT) WITH ('connector' = 'filesystem', 'format' = 'csv', "
        f"'path' = '{w.out.as_uri()}')"
    )
    w.t_env.execute_sql("INSERT INTO written SELECT k, v * 10 FROM t").wait()


def temporal_join_of_streams(w: World) -> None:
    w.view("t", w.timed(EVENTS), _rowtime_schema())
    rates = w.timed([Row("a", 500), Row("b", 1_500), Row("a", 12_500), Row("c", 50_000)])
    key = (
        Schema.new_builder()
        .column("k", DataTypes.STRING().not_null())
        .column("v", DataTypes.BIGINT())
        .column_by_metadata("ts", DataTypes.TIMESTAMP_LTZ(3), "rowtime")
        .watermark("ts", "SOURCE_WATERMARK()")
        .primary_key("k")
        .build()
    )
    w.view("rates", rates, key)
    w.write_changes(
        w.query("SELECT t.k, t.v, r.v AS rate FROM t JOIN rates FOR SYSTEM_TIME AS OF t.ts AS r ON t.k = r.k")
    )
    w.run()


Program = Callable[[World], None]

ANSWERS: dict[Program, list[str]] = {
    stream_query_stream: ["b=2", "a=3", "c=12", "a=13", "b=31"],
    group_by_to_keyed_function_to_group_by: ["a 3", "b 2", "c 1"],
    windows_to_timers: ["a 34999", "b 24999", "b 54999", "c 34999"],
    keyed_function_to_windows: ["a 4", "b 2", "c 2", "a 2", "b 2"],
    windows_of_windows: ["5", "1"],
    upserts_to_join: ["a 1000 7", "a 3000 7", "a 13000 7", "b 2000 None", "b 31000 None", "c 12000 3"],
    changelog_out_and_in_again: ["33000 3"],
    two_queries_meet_in_a_function: ["c 12000", "a 13000", "b 31000"],
    function_of_the_user_between: ["A 6", "B 4", "C 2"],
    top_n_to_stream: ["a 13000", "a 3000", "b 31000", "b 2000", "c 12000"],
    statement_set_with_a_stream: [
        "b,2001", "c,12001", "b,31001", "a,1002", "a,3002", "a,13002",
        "a 1", "a 2", "a 3", "b 1", "b 2", "c 1",
    ],
    insert_of_a_stream: ["a,10", "a,20", "a,30", "b,10", "b,20", "c,10"],
    temporal_join_of_streams: ["a 1000 500", "b 2000 1500", "a 3000 500", "a 13000 12500", "b 31000 1500"],
}  # fmt: skip
"""What each leaves, as a bag of lines."""
