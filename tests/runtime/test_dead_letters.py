"""Elements on which functions raise go to a folder instead of failing the job."""

from __future__ import annotations

import json
import pathlib
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from penstock.common import Time, Types, WatermarkStrategy
from penstock.common.errors import PenstockError
from penstock.common.options import DeadLetterOptions
from penstock.datastream import (
    AggregateFunction,
    AsyncDataStream,
    AsyncFunction,
    CoFlatMapFunction,
    CoMapFunction,
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from tests.runtime.in_process import Chaos, collect

NUMBERS = list(range(20))
SECOND = Time.seconds(1)
POISON = {3, 4, 11, 19}
GOOD = [n for n in NUMBERS if n not in POISON]


def stream(values: list[Any] | None = None) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    return env.from_collection(NUMBERS if values is None else values, Types.INT())


def settings(folder: pathlib.Path, **more: str) -> dict[str, str]:
    return {"penstock.dead-letter.path": str(folder / "dead"), "execution.epoch.max-records": "7", **more}


def letters(folder: pathlib.Path) -> list[dict[str, Any]]:
    """All dead letters, epoch by epoch."""
    files = sorted((folder / "dead").glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def checked(n: int) -> int:
    if n in POISON:
        raise ValueError(f"{n} is poison")
    return n


class Checked(ProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Any:
        yield value
        checked(value)
        yield OutputTag("side", Types.INT()), value


class Counted(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: int, ctx: Any) -> Any:
        checked(value)
        self.count.update((self.count.value() or 0) + 1)
        yield value


class CheckedMap(CoMapFunction):
    def map1(self, value: int) -> int:
        return checked(value)

    def map2(self, value: int) -> int:
        return checked(value)


class CheckedFlatMap(CoFlatMapFunction):
    def flat_map1(self, value: int) -> Any:
        yield value
        checked(value)

    def flat_map2(self, value: int) -> Any:
        yield value
        checked(value)


class Asked(AsyncFunction):
    async def async_invoke(self, value: int) -> list[int]:
        return [checked(value)]


class Times:
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value * 1000


class CheckedTimes:
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return checked(value) * 1000


class Aggregated(AggregateFunction):
    def create_accumulator(self) -> int:
        return -1

    def add(self, value: int, accumulator: int) -> int:
        return checked(value)

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return max(a, b)


def by(assigner: Any) -> WatermarkStrategy:
    return WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(assigner)


def timed(numbers: DataStream) -> DataStream:
    return numbers.assign_timestamps_and_watermarks(by(Times()))


def source_with(strategy: WatermarkStrategy) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    return env.from_source(NumberSequenceSource(0, 19), strategy, "numbers")


def twice(n: int) -> Any:
    yield n
    checked(n)


PROGRAMS: dict[str, Callable[[DataStream], DataStream]] = {
    "map": lambda s: s.map(checked, Types.INT()),
    "flat_map": lambda s: s.flat_map(twice, Types.INT()),
    "filter": lambda s: s.filter(lambda n: checked(n) >= 0),
    "process": lambda s: s.process(Checked(), Types.INT()),
    "keyed map": lambda s: s.key_by(lambda n: n % 3).map(checked, Types.INT()),
    "keyed flat_map": lambda s: s.key_by(lambda n: n % 3).flat_map(twice, Types.INT()),
    "keyed filter": lambda s: s.key_by(lambda n: n % 3).filter(lambda n: checked(n) >= 0),
    "keyed process": lambda s: s.key_by(lambda n: n % 3).process(Counted(), Types.INT()),
    "key selector": lambda s: s.key_by(lambda n: n).map(lambda n: n, Types.INT()).map(checked, Types.INT()),
    "co map": lambda s: s.connect(s.filter(lambda n: False)).map(CheckedMap(), Types.INT()),
    "co flat_map": lambda s: s.connect(s.filter(lambda n: False)).flat_map(CheckedFlatMap(), Types.INT()),
    "async": lambda s: AsyncDataStream.ordered_wait(s, Asked(), Time.seconds(30), 3, Types.INT()),
    "timestamp assigner": lambda s: s.assign_timestamps_and_watermarks(by(CheckedTimes())),
    "timestamps of a source": lambda s: source_with(by(CheckedTimes())),
    "window aggregate": lambda s: (
        timed(s)
        .key_by(lambda n: n)
        .window(TumblingEventTimeWindows.of(SECOND))
        .aggregate(Aggregated(), output_type=Types.INT())
    ),
    "sliding aggregate": lambda s: (
        timed(s)
        .key_by(lambda n: n)
        .window(SlidingEventTimeWindows.of(SECOND, SECOND))
        .aggregate(Aggregated(), output_type=Types.INT())
    ),
    "session aggregate": lambda s: (
        timed(s)
        .key_by(lambda n: n)
        .window(EventTimeSessionWindows.with_gap(SECOND))
        .aggregate(Aggregated(), output_type=Types.INT())
    ),
    "merging aggregate": lambda s: (
        timed(s)
        .key_by(lambda n: n)
        .window(EventTimeSessionWindows.with_gap(SECOND))
        .allowed_lateness(1)
        .aggregate(Aggregated(), output_type=Types.INT())
    ),
    "keyed co map": lambda s: (
        s.connect(s.filter(lambda n: False)).key_by(lambda n: n, lambda n: n).map(CheckedMap(), Types.INT())
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_poison_is_left_out_and_written_down(tmp_path: pathlib.Path, name: str) -> None:
    found = collect(PROGRAMS[name](stream()), settings(tmp_path))
    assert sorted(found) == GOOD
    dead = letters(tmp_path)
    assert sorted(int(letter["value"]) for letter in dead) == sorted(POISON)
    letter = dead[0]
    assert letter["error"] == f"ValueError: {letter['value']} is poison"
    assert "in checked" in letter["traceback"] and letter["job_id"] and letter["uid"] and letter["operator"]
    assert letter["epoch"] >= 1 and letter["raw"] is None


def test_results_keep_the_timestamps_of_their_elements(tmp_path: pathlib.Path) -> None:
    class Stamped(ProcessFunction):
        def process_element(self, value: int, ctx: Any) -> Any:
            yield value, ctx.timestamp()

    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Times())
    for step in ("map", "filter", "flat_map", "process"):
        timed = stream().assign_timestamps_and_watermarks(strategy)
        folder = tmp_path / step
        found = collect(PROGRAMS[step](timed).process(Stamped()), settings(folder))
        assert found == [(n, n * 1000) for n in GOOD], step
        assert [letter["event_time"] for letter in letters(folder)] == [n * 1000 for n in sorted(POISON)]


def test_without_a_folder_poison_fails_the_job() -> None:
    with pytest.raises(PenstockError, match="3 is poison"):
        collect(PROGRAMS["map"](stream()), {"execution.epoch.max-records": "7"})


@pytest.mark.parametrize("seed", range(3))
def test_dead_letters_come_once_whatever_fails(tmp_path: pathlib.Path, seed: int) -> None:
    chaos = Chaos(seed, 0.3)
    restarts = {
        "restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "1000",
        "restart-strategy.fixed-delay.delay": "1 ms", "execution.checkpointing.dir": str(tmp_path / "chk"),
    }  # fmt: skip
    program = stream().map(checked, Types.INT()).key_by(lambda n: n % 3).process(Counted(), Types.INT())
    assert sorted(collect(program, settings(tmp_path, **restarts), chaos)) == GOOD
    assert sorted(int(letter["value"]) for letter in letters(tmp_path)) == sorted(POISON)
    assert chaos.failures > 0


def test_when_poison_is_the_rule_the_job_fails(tmp_path: pathlib.Path) -> None:
    restarts = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "1 ms"}
    bound = {**restarts, "penstock.dead-letter.max-per-epoch": "1"}
    with pytest.raises(PenstockError, match="more than 1 elements or records of one epoch") as error:
        collect(PROGRAMS["map"](stream()), settings(tmp_path, **bound))
    text = str(error.value.__cause__ or error.value) + str(error.value)
    assert "penstock.dead-letter.max-per-epoch" in text
    assert letters(tmp_path) == []


def test_errors_of_penstock_itself_still_fail_the_job(tmp_path: pathlib.Path) -> None:
    class Wrong(ProcessFunction):
        def process_element(self, value: int, ctx: Any) -> Any:
            ctx.timer_service().register_event_time_timer(1)

    with pytest.raises(PenstockError):
        collect(stream().process(Wrong()), settings(tmp_path))
    assert letters(tmp_path) == []


@pytest.mark.parametrize("runtime_mode", ["STREAMING", "BATCH"])
def test_a_reduce_goes_on_with_what_it_had(tmp_path: pathlib.Path, runtime_mode: str) -> None:
    total = stream().key_by(lambda n: n % 2).reduce(lambda a, b: a + checked(b))
    found = collect(total, settings(tmp_path, **{"execution.runtime-mode": runtime_mode}))
    assert max(n for n in found if n % 2 == 0) == sum(n for n in GOOD if n % 2 == 0)
    assert max(n for n in found if n % 2) == sum(n for n in GOOD if n % 2)
    assert sorted(int(letter["value"]) for letter in letters(tmp_path)) == sorted(POISON)


class Sums(ProcessWindowFunction):
    def process(self, key: int, context: Any, elements: Any) -> Any:
        yield -1  # dropped if the window is poison
        for n in elements:
            checked(n)
        yield sum(elements)


@pytest.mark.parametrize(
    "assigner",
    [
        TumblingEventTimeWindows.of(Time.seconds(5)),
        SlidingEventTimeWindows.of(Time.seconds(5), Time.seconds(5)),
        EventTimeSessionWindows.with_gap(Time.seconds(3)),
    ],
    ids=lambda a: type(a).__name__,
)
def test_a_window_on_which_its_function_raises_is_a_dead_letter(
    tmp_path: pathlib.Path, assigner: Any
) -> None:
    values = [0, 1, 4, 10, 12]
    windows = timed(stream(values)).key_by(lambda n: 0).window(assigner)
    assert collect(windows.process(Sums(), Types.INT()), settings(tmp_path)) == [-1, 22]
    [letter] = letters(tmp_path)
    assert letter["error"] == "ValueError: 4 is poison"
    assert "TimeWindow" in letter["value"] and "of key 0" in letter["value"]


class Results(Aggregated):
    """Accepts every element, and raises when the window is done."""

    def add(self, value: int, accumulator: int) -> int:
        return value

    def get_result(self, accumulator: int) -> int:
        return checked(accumulator)


@pytest.mark.parametrize("lateness_ms", [0, 1])
@pytest.mark.parametrize(
    "assigner",
    [
        TumblingEventTimeWindows.of(SECOND),
        SlidingEventTimeWindows.of(SECOND, SECOND),
        EventTimeSessionWindows.with_gap(SECOND),
    ],
    ids=lambda a: type(a).__name__,
)
def test_an_aggregate_without_a_result_is_a_dead_letter(
    tmp_path: pathlib.Path, assigner: Any, lateness_ms: int
) -> None:
    windows = timed(stream()).key_by(lambda n: n).window(assigner).allowed_lateness(lateness_ms)
    found = collect(windows.aggregate(Results(), output_type=Types.INT()), settings(tmp_path))
    assert sorted(found) == GOOD
    assert {letter["error"] for letter in letters(tmp_path)} == {f"ValueError: {n} is poison" for n in POISON}


class Timers(KeyedProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(value * 1000 + 1)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield timestamp // 1000
        checked(timestamp // 1000)


def test_a_timer_that_raises_is_a_dead_letter(tmp_path: pathlib.Path) -> None:
    program = timed(stream()).key_by(lambda n: n % 3).process(Timers(), Types.INT())
    assert sorted(collect(program, settings(tmp_path))) == GOOD
    dead = letters(tmp_path)
    assert sorted(letter["event_time"] for letter in dead) == [n * 1000 + 1 for n in sorted(POISON)]
    assert dead[0]["value"] == "a timer at 3001 of key 0"


def test_a_trigger_that_raises_fails_the_job(tmp_path: pathlib.Path) -> None:
    """The element is in the window already, and nobody knows what the trigger wants."""

    class Broken(EventTimeTrigger):
        def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> Any:
            raise ValueError("no idea")

    windows = timed(stream()).key_by(lambda n: n).window(TumblingEventTimeWindows.of(SECOND))
    with pytest.raises(PenstockError, match="no idea"):
        collect(windows.trigger(Broken()).process(Sums(), Types.INT()), settings(tmp_path))


def test_only_the_operators_that_are_named_have_dead_letters(tmp_path: pathlib.Path) -> None:
    only = {"penstock.dead-letter.only": "first;other"}
    program = stream().map(checked, Types.INT()).name("first")
    assert collect(program, settings(tmp_path, **only)) == GOOD
    with pytest.raises(PenstockError, match="3 is poison"):
        collect(stream().map(checked, Types.INT()).name("second"), settings(tmp_path, **only))
    assert collect(stream().map(checked, Types.INT()).uid("other"), settings(tmp_path, **only)) == GOOD
    pattern = {"penstock.dead-letter.only": "*con*"}
    assert collect(stream().map(checked, Types.INT()).name("second"), settings(tmp_path, **pattern)) == GOOD


def test_too_many_in_a_minute_fail_the_job(tmp_path: pathlib.Path) -> None:
    bound = {"penstock.dead-letter.max-per-minute": "3"}
    with pytest.raises(PenstockError, match="more than 3 elements or records of one minute"):
        collect(PROGRAMS["map"](stream()), settings(tmp_path, **bound))
    assert len(letters(tmp_path)) == 3
    enough = {"penstock.dead-letter.max-per-minute": "4"}
    assert collect(PROGRAMS["map"](stream()), settings(tmp_path / "more", **enough)) == GOOD


def test_a_table_takes_dead_letters_by_their_number(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "dead.db"
    with sqlite3.connect(path) as database:
        database.execute(LETTERS)
    table = {"connector": "jdbc", "url": f"jdbc:sqlite:{path}", "table-name": "letters"}
    options = {f"penstock.dead-letter.table.{key}": value for key, value in table.items()}
    chaos = Chaos(1, 0.3)
    restarts = {
        "restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "1000",
        "restart-strategy.fixed-delay.delay": "1 ms", "execution.checkpointing.dir": str(tmp_path / "chk"),
    }  # fmt: skip
    both = settings(tmp_path, **options, **restarts)
    assert collect(PROGRAMS["map"](stream()), both, chaos) == GOOD
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT epoch, number, value, error FROM letters ORDER BY 1, 2").fetchall()
    assert sorted(int(row[2]) for row in rows) == sorted(POISON)
    assert rows[0][3] == "ValueError: 3 is poison"
    assert len(letters(tmp_path)) == len(POISON)  # the folder has them, too


LETTERS = """CREATE TABLE letters (job_id TEXT, epoch BIGINT, number INT, job_name TEXT, operator TEXT, uid TEXT,
    subtask INT, processing_time_ms BIGINT, error TEXT, traceback TEXT, event_time BIGINT, value TEXT, split TEXT,
    "offset" TEXT, raw TEXT, PRIMARY KEY (job_id, epoch, number))"""


def test_a_table_without_a_key_is_refused(tmp_path: pathlib.Path) -> None:
    table = {"connector": "filesystem", "path": str(tmp_path), "format": "json"}
    options = {f"penstock.dead-letter.table.{key}": value for key, value in table.items()}
    with pytest.raises(PenstockError, match="does not go by a primary key"):
        collect(PROGRAMS["map"](stream()), options)


def test_a_topic_needs_brokers() -> None:
    with pytest.raises(PenstockError, match="nobody says of which brokers"):
        collect(PROGRAMS["map"](stream()), {"penstock.dead-letter.topic": "dead"})


def test_the_options_are_known() -> None:
    assert DeadLetterOptions.PATH.key == "penstock.dead-letter.path"
    assert DeadLetterOptions.MAX_PER_EPOCH.default == 1000
