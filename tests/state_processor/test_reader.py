"""The state of a savepoint as DataFrames."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.checkpoint.contents import open_contents
from penstock.common import Time, Types
from penstock.common.errors import CheckpointError
from penstock.common.ids import OperatorUid
from penstock.datastream.state import ListStateDescriptor, ValueStateDescriptor
from penstock.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.state_processor import KeyedStateReaderFunction, SavepointReader, WindowReaderFunction
from tests.state_processor.conftest import Mean, key_of

pytestmark = pytest.mark.spark


def by_key(numbers: int) -> dict[tuple[int, str], list[int]]:
    found: dict[tuple[int, str], list[int]] = {}
    for number in range(numbers):
        found.setdefault(key_of(number), []).append(number)
    return found


def test_value_state_has_typed_columns(spark: Any, savepoint: tuple[str, int]) -> None:
    path, numbers = savepoint
    frame = SavepointReader.read(spark, path).read_keyed_state("all", "person")
    assert frame.schema.simpleString() == (
        "struct<key:struct<f0:bigint,f1:string>,value:struct<name:string,age:bigint>>"
    )
    rows = {tuple(row.key): tuple(row.value) for row in frame.collect()}
    assert rows == {key: (f"p{seen[-1]}", seen[-1]) for key, seen in by_key(numbers).items()}


def test_list_map_reducing_and_aggregating_state(spark: Any, savepoint: tuple[str, int]) -> None:
    path, numbers = savepoint
    expected = by_key(numbers)
    reader = SavepointReader.read(spark, path)
    lists = reader.read_keyed_state("all", "seen")
    assert dict(lists.dtypes)["value"] == "array<bigint>"
    assert {tuple(row.key): row.value for row in lists.collect()} == expected
    maps = reader.read_keyed_state("all", "stock").selectExpr("key.f0 k", "map_key", "value")
    assert {(r.k, r.map_key): r.value for r in maps.collect()} == {
        (key[0], f"i{n % 2}"): n for key, seen in expected.items() for n in seen
    }
    totals = reader.read_keyed_state("all", "total")
    assert {tuple(row.key): row.value for row in totals.collect()} == {k: sum(v) for k, v in expected.items()}
    means = reader.read_keyed_state("all", "mean")
    assert {tuple(r.key): tuple(r.value) for r in means.collect()} == {
        k: (sum(v), len(v)) for k, v in expected.items()
    }


def test_undeclared_values_are_json_and_bytes_unless_a_descriptor_says_more(
    spark: Any, savepoint: tuple[str, int]
) -> None:
    path, numbers = savepoint
    reader = SavepointReader.read(spark, path)
    frame = reader.read_keyed_state("all", "secret")
    assert [name for name, _ in frame.dtypes] == ["key", "value", "value_bytes"]
    last = {seen[-1] for seen in by_key(numbers).values()}
    assert {row.value for row in frame.collect()} == {f'{{"last": {n}}}' for n in last}
    declared = ListStateDescriptor("seen", Types.LONG())
    assert reader.read_keyed_state("all", declared).count() == len(by_key(numbers))


def test_timers(spark: Any, savepoint: tuple[str, int]) -> None:
    path, numbers = savepoint
    frame = SavepointReader.read(spark, path).read_timers("all")
    rows = {(r.time_domain, r.timestamp, tuple(r.key)) for r in frame.collect()}
    assert rows == {("event", 10_000 + n, key_of(n)) for n in range(numbers)}


class Report(KeyedStateReaderFunction):
    def open(self, runtime_context: Any) -> None:
        self.person = runtime_context.get_state(
            ValueStateDescriptor("person", Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.LONG()]))
        )
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.LONG()))

    def read_key(self, key: Any, ctx: Any) -> Any:
        timers = ctx.registered_event_time_timers()
        yield key[0], self.person.value()["name"], len(self.seen.get()), max(timers)


def test_a_reader_function_sees_all_states_and_timers_of_a_key(
    spark: Any, savepoint: tuple[str, int]
) -> None:
    path, numbers = savepoint
    output = Types.ROW_NAMED(
        ["k", "name", "n", "last_timer"], [Types.LONG(), Types.STRING(), Types.INT(), Types.LONG()]
    )
    frame = SavepointReader.read(spark, path).read_keyed_state("all", Report(), output_type=output)
    rows = sorted(tuple(row) for row in frame.collect())
    assert rows == sorted(
        (key[0], f"p{seen[-1]}", len(seen), 10_000 + seen[-1]) for key, seen in by_key(numbers).items()
    )


def test_what_is_not_there_is_named_with_what_is(spark: Any, savepoint: tuple[str, int]) -> None:
    reader = SavepointReader.read(spark, savepoint[0])
    with pytest.raises(CheckpointError, match="no operator has the uid 'none'"):
        reader.read_keyed_state("none", "x")
    with pytest.raises(CheckpointError, match="no keyed state 'x'") as caught:
        reader.read_keyed_state("all", "x")
    assert "'seen' (list)" in str(caught.value)
    with pytest.raises(CheckpointError, match="no list state 'x'"):
        reader.read_list_state("all", "x")


def expected_windows(path: str) -> tuple[int, int]:
    (split,) = open_contents(path).metadata.sources[OperatorUid("numbers")].splits.values()
    return int(split[1]), int(split[1]) - 2  # elements so far, and the watermark that they have brought


@pytest.mark.parametrize("kind", ["tumbling", "sliding"])
def test_windows_are_read_as_the_job_would_fire_them(spark: Any, windows: dict[str, str], kind: str) -> None:
    elements, watermark = expected_windows(windows[kind])
    size, slide = (1000, 1000) if kind == "tumbling" else (30, 10)
    assigner: Any = TumblingEventTimeWindows.of(Time.milliseconds(1000))
    if kind == "sliding":
        assigner = SlidingEventTimeWindows.of(Time.milliseconds(30), Time.milliseconds(10))
    reader = SavepointReader.read(spark, windows[kind]).window(assigner)
    frame = reader.aggregate("w", Mean(), output_type=Types.DOUBLE())
    found = {(r.key, r.window_start, r.window_end): r.value for r in frame.collect()}
    contents: dict[Any, list[int]] = {}
    for n in range(elements):
        for start in range(n // slide * slide, n - size, -slide):
            if start + size - 1 > watermark:
                contents.setdefault((n % 5 * 100, start, start + size), []).append(n)
    assert found == {key: sum(values) / len(values) for key, values in contents.items()}


class Bounds(WindowReaderFunction):
    def read_window(self, key: Any, context: Any, elements: list[Any]) -> Any:
        window = context.window()
        yield key, window.start, window.end, elements[0]


def test_a_window_reader_function_sees_key_window_and_result(spark: Any, windows: dict[str, str]) -> None:
    elements, _ = expected_windows(windows["session"])
    reader = SavepointReader.read(spark, windows["session"])
    session = reader.window(EventTimeSessionWindows.with_gap(Time.milliseconds(15)))
    output = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG(), Types.DOUBLE()])
    rows = session.aggregate("w", Mean(), Bounds(), output_type=output).collect()
    last = {n % 5 * 100: n for n in range(elements)}
    assert {(row.f0, row.f1, row.f2) for row in rows} == {
        (key, key // 100, n + 15) for key, n in last.items()
    }
