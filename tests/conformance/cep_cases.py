"""Pattern cases: how each is run, and how its answer is compared with Flink's.

A case becomes a program like the one Flink was asked with: elements, some of which are watermarks, then the pattern,
then a function that notes matches. `run.py` runs it as a job. `in_harness` runs the operator alone, which is how
processing time can be moved by hand, and how `tests/cep/test_conformance.py` tries many ways quickly.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import random
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cep_language import Event, IllegalStateException, comparator_of, event_of, pattern_of

from penstock.cep import CEP, PatternProcessFunction, TimedOutPartialMatchHandler
from penstock.cep.nfa.compiler import compile_pattern
from penstock.cep.operator import CepOperator
from penstock.common import Configuration
from penstock.common.errors import PenstockError, UserFunctionError
from penstock.common.key_groups import key_group_for, key_group_range
from penstock.common.typeinfo import Types
from penstock.common.watermark_generators import Watermark, WatermarkGenerator, WatermarkOutput
from penstock.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.functions.output_tag import OutputTag
from penstock.testing import KeyedOneInputOperatorTestHarness, StreamRecord

Json = Mapping[str, Any]
Note = tuple[str, str, Any, int | None]
"""What came out: matches, timed_out or late; the key; events by step or an id; the time."""

TIMED_OUT, LATE = OutputTag("timed_out"), OutputTag("late")


class NoteMatches(PatternProcessFunction):
    def process_match(self, match: Any, ctx: PatternProcessFunction.Context) -> Iterator[Note]:
        yield ("matches", _key_of(match), _ids(match), ctx.timestamp())


class NoteAll(NoteMatches, TimedOutPartialMatchHandler):
    def process_timed_out_match(self, match: Any, ctx: PatternProcessFunction.Context) -> None:
        ctx.output(TIMED_OUT, ("timed_out", _key_of(match), _ids(match), ctx.timestamp()))


def _ids(match: Any) -> dict[str, list[int]]:
    return {step: [event.id for event in events] for step, events in match.items()}


def _key_of(match: Any) -> str:
    return next((event.key for events in match.values() for event in events), "")


@dataclasses.dataclass(frozen=True)
class CepCase:
    """One case of a file."""

    group: str
    case: Json

    @property
    def name(self) -> str:
        return f"{self.group}/{self.case['name']}"

    @property
    def pattern(self) -> Json:
        return self.case["pattern"]  # type: ignore[no-any-return]

    @property
    def expected(self) -> Json:
        return self.case["expected"]  # type: ignore[no-any-return]

    @property
    def keyed(self) -> bool:
        return bool(self.pattern.get("keyed", False))

    @property
    def in_processing_time(self) -> bool:
        return self.pattern.get("time", "event") == "processing"  # type: ignore[no-any-return]

    @property
    def has_ways(self) -> bool:
        return not self.in_processing_time and "error" not in self.expected

    survives_kills = True

    def run(self, config: Mapping[str, str], verbose: bool = False, way: Any = None) -> str | None:
        """Runs the case as a job. Where the clock has to be moved, or the driver dies, the operator runs alone."""
        if self.in_processing_time or (way is not None and way.kill):
            return in_harness(self, HARNESS_WAYS[0 if way is None or not way.kill else 2])
        return as_job(self, config, way, verbose)

    def key(self, event: Event) -> str:
        return event.key if self.keyed else "all"

    def settings(self) -> dict[str, Any]:
        return {
            "comparator": comparator_of(self.pattern.get("comparator")),
            "in_processing_time": self.in_processing_time,
            "late_tag": LATE if self.pattern.get("late_side_output") else None,
        }

    def function(self) -> PatternProcessFunction:
        return NoteAll() if self.pattern.get("timeout_side_output") else NoteMatches()


# -- answers ----------------------------------------------------------------------------------------------------


def difference(case: CepCase, notes: Sequence[Note]) -> str | None:
    """How an answer differs from Flink's; None if it does not. The order counts, with keys only within each."""
    if "error" in case.expected:
        return f"was accepted, Flink says: {case.expected['error'][:120]}"
    keys = {str(line["id"]): line.get("key", "k") for line in case.case["events"] if "id" in line}
    for part in ("matches", "timed_out", "late"):
        got = [(key, value, time) for kind, key, value, time in notes if kind == part]
        expected = [_expected_note(case, part, number, keys) for number in range(len(case.expected[part]))]
        if case.in_processing_time:
            got = [(key, value, None) for key, value, _ in got]
        if case.keyed:
            got, expected = (sorted(notes, key=lambda note: note[0]) for notes in (got, expected))
        if got != expected:
            return f"{part}: expected {_texts(expected)}, got {_texts(got)}"
    return None


