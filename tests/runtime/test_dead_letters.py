"""Elements on which functions raise go to a folder instead of failing the job."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.common.errors import PenstockError
from penstock.common.options import DeadLetterOptions
from penstock.datastream import (
    CoFlatMapFunction,
    CoMapFunction,
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.state import ValueStateDescriptor
from tests.runtime.in_process import Chaos, collect

NUMBERS = list(range(20))
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


class Times:
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value * 1000


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


def test_the_options_are_known() -> None:
    assert DeadLetterOptions.PATH.key == "penstock.dead-letter.path"
    assert DeadLetterOptions.MAX_PER_EPOCH.default == 1000
