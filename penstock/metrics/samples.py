"""One metric as a reporter sees it: whose it is, what it is called, and what it holds now.

What a metric holds is the plain data of `Metric.snapshot()`, so there is one description of a counter from the
worker that counts to the system that stores it.

>>> Sample(Scope("jm-job", {"job_name": "orders"}), "uptime", gauge(1200)).numbers()
{'': 1200}
>>> sorted(Sample(Scope("jm-job"), "seen", {"type": "meter", "count": 4, "rate": 0.5}).numbers().items())
[('count', 4), ('rate', 0.5)]
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.metrics.scope import Scope

__all__ = ["QUANTILES", "Group", "Sample", "counter", "gauge", "histogram", "meter", "summary"]

QUANTILES = {"p50": 0.5, "p75": 0.75, "p95": 0.95, "p98": 0.98, "p99": 0.99, "p999": 0.999}
_SUMMARIES = ("count", "sum", "min", "max", "mean", "stddev", *QUANTILES)


Group = str | tuple[str, str]
"""A group of metrics: a name, or a variable with its value."""


@dataclass(frozen=True)
class Sample:
    """A metric's name, groups between scope and name, and its snapshot.

    >>> sample = Sample(Scope("tm-job"), "latency", {"type": "counter", "count": 1}, ("a", ("source_id", "s.1")))
    >>> sample.logical_scope, sample.path, sample.variables
    ('taskmanager.job.a.source_id', ('a', 'source_id', 's.1'), {'source_id': 's.1'})
    """

    scope: Scope
    name: str
    snapshot: Mapping[str, Any]
    groups: tuple[Group, ...] = ()

    @property
    def logical_scope(self) -> str:
        """Kinds from the outside in; of a variable its name alone."""
        return ".".join((self.scope.logical, *(g if isinstance(g, str) else g[0] for g in self.groups)))

    @property
    def path(self) -> tuple[str, ...]:
        """The groups' names, and values of variables, for systems that know no labels."""
        return tuple(name for g in self.groups for name in ((g,) if isinstance(g, str) else g))

    @property
    def variables(self) -> dict[str, str]:
        """Those of its scope, and of its groups."""
        return {**self.scope.variables, **dict(g for g in self.groups if not isinstance(g, str))}

    @property
    def kind(self) -> str:
        """counter, gauge, meter, histogram or distribution."""
        return str(self.snapshot["type"])

    def numbers(self) -> dict[str, float]:
        """The numbers it holds by suffix; a single one has none. Texts, NULLs and NaN are no numbers."""
        held = self.snapshot
        if self.kind == "counter":
            return _finite({"": held["count"]})
        if self.kind == "gauge":
            return _finite({"": held["value"]})
        if self.kind == "meter":
            return _finite({"count": held["count"], "rate": held["rate"]})
        return _finite({part: held.get(part) for part in _SUMMARIES})


def _finite(numbers: Mapping[str, Any]) -> dict[str, float]:
    return {key: value for key, value in numbers.items() if _is_number(value)}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def counter(count: int) -> dict[str, Any]:
    """A counter's reading."""
    return {"type": "counter", "count": count}


def gauge(value: Any) -> dict[str, Any]:
    """A gauge's reading."""
    return {"type": "gauge", "value": value}


def meter(count: int, rate: float) -> dict[str, Any]:
    """A meter's reading: events so far, and per second."""
    return {"type": "meter", "count": count, "rate": rate}


def histogram(values: Iterable[float]) -> dict[str, Any]:
    """What Flink's histograms tell of their values."""
    return {"type": "histogram", **summary(values)}


def summary(values: Iterable[float]) -> dict[str, Any]:
    """How values are spread; of none only that there are none."""
    known = sorted(values)
    if not known:
        return {"count": 0}
    mean = sum(known) / len(known)
    variance = sum((value - mean) ** 2 for value in known) / len(known)
    found = {
        "count": len(known), "sum": sum(known), "min": known[0], "max": known[-1], "mean": mean,
        "stddev": math.sqrt(variance),
    }  # fmt: skip
    quantiles = {name: known[min(len(known) - 1, int(q * len(known)))] for name, q in QUANTILES.items()}
    return {**found, **quantiles}
