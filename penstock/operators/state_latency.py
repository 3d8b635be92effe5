"""How long a function's calls of its keyed state take, one in a hundred of them (`state.latency-track.*`).

Off unless `state.latency-track.keyed-state-enabled` says so: then a function gets its states wrapped, and each has
histograms in nanoseconds under Flink's names, `valueStateGetLatency` and the like.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from penstock.common.configuration import Configuration
from penstock.common.options import option
from penstock.metrics import MetricGroup
from penstock.metrics.metricbase import Histogram

__all__ = ["StateLatency"]

_CALLS: Mapping[str, Mapping[str, str]] = {
    "value": {"value": "Get", "update": "Update"},
    "list": {"get": "Get", "add": "Add", "add_all": "AddAll", "update": "Update"},
    "map": {
        "get": "Get", "put": "Put", "put_all": "PutAll", "remove": "Remove", "contains": "Contains",
        "items": "EntriesInit", "keys": "KeysInit", "values": "ValuesInit", "is_empty": "IsEmpty",
    },
    "reducing": {"get": "Get", "add": "Add"},
    "aggregating": {"get": "Get", "add": "Add"},
}  # fmt: skip
"""What Flink calls each method's latency, behind the kind of state."""

_DUNDERS = {
    "map": {"__getitem__": "get", "__setitem__": "put", "__delitem__": "remove", "__contains__": "contains"}
}


class StateLatency(NamedTuple):
    """What `state.latency-track.*` says."""

    every: int
    history_size: int
    name_as_variable: bool

    @classmethod
    def of(cls, configuration: Mapping[str, str]) -> StateLatency | None:
        """None if nobody wants to know."""
        settings = Configuration.from_dict(configuration)
        if not settings.get(option("state.latency-track.keyed-state-enabled")):
            return None
        return cls(
            max(1, settings.get(option("state.latency-track.sample-interval"))),
            settings.get(option("state.latency-track.history-size")),
            settings.get(option("state.latency-track.state-name-as-variable")),
        )

    def tracked(self, state: Any, kind: str, name: str, metrics: MetricGroup) -> Any:
        """The state with its calls timed."""
        group = metrics.add_group("state_name", name) if self.name_as_variable else metrics.add_group(name)
        calls = {**_CALLS[kind], "clear": "Clear"}
        timed = {
            method: _timed(
                getattr(state, method),
                group.histogram(f"{kind}State{called}Latency", self.history_size),
                self.every,
            )
            for method, called in calls.items()
        }
        shortcuts = {short: timed[method] for short, method in _DUNDERS.get(kind, {}).items()}
        members = {n: staticmethod(call) for n, call in {**timed, **shortcuts}.items()}
        return type(f"Tracked{type(state).__name__}", (_Tracked,), members)(state)


class _Tracked:
    """Passes on whatever is not timed."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    def __iter__(self) -> Any:
        return iter(self._state)


def _timed(call: Callable[..., Any], histogram: Histogram, every: int) -> Callable[..., Any]:
    left = 1

    def timed(*arguments: Any) -> Any:
        nonlocal left
        left -= 1
        if left:
            return call(*arguments)
        left = every
        began = time.perf_counter_ns()
        try:
            return call(*arguments)
        finally:
            histogram.update(time.perf_counter_ns() - began)

    return timed
