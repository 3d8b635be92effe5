"""A line of JSON per metric and interval, into a file (`path`) or, without one, into the log at INFO.

    {"time": 1767225600000, "name": "h.jobmanager.orders.uptime", "type": "gauge", "value": 1200, "labels": {…}}

What Flink's Slf4jReporterFactory is there is this one here: a log that can be read by programs.
"""

from __future__ import annotations

import json
import logging
import pathlib
import time
from collections.abc import Callable, Sequence
from typing import Any

from penstock.metrics.reporters.reporter import MetricReporter
from penstock.metrics.samples import Sample

__all__ = ["JsonLinesReporter"]

LOG = logging.getLogger(__name__)
_TOLD_OTHERWISE = ("type", "name", "groups")
"""What a snapshot holds beside the values: the identifier has it."""


class JsonLinesReporter(MetricReporter):
    """Appends; the file may be moved away by logrotate, since it is opened anew every interval."""

    def open(self, collect: Callable[[], Sequence[Sample]]) -> None:
        """Makes the folder of the file that is written to, if there is a `path`."""
        path = self.settings.get("path")
        self._path = pathlib.Path(path) if path else None
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)

    def report(self, samples: Sequence[Sample]) -> None:
        """Appends a line for each metric; logs it where there is no `path`."""
        now = int(time.time() * 1000)
        lines = [json.dumps(self._entry(sample, now), default=str) for sample in samples]
        if self._path is None:
            for line in lines:
                LOG.info("%s", line)
        elif lines:
            with self._path.open("a", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")

    def _entry(self, sample: Sample, now: int) -> dict[str, Any]:
        held = {key: value for key, value in sample.snapshot.items() if key not in _TOLD_OTHERWISE}
        name = self.settings.identifier(sample)
        return {
            "time": now,
            "name": name,
            "type": sample.kind,
            **held,
            "labels": self.settings.labels(sample),
        }