def _expected_note(
    case: CepCase, part: str, number: int, keys: Mapping[str, str]
) -> tuple[str, Any, int | None]:
    item = case.expected[part][number]
    if part == "late":
        return keys[str(item)], item, None
    match, time = item, None
    if part == "timed_out":
        match, time = item["match"], item.get("timestamp")
    elif not case.in_processing_time:
        time = case.expected["match_timestamps"][number]
    first = next((str(event) for events in match.values() for event in events), "")
    return keys.get(first, ""), match, time


def _texts(notes: Sequence[Any]) -> str:
    text = json.dumps([[value, time] for _, value, time in notes])
    return text if len(text) < 300 else f"{text[:300]}… ({len(notes)})"


def error_difference(case: CepCase, error: BaseException, phase: str) -> str | None:
    """How a refusal or failure differs from Flink's. Of the message the part before the first `{` counts."""
    root: BaseException = error
    while root.__cause__ is not None:
        root = root.__cause__
    said = root.what if isinstance(root, PenstockError) else str(root)
    if isinstance(root, UserFunctionError):  # the cause stays with the worker; its text is at the end
        said = said.rsplit(f"{IllegalStateException.__name__}: ", 1)[-1]
    if "error" not in case.expected:
        return f"{type(root).__name__}: {said[:240]}"
    wanted = case.expected
    if (said.split("{")[0], phase) == (wanted["error"].split("{")[0], wanted["phase"]):
        return None
    return (
        f"expected '{wanted['error'][:120]}' in phase {wanted['phase']}, got '{said[:120]}' in phase {phase}"
    )


# -- as a job ---------------------------------------------------------------------------------------------------


