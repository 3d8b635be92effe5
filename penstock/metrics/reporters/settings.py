"""What `metrics.reporters` and `metrics.reporter.<name>.*` say, read as Flink reads them.

>>> [s.name for s in reporter_settings({"metrics.reporter.prom.factory.class": "prom"})]
['prom']
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.common.config_values import parse_value
from penstock.common.errors import ValidationError
from penstock.metrics.filters import MetricFilter
from penstock.metrics.samples import Sample
from penstock.metrics.scope import ScopeFormats

__all__ = ["ReporterSettings", "reporter_settings"]

_PREFIX = "metrics.reporter."


@dataclass(frozen=True)
class ReporterSettings:
    """One reporter: its name, its options without the prefix, and the formats of names."""

    name: str
    options: Mapping[str, str]
    formats: ScopeFormats = field(default_factory=lambda: ScopeFormats.from_settings({}))

    def get(self, key: str, kind: str = "String", default: Any = None) -> Any:
        """An option's value, read as its kind (`config_values.py`)."""
        if key not in self.options:
            return default
        return parse_value(self.key(key), self.options[key], kind)

    def key(self, key: str) -> str:
        """The whole key of an option, for messages."""
        return f"{_PREFIX}{self.name}.{key}"

    @property
    def factory(self) -> str:
        """What kind of reporter it is: its `factory.class`, or its name where none is set."""
        return self.options.get("factory.class", self.name)

    @property
    def interval_s(self) -> float:
        """The seconds between two reports; 10 if it is not said."""
        return max(
            0.001, self.get("interval", "Duration", parse_value("", "10 s", "Duration")).to_millis() / 1000
        )

    def filter(self) -> MetricFilter:
        """Which metrics it is given; all if it is not said."""
        return MetricFilter.parse(
            self.get("filter.includes", default="*:*:*"), self.get("filter.excludes", default="")
        )

    def identifier(self, sample: Sample) -> str:
        """A sample's full name in this reporter's spelling."""
        delimiter = self.get("scope.delimiter")
        return self.formats.identifier(sample.scope, *sample.path, sample.name, delimiter=delimiter)

    def labels(self, sample: Sample) -> dict[str, str]:
        """A sample's variables, without those of `scope.variables.excludes` and with the additional ones."""
        excluded = {
            name.strip("<> ") for name in str(self.get("scope.variables.excludes", default="")).split(";")
        }
        additional = self.get("scope.variables.additional", "Map", {})
        return {
            **{name: value for name, value in sample.variables.items() if name not in excluded},
            **additional,
        }


def reporter_settings(settings: Mapping[str, str]) -> list[ReporterSettings]:
    """The reporters that a configuration asks for; all that it describes unless `metrics.reporters` names some.

    Raises:
        ValidationError: `metrics.reporters` names one that nothing is said about.
    """
    described: dict[str, dict[str, str]] = {}
    for key, value in settings.items():
        if key.startswith(_PREFIX):
            name, _, option = key.removeprefix(_PREFIX).partition(".")
            described.setdefault(name, {})[option] = str(value)
    listed = [name.strip() for name in str(settings.get("metrics.reporters", "")).split(",") if name.strip()]
    formats = ScopeFormats.from_settings(settings)
    return [
        ReporterSettings(name, _options(name, described), formats)
        for name in dict.fromkeys(listed or described)
    ]


def _options(name: str, described: Mapping[str, dict[str, str]]) -> dict[str, str]:
    from penstock.metrics.reporters.factories import is_factory

    if name not in described and not is_factory(name):
        raise ValidationError(
            f"metrics.reporters names '{name}', and nothing says what that is",
            do=f"set {_PREFIX}{name}.factory.class, to prom, promgateway, jsonlines, statsd or otel, say",
        )
    return described.get(name, {})
