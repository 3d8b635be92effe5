"""Samples in Prometheus's text format, with the names and labels that Flink's reporter gives them.

    flink_taskmanager_job_task_operator_numRecordsIn{host="h",job_name="orders",subtask_index="0"} 42.0

Counters are gauges here, as in Flink: they may go down, and their names do not end in `_total`. Boards and alerts
made for Flink therefore work unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from penstock.metrics.reporters.settings import ReporterSettings
from penstock.metrics.samples import QUANTILES, Sample

__all__ = ["CONTENT_TYPE", "exposition"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9:_]")


def exposition(samples: Iterable[Sample], settings: ReporterSettings) -> str:
    """The text; families in the order of their names, each with its help and type."""
    filtered = settings.get("filterLabelValueCharacters", "Boolean", True)
    families: dict[str, tuple[str, str, list[str]]] = {}
    for sample in samples:
        lines = _lines(sample, settings, filtered)
        if lines:
            name, kind = _name(sample), _type(sample)
            about = f"{sample.name} (scope: {sample.logical_scope})"
            family = families.setdefault(name, (kind, about, []))
            if family[0] == kind:  # two functions gave one name to different things: the first one counts
                family[2].extend(lines)
    return "".join(
        f"# HELP {name} {_help(text)}\n# TYPE {name} {kind}\n" + "".join(lines)
        for name, (kind, text, lines) in sorted(families.items())
    )


def _lines(sample: Sample, settings: ReporterSettings, filtered: bool) -> list[str]:
    name, numbers = _name(sample), sample.numbers()
    labels = {_legal(key): _clean(value, filtered) for key, value in settings.labels(sample).items()}
    if sample.kind in ("counter", "gauge"):
        return [_line(name, labels, numbers[""])] if numbers else []
    if sample.kind == "meter":
        return [_line(name, labels, numbers["rate"])] if "rate" in numbers else []
    lines = [
        _line(name, {**labels, "quantile": str(q)}, numbers[part])
        for part, q in QUANTILES.items()
        if part in numbers
    ]
    lines += [_line(f"{name}_{part}", labels, numbers[part]) for part in ("sum", "count") if part in numbers]
    return lines


def _type(sample: Sample) -> str:
    return "summary" if sample.kind in ("histogram", "distribution") else "gauge"


def _name(sample: Sample) -> str:
    return _legal("_".join(("flink", sample.logical_scope, sample.name)))


def _legal(text: str) -> str:
    return _NOT_IN_NAMES.sub("_", text)


def _clean(value: str, filtered: bool) -> str:
    return _legal(value) if filtered else value


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {float(value)!r}\n" if inside else f"{name} {float(value)!r}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")
