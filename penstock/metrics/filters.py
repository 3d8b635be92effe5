"""Which metrics a reporter gets: `filter.includes` and `filter.excludes`, as Flink reads them.

A filter is a list, `;` between its entries, and an entry is `scope[:name,name[:type,type]]` with `*` for anything:

>>> wanted = MetricFilter.parse("jobmanager.job:numRestarts,*Checkpoint*;*:num*:counter", "")
>>> wanted.accepts("jobmanager.job", "lastCheckpointSize", "gauge")
True
>>> wanted.accepts("taskmanager.job.task", "numRecordsIn", "gauge")
False
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.common.errors import ValidationError

__all__ = ["MetricFilter"]

_TYPES = ("counter", "gauge", "meter", "histogram")


@dataclass(frozen=True)
class _Entry:
    scope: re.Pattern[str]
    names: tuple[re.Pattern[str], ...]
    types: frozenset[str]

    @classmethod
    def parse(cls, text: str) -> _Entry:
        scope, names, types = [*(part.strip() for part in text.split(":")), "*", "*"][:3]
        wanted = frozenset(_TYPES if types == "*" else (t.strip().lower() for t in types.split(",")))
        if not wanted <= set(_TYPES):
            raise ValidationError(
                f"a filter of metrics has the type '{', '.join(sorted(wanted - set(_TYPES)))}'",
                where=f"'{text}'",
                do=f"known are {', '.join(_TYPES)}, and * for all",
            )
        return cls(_pattern(scope), tuple(_pattern(name.strip()) for name in names.split(",")), wanted)

    def matches(self, scope: str, name: str, kind: str) -> bool:
        known = "histogram" if kind == "distribution" else kind
        named = any(pattern.fullmatch(name) for pattern in self.names)
        return named and known in self.types and bool(self.scope.fullmatch(scope))


@dataclass(frozen=True)
class MetricFilter:
    """Which metrics a reporter is given: those that an entry includes and none excludes."""

    includes: tuple[_Entry, ...]
    excludes: tuple[_Entry, ...]

    @classmethod
    def parse(cls, includes: str, excludes: str) -> MetricFilter:
        """The filter that two texts describe, each `scope:name:type` entries separated by semicolons."""
        return cls(_entries(includes), _entries(excludes))

    def accepts(self, scope: str, name: str, kind: str) -> bool:
        """Whether a metric passes; `scope` is the logical one with the metric's own groups."""
        if any(entry.matches(scope, name, kind) for entry in self.excludes):
            return False
        return any(entry.matches(scope, name, kind) for entry in self.includes)


def _entries(text: str) -> tuple[_Entry, ...]:
    return tuple(_Entry.parse(entry) for entry in text.split(";") if entry.strip())


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(piece) for piece in text.split("*")))
