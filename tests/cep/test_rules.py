"""Rules that change while the job runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.cep import CEP, PatternProcessFunction
from penstock.cep.pattern.conditions import SimpleCondition
from penstock.cep.rules.expressions import condition_of
from penstock.cep.rules.operator import DynamicCepOperator
from penstock.cep.rules.rule import parse_rule
from penstock.common import Types, WatermarkStrategy
from penstock.common.errors import MalformedPatternError
from penstock.datastream import OutputTag, StreamExecutionEnvironment
from penstock.testing import KeyedTwoInputOperatorTestHarness
from tests.runtime.in_process import run_in_process

REFUSED = OutputTag("refused")


class Note(PatternProcessFunction):
    def process_match(self, match: Any, ctx: Any) -> Iterator[Any]:
        found = "".join(e["name"] + str(e["at"]) for events in match.values() for e in events)
        yield f"{ctx.rule_id()}@{ctx.rule_version()} {found}"


def harness(**options: Any) -> KeyedTwoInputOperatorTestHarness:
    operator = DynamicCepOperator(Note(), lambda e: e.get("key", "k"), refused_tag=REFUSED)
    return KeyedTwoInputOperatorTestHarness(operator, key_type=Types.STRING(), **options)


def rule(rule_id: str, version: int, first: str, second: str, **more: Any) -> str:
    steps = [{"name": "x", "where": f"name == '{first}'"}, {"name": "y", "where": f"name == '{second}'"}]
    return json.dumps({"id": rule_id, "version": version, "steps": steps, **more})


def feed(h: KeyedTwoInputOperatorTestHarness, letters: str, start: int) -> None:
    for at, name in enumerate(letters, start=start):
        h.process_element1({"name": name, "at": at}, at)
        h.process_both_watermarks(at)


def test_several_rules_look_at_the_same_events() -> None:
    h = harness()
    h.process_element2(rule("ab", 1, "a", "b"))
    h.process_element2(rule("bc", 1, "b", "c"))
    feed(h, "abc", 1)
    assert h.extract_output_values() == ["ab@1 a1b2", "bc@1 b2c3"]


@pytest.mark.parametrize(
    ("on_change", "expected"), [("finish", ["r@1 a1b4", "r@2 a3c5"]), ("drop", ["r@2 a3c5"])]
)
def test_what_has_begun_under_an_old_version_finishes_or_is_dropped(
    on_change: str, expected: list[str]
) -> None:
    for cut in (False, True):
        h = harness()
        h.process_element2(rule("r", 1, "a", "b"))
        feed(h, "a", 1)
        h.process_element2(rule("r", 2, "a", "c", on_change=on_change))
        if cut:
            saved = h.snapshot()
            h = harness(restore=saved)
        feed(h, "xabc", 2)
        assert h.extract_output_values() == expected


def test_a_rule_can_be_ended_and_an_older_version_does_not_come_back() -> None:
    h = harness()
    h.process_element2(rule("r", 2, "a", "b"))
    h.process_element2(rule("r", 1, "x", "y"))
    h.process_element2({"id": "r", "version": 3, "enabled": False, "on_change": "finish"})
    feed(h, "abxy", 1)
    assert h.extract_output_values() == []


def test_a_rule_that_means_nothing_is_put_aside() -> None:
    h = harness()
    h.process_element2("no json")
    h.process_element2(rule("r", 1, "a", "b"))
    feed(h, "ab", 1)
    assert h.extract_output_values() == ["r@1 a1b2"]
    assert h.counter("numRulesRefused") == 1
    [refused] = h.get_side_output(REFUSED)
    assert refused.value[0] == "no json" and "no JSON" in refused.value[1]


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ({"version": 1}, 'needs an "id"'),
        ({"id": "r", "version": 1}, 'needs "steps"'),
        ({"id": "r", "version": 1, "steps": [{"where": "x"}]}, 'needs a "name"'),
        ({"id": "r", "version": 1, "steps": [{"name": "a", "repeat": 3}]}, r"unknown keys \['repeat'\]"),
        ({"id": "r", "version": 1, "steps": [{"name": "a", "greedy": True}]}, "singleton"),
        ({"id": "r", "version": 1, "steps": [{"name": "a", "where": "__import__('os')"}]}, "functions are"),
        ({"id": "r", "version": 1, "steps": [{"name": "a", "where": "b.x > 1"}]}, "Attribute is not known"),
        ({"id": "r", "version": 1, "steps": [{"name": "a", "where": "sum(b.x) > 1"}]}, "no step 'b'"),
        ({"id": "r", "version": 1, "steps": [{"name": "a"}], "skip": {"strategy": "none"}}, "skip is"),
        ({"id": "r", "version": 1, "steps": [{"name": "a"}], "on_change": "keep"}, '"on_change" is'),
    ],
)
def test_malformed_rules_are_refused(definition: Any, message: str) -> None:
    with pytest.raises(MalformedPatternError, match=message):
        parse_rule(definition)


class Taken:
    """What a partial match has taken."""

    def get_events_for_pattern(self, name: str) -> list[Any]:
        return [{"x": 2}, {"x": 4}, {}] if name == "s" else []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x > 1 and not y", True),
        ("1 < x <= 3", True),
        ("x in [1, 2]", False),
        ("missing < 3", False),
        ("-x + 1 == 0 - 2", True),
        ("x > avg(s.x)", False),
        ("x >= avg(s.x) and max(s.x) == 4 and first(s.x) == 2 and count(s) == 3", True),
        ("sum(t.x) == 0 and count(t) == 0", True),
        ("last(t.x) == 0", False),
    ],
)
def test_conditions_in_text(text: str, expected: bool) -> None:
    condition = condition_of(text, ["s", "t"])
    event = {"x": 3, "y": False}
    alone = isinstance(condition, SimpleCondition)
    assert alone is ("(" not in text)
    assert (condition.filter(event) if alone else condition.filter(event, Taken())) is expected


def test_rules_as_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    run_in_process(monkeypatch, None)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    events = [{"key": key, "name": name, "at": at} for at, (key, name) in enumerate(["pa", "qa", "pb", "qc"])]
    by_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda e, _: e["at"])
    stream = env.from_collection(events).assign_timestamps_and_watermarks(by_time)
    rules = env.from_collection([rule("ab", 1, "a", "b"), rule("ac", 1, "a", "c")], Types.STRING())
    found = CEP.dynamic_patterns(stream.key_by(lambda e: e["key"], Types.STRING()), rules).process(Note())
    with found.execute_and_collect() as results:  # type: ignore[union-attr]
        assert sorted(results) == ["ab@1 a0b2", "ac@1 a1c3"]
