"""A rule: a pattern from JSON, with a name and a version.

{"id": "fraud", "version": 2,
 "steps": [{"name": "small", "where": "amount < 1"},
           {"name": "large", "contiguity": "followed_by", "where": "amount > 500", "times": [1, 3], "greedy": true}],
 "within_ms": 60000, "skip": {"strategy": "past_last_event"}, "on_change": "finish"}

{"id": "fraud", "version": 3, "enabled": false}        ends the rule
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.cep.pattern.pattern import Pattern
from penstock.cep.pattern.skip import AfterMatchSkipStrategy
from penstock.cep.rules.expressions import condition_of
from penstock.common.errors import MalformedPatternError

CONTIGUITIES = ("next", "followed_by", "followed_by_any", "not_next", "not_followed_by")
_FLAGS = ("consecutive", "allow_combinations", "greedy", "optional")
_STEP_KEYS = {"name", "contiguity", "where", "until", "times", "one_or_more", "times_or_more", *_FLAGS}
_RULE_KEYS = {"id", "version", "steps", "within_ms", "skip", "on_change", "enabled"}

FINISH, DROP = "finish", "drop"


@dataclass(frozen=True)
class Rule:
    """One version of a rule; `pattern` is None if this version ends it.

    `on_change` says what becomes of partial matches of the version before: they may finish, or are dropped.
    """

    id: str
    version: int
    pattern: Pattern | None
    on_change: str = FINISH

    @property
    def slot(self) -> str:
        """Under which its partial matches are kept."""
        return f"{self.id}@{self.version}"


def parse_rule(definition: Any) -> Rule:
    """A rule from a JSON text, or from what such a text stands for.

    Raises:
        MalformedPatternError: It means nothing; says which part.
    """
    given = _as_mapping(definition)
    rule_id, version = given.get("id"), given.get("version", 1)
    if not isinstance(rule_id, str) or not isinstance(version, int):
        raise MalformedPatternError('a rule needs an "id" (a text) and a "version" (a number)')
    try:
        _check_keys(given, _RULE_KEYS, "the rule")
        on_change = given.get("on_change", FINISH)
        if on_change not in (FINISH, DROP):
            raise MalformedPatternError(f'"on_change" is "{FINISH}" or "{DROP}", not {on_change!r}')
        pattern = _pattern(given) if given.get("enabled", True) else None
        return Rule(rule_id, version, pattern, on_change)
    except MalformedPatternError as error:
        error.where = f"rule '{rule_id}', version {version}" + (f", {error.where}" if error.where else "")
        raise


def _as_mapping(definition: Any) -> Mapping[str, Any]:
    if isinstance(definition, (str, bytes)):
        try:
            definition = json.loads(definition)
        except ValueError as error:
            raise MalformedPatternError(f"a rule is no JSON: {error}") from None
    if not isinstance(definition, Mapping):
        raise MalformedPatternError(f"a rule is an object of JSON, got {definition!r}")
    return definition


def _check_keys(given: Mapping[str, Any], known: set[str], what: str) -> None:
    unknown = sorted(set(given) - known)
    if unknown:
        raise MalformedPatternError(f"{what} has unknown keys {unknown}; known are {sorted(known)}")


def _pattern(given: Mapping[str, Any]) -> Pattern:
    from penstock.cep.nfa.compiler import compile_pattern

    steps = given.get("steps")
    if not isinstance(steps, list) or not steps:
        raise MalformedPatternError('a rule needs "steps", a list')
    names = [step.get("name") for step in steps if isinstance(step, Mapping)]
    pattern: Pattern | None = None
    for step in steps:
        pattern = _step(pattern, step, names, _strategy(given.get("skip")))
    assert pattern is not None
    if given.get("within_ms") is not None:
        pattern.within(given["within_ms"])
    compile_pattern(pattern)
    return pattern


def _step(before: Pattern | None, given: Any, names: list[Any], strategy: AfterMatchSkipStrategy) -> Pattern:
    if not isinstance(given, Mapping) or not isinstance(given.get("name"), str):
        raise MalformedPatternError(f'a step needs a "name", got {given!r}')
    name = given["name"]
    _check_keys(given, _STEP_KEYS, f"step '{name}'")
    contiguity = given.get("contiguity", "followed_by")
    if contiguity not in CONTIGUITIES:
        raise MalformedPatternError(f"step '{name}': contiguity is one of {', '.join(CONTIGUITIES)}")
    step: Pattern = Pattern.begin(name, strategy) if before is None else getattr(before, contiguity)(name)
    if given.get("where") is not None:
        step.where(condition_of(given["where"], names))
    _quantify(step, given)
    if given.get("until") is not None:
        step.until(condition_of(given["until"], names))
    return step


def _quantify(step: Pattern, given: Mapping[str, Any]) -> None:
    if given.get("one_or_more"):
        step.one_or_more()
    if given.get("times_or_more") is not None:
        step.times_or_more(given["times_or_more"])
    times = given.get("times")
    if times is not None:
        step.times(*times) if isinstance(times, list) else step.times(times)
    for flag in _FLAGS:
        if given.get(flag):
            getattr(step, flag)()


def _strategy(given: Any) -> AfterMatchSkipStrategy:
    if given is None:
        return AfterMatchSkipStrategy.no_skip()
    kind, step = given.get("strategy"), given.get("step")
    plain = {
        "no_skip": AfterMatchSkipStrategy.no_skip,
        "to_next": AfterMatchSkipStrategy.skip_to_next,
        "past_last_event": AfterMatchSkipStrategy.skip_past_last_event,
    }
    if kind in plain:
        return plain[kind]()
    if kind in ("to_first", "to_last") and isinstance(step, str):
        make = (
            AfterMatchSkipStrategy.skip_to_first
            if kind == "to_first"
            else AfterMatchSkipStrategy.skip_to_last
        )
        return make(step)
    raise MalformedPatternError(
        f'skip is {{"strategy": one of {", ".join(plain)}, to_first, to_last}}, the latter two with "step"'
    )
