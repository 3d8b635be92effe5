"""The language of the pattern cases (cep/README.md): events, conditions and patterns from JSON.

Patterns become calls of penstock.cep, one call for each that the README names, in its order.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.cep import AfterMatchSkipStrategy, IterativeCondition, Pattern, WithinType
from penstock.common.time import Duration

Json = Mapping[str, Any]


class IllegalStateException(Exception):
    """What the condition `throw` raises."""


@dataclass(frozen=True)
class Event:
    id: int
    key: str
    name: str
    price: float
    ts: int

    def field(self, name: str) -> Any:
        value = getattr(self, name, None)
        return float(value) if isinstance(value, int) else value


@dataclass(frozen=True)
class SubEvent(Event):
    volume: float


def event_of(line: Json) -> Event:
    fields = {
        "id": line["id"],
        "key": line.get("key", "k"),
        "name": line["name"],
        "price": float(line.get("price", 0)),
        "ts": line.get("ts", 0),
    }
    return SubEvent(**fields, volume=float(line["volume"])) if "volume" in line else Event(**fields)


# -- conditions -------------------------------------------------------------------------------------------------

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class JsonCondition(IterativeCondition):
    def __init__(self, json: Json) -> None:
        self.json = json

    def filter(self, value: Any, ctx: IterativeCondition.Context) -> bool:
        return _holds(self.json, value, ctx)


def condition_of(json: Json) -> Any:
    """A condition; one that looks at the event only is a plain function, so that both kinds are tried."""
    return JsonCondition(json) if _needs_context(json) else lambda event: _holds(json, event, None)


def _needs_context(json: Json) -> bool:
    for word in ("and", "or"):
        if word in json:
            return any(_needs_context(part) for part in json[word])
    if "not" in json:
        return _needs_context(json["not"])
    return "agg" in json or "add" in json or json.get("field") == "@timestamp"


def _holds(json: Json, event: Event, ctx: Any) -> bool:
    if "and" in json:
        return all(_holds(part, event, ctx) for part in json["and"])
    if "or" in json:
        return any(_holds(part, event, ctx) for part in json["or"])
    if "not" in json:
        return not _holds(json["not"], event, ctx)
    if "throw" in json:
        raise IllegalStateException(json["throw"])
    return _compares(json, event, ctx)


def _compares(json: Json, event: Event, ctx: Any) -> bool:
    left: Any = 0.0
    if "field" in json:
        left = float(ctx.timestamp()) if json["field"] == "@timestamp" else event.field(json["field"])
    if "add" in json:
        more = _aggregate(json["add"], ctx)
        left = None if left is None or more is None else left + more
    if json["op"] == "in":
        return left is not None and left in [_constant(value) for value in json["value"]]
    right = _aggregate(json, ctx) if "agg" in json else _constant(json["value"])
    if left is None or right is None:
        return bool(json.get("if_empty", False))
    return _COMPARISONS[json["op"]](left, right)


def _constant(value: Any) -> Any:
    return value if isinstance(value, str) else float(value)


def _aggregate(json: Json, ctx: Any) -> Any:
    values = [event.field(json.get("field2", "price")) for event in ctx.get_events_for_pattern(json["of"])]
    agg = json["agg"]
    if agg == "count":
        return float(len(values))
    if agg == "sum":
        return math.fsum(values)
    if not values:
        return None
    if agg == "avg":
        return math.fsum(values) / len(values)
    return {"first": values[0], "last": values[-1], "max": max(values), "min": min(values)}[agg]


# -- patterns ---------------------------------------------------------------------------------------------------

_METHODS = {
    "begin": "begin",
    "next": "next",
    "followedBy": "followed_by",
    "followedByAny": "followed_by_any",
    "notNext": "not_next",
    "notFollowedBy": "not_followed_by",
    "times": "times",
    "oneOrMore": "one_or_more",
    "timesOrMore": "times_or_more",
    "consecutive": "consecutive",
    "allowCombinations": "allow_combinations",
    "greedy": "greedy",
    "optional": "optional",
}


def pattern_of(json: Json) -> Pattern:
    pattern = _sequence(json["steps"], _strategy_of(json.get("after_match")))
    _set_within(pattern, json.get("within"))
    return pattern


def _sequence(steps: Sequence[Json], strategy: AfterMatchSkipStrategy | None) -> Pattern:
    pattern: Any = None
    for step in steps:
        what = _sequence(step["group"], None) if "group" in step else step["name"]
        method = _METHODS[step.get("contiguity", "begin")]
        pattern = Pattern.begin(what, strategy) if method == "begin" else getattr(pattern, method)(what)
        _set_conditions(pattern, step)
        _quantify(pattern, step)
        for until in _as_list(step.get("until")):
            pattern.until(condition_of(until))
        _set_within(pattern, step.get("within"))
    return pattern  # type: ignore[no-any-return]


def _set_conditions(pattern: Pattern, step: Json) -> None:
    if "subtype" in step:
        pattern.subtype(SubEvent)
    for json in step.get("where", ()):
        pattern.where(condition_of(json))
    for json in step.get("or", ()):
        pattern.or_(condition_of(json))
    for either in step.get("conditions", ()):
        if "where" in either:
            pattern.where(condition_of(either["where"]))
        else:
            pattern.or_(condition_of(either["or"]))


def _quantify(pattern: Pattern, step: Json) -> None:
    given = step.get("quantifier", {})
    window = Duration.of_millis(given["window_time"]) if "window_time" in given else None
    if "times" in given:
        pattern.times(given["times"], window)
    if "from" in given:
        pattern.times(given["from"], given["to"], window)
    if given.get("oneOrMore"):
        pattern.one_or_more(window)
    if "timesOrMore" in given:
        pattern.times_or_more(given["timesOrMore"], window)
    flags = [[flag] for flag in ("consecutive", "allowCombinations", "greedy", "optional") if given.get(flag)]
    for name, *arguments in [*flags, *step.get("calls", ())]:
        getattr(pattern, _METHODS[name])(*arguments)


def _set_within(pattern: Pattern, json: Any) -> None:
    for within in _as_list(json):
        kind = WithinType[within.get("type", "FIRST_AND_LAST")]
        pattern.within(Duration.of_millis(within["ms"]), kind)


def _strategy_of(json: Json | None) -> AfterMatchSkipStrategy | None:
    if not json or not json.get("strategy"):
        return None
    make = {
        "noSkip": AfterMatchSkipStrategy.no_skip,
        "skipToNext": AfterMatchSkipStrategy.skip_to_next,
        "skipPastLastEvent": AfterMatchSkipStrategy.skip_past_last_event,
    }
    if json["strategy"] in make:
        return make[json["strategy"]]()
    skip_to = AfterMatchSkipStrategy.skip_to_first
    if json["strategy"] == "skipToLast":
        skip_to = AfterMatchSkipStrategy.skip_to_last
    strategy = skip_to(json["step"])
    return strategy.throw_exception_on_miss() if json.get("throwExceptionOnMiss") else strategy


def comparator_of(json: Json | None) -> Callable[[Event, Event], int] | None:
    if json is None:
        return None
    field, sign = json["field"], -1 if json.get("order", "asc") == "desc" else 1

    def compare(a: Event, b: Event) -> int:
        left, right = a.field(field), b.field(field)
        return sign * ((left > right) - (left < right))

    return compare


def _as_list(json: Any) -> list[Any]:
    if json is None:
        return []
    return json if isinstance(json, list) else [json]
