"""Where a metric stands: whose it is, and what it is therefore called.

A *scope* is a kind (`operator`, say) and variables (`<host>`, `<job_name>`, `<subtask_index>`). From it come two
names, as in Flink:

    identifier      a format of the configuration filled in      host1.taskmanager.tm-1.orders.Map.0.numRecordsIn
    logical scope   the kinds from the outside in                taskmanager.job.task.operator

Systems that know no labels get the first; those that do get the second and the variables beside it.

>>> formats = ScopeFormats.from_settings({"metrics.scope.jm-job": "jm.<job_name>"})
>>> formats.identifier(Scope("jm-job", {"job_name": "my job"}), "uptime")
'jm.my job.uptime'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.common.options import option

__all__ = ["LOGICAL_SCOPES", "Scope", "ScopeFormats"]

LOGICAL_SCOPES = {
    "jm": "jobmanager",
    "jm-job": "jobmanager.job",
    "jm-operator": "jobmanager.job.operator",
    "tm": "taskmanager",
    "tm-job": "taskmanager.job",
    "task": "taskmanager.job.task",
    "operator": "taskmanager.job.task.operator",
}
_PARENTS = {
    "jm-job": "jm",
    "jm-operator": "jm-job",
    "tm-job": "tm",
    "task": "tm-job",
    "operator": "task",
}


@dataclass(frozen=True)
class Scope:
    """Whose a metric is. `variables` have no angle brackets: `{"host": "h1", "job_name": "orders"}`."""

    kind: str
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def logical(self) -> str:
        """The kind of thing it belongs to, as filters and tags name it."""
        return LOGICAL_SCOPES[self.kind]


@dataclass(frozen=True)
class ScopeFormats:
    """The formats of `metrics.scope.*`; one that begins with `*.` goes on from that of the kind around it."""

    formats: Mapping[str, str]
    delimiter: str = "."

    @classmethod
    def from_settings(cls, settings: Mapping[str, str]) -> ScopeFormats:
        """The formats that the `metrics.scope.*` keys set; Flink's defaults where they do not."""
        given = {kind: _setting(settings, f"metrics.scope.{kind}") for kind in LOGICAL_SCOPES}
        return cls(
            {kind: _whole(kind, given) for kind in given}, _setting(settings, "metrics.scope.delimiter")
        )

    def identifier(self, scope: Scope, *names: str, delimiter: str | None = None) -> str:
        """The full name of a metric, groups and its own name last; unknown variables stay as they are written."""
        between = delimiter if delimiter is not None else self.delimiter
        parts = [self._filled(part, scope) for part in self.formats[scope.kind].split(".")]
        return between.join((*parts, *names))

    def _filled(self, part: str, scope: Scope) -> str:
        for name, value in scope.variables.items():
            part = part.replace(f"<{name}>", value)
        return part


def _setting(settings: Mapping[str, str], key: str) -> str:
    known = option(key)
    for spelling in (known.key, *known.fallback_keys):
        if spelling in settings:
            return str(settings[spelling])
    return str(known.default)


def _whole(kind: str, formats: Mapping[str, str]) -> str:
    own = formats[kind]
    if own.startswith("*") and kind in _PARENTS:
        return _whole(_PARENTS[kind], formats) + own[1:]
    return own