class AsGiven(WatermarkGenerator):
    """Emits the watermarks that stand among the elements and no other."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if "watermark" in event:
            output.emit_watermark(Watermark(event["watermark"]))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


class TimeOfElement(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value.get("ts", record_timestamp if "watermark" in value else 0))


def as_job(case: CepCase, config: Mapping[str, str], way: Any, verbose: bool = False) -> str | None:
    """Runs a case as the program that Flink was asked with; how the answer differs, or None."""
    try:
        stream = declare(case, config, way)
    except PenstockError as error:
        return error_difference(case, error, "build")
    try:
        with stream.execute_and_collect() as notes:
            return difference(case, list(notes))
    except Exception as error:
        if verbose and "error" not in case.expected:
            traceback.print_exc()
        return error_difference(case, error, "run")


def declare(case: CepCase, config: Mapping[str, str], way: Any) -> Any:
    """The program: a stream of what came out."""
    settings = Configuration()
    elements = case.case["events"] or [{"nothing": 0}]
    for key, value in {**config, **_cut(len(elements), way)}.items():
        settings.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism((way and way.parallelism) or 1)
    strategy = WatermarkStrategy.for_generator(AsGiven).with_timestamp_assigner(TimeOfElement())
    # Up to the pattern there is one subtask, or the order of elements would not be the one that is given.
    lines = env.from_collection([dict(line) for line in elements])
    lines = lines.assign_timestamps_and_watermarks(strategy).set_parallelism(1)
    events = lines.flat_map(lambda line: [event_of(line)] if "id" in line else []).set_parallelism(1)
    if case.keyed:
        events = events.key_by(lambda event: event.key, Types.STRING())
    found = CEP.pattern(events, pattern_of(case.pattern), comparator_of(case.pattern.get("comparator")))
    if case.pattern.get("late_side_output"):
        found = found.side_output_late_data(LATE)
    matches = found.process(case.function())
    late = matches.get_side_output(LATE).map(lambda event: ("late", event.key, event.id, None))
    notes = matches.union(matches.get_side_output(TIMED_OUT), late.set_parallelism(1))
    return notes.map(lambda note: note).set_parallelism(1)


def _cut(elements: int, way: Any) -> dict[str, str]:
    if way is None or not way.epochs:
        return {}
    return {"execution.epoch.max-records": str(-(-elements // way.epochs))}


# -- the operator alone -----------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class HarnessWay:
    """How the operator is run: epochs end after how many elements (0: never), and what happens between them."""

    name: str
    cut_every: int = 0
    kill: bool = False
    parallelism: int = 1
    rescale: bool = False
    backend: str = "memory"


HARNESS_WAYS = (
    HarnessWay("straight"),
    HarnessWay("cut", cut_every=1),
    HarnessWay("killed", cut_every=2, kill=True),
    HarnessWay("p3", parallelism=3),
    HarnessWay("rescaled", cut_every=3, kill=True, rescale=True),
)


def in_harness(case: CepCase, way: HarnessWay) -> str | None:
    """Runs the operator of a case; how the answer differs, or None."""
    try:
        pattern = pattern_of(case.pattern)
        compile_pattern(pattern)
    except PenstockError as error:
        return error_difference(case, error, "build")
    try:
        notes = _HarnessRun(case, pattern, way).notes()
    except Exception as error:
        return error_difference(case, error, "run")
    return difference(case, notes)


class _HarnessRun:
    """The subtasks of one operator, fed with the elements of a case."""

    def __init__(self, case: CepCase, pattern: Any, way: HarnessWay) -> None:
        self._case, self._pattern, self._way = case, pattern, way
        self._parallelism = way.parallelism
        self._now = 1_000_000 if case.in_processing_time else 0
        self._notes: list[Note] = []
        self._chance = random.Random(case.name)
        self._start([])

    def notes(self) -> list[Note]:
        for number, line in enumerate(self._case.case["events"], start=1):
            self._feed(line)
            if self._way.cut_every and number % self._way.cut_every == 0:
                self._next_epoch()
        if not self._case.in_processing_time:
            for subtask in self._subtasks:
                subtask.end_input()
        self._take_output()
        return self._notes

    def _feed(self, line: Json) -> None:
        if "watermark" in line:
            for subtask in self._subtasks:
                subtask.process_watermark(line["watermark"])
        elif "advance_ms" in line:
            self._now += line["advance_ms"]
            for subtask in self._subtasks:
                subtask.set_processing_time(self._now)
        else:
            event = event_of(line)
            subtask = self._subtasks[self._subtask_of(self._case.key(event))]
            subtask.process_element(event, None if self._case.in_processing_time else event.ts)

    def _next_epoch(self) -> None:
        saved = [subtask.end_epoch() for subtask in self._subtasks]
        if not self._way.kill:
            for subtask in self._subtasks:
                subtask.cut()
            return
        self._take_output()
        if self._way.rescale:
            self._parallelism = self._chance.randint(1, 4)
        self._start(saved)

    def _start(self, saved: list[Any]) -> None:
        self._subtasks = [
            KeyedOneInputOperatorTestHarness(
                CepOperator(self._case.function(), self._pattern, self._case.key, **self._case.settings()),
                key_type=Types.STRING(),
                subtask=number,
                parallelism=self._parallelism,
                restore=saved,
                processing_time_ms=self._now,
                backend=self._way.backend,
            )
            for number in range(self._parallelism)
        ]

    def _subtask_of(self, key: str) -> int:
        from penstock.common.codecs import compile_codec

        group = key_group_for(compile_codec(Types.STRING()).encode_key(key), 128)
        return next(
            n for n in range(self._parallelism) if group in key_group_range(n, 128, self._parallelism)
        )

    def _take_output(self) -> None:
        for subtask in self._subtasks:
            self._notes += subtask.extract_output_values()
            self._notes += [record.value for record in subtask.get_side_output(TIMED_OUT)]
            self._notes += [_late(record) for record in subtask.get_side_output(LATE)]
            subtask.clear_output()


def _late(record: StreamRecord) -> Note:
    return ("late", record.value.key, record.value.id, None)


# -- files ------------------------------------------------------------------------------------------------------


def cases_of(path: pathlib.Path) -> list[CepCase]:
    """The cases of a file, or of all files of a folder."""
    files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
    return [CepCase(file.stem, case) for file in files for case in json.loads(file.read_text())]


def is_case_file(path: pathlib.Path) -> bool:
    """Whether a JSON file is a list of pattern cases."""
    try:
        cases = json.loads(path.read_text())
    except ValueError:
        return False
    return isinstance(cases, list) and all(
        isinstance(c, dict) and {"pattern", "events"} <= c.keys() for c in cases
    )
