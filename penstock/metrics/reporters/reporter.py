"""The contract of reporters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.metrics.reporters.settings import ReporterSettings
from penstock.metrics.samples import Sample

__all__ = ["MetricReporter"]


class MetricReporter:
    """Passes metrics on. A subclass overrides `report` (it is pushed to) or `open` (it is asked).

    All methods are called from one thread at a time. What they raise is logged and disturbs nobody.
    """

    scheduled = True
    """Whether `report` is called every `interval`."""

    def __init__(self, settings: ReporterSettings) -> None:
        self.settings = settings

    def open(self, collect: Callable[[], Sequence[Sample]]) -> None:
        """Called once, before anything else; `collect` gives what the reporter's filter lets through, at any time."""

    def report(self, samples: Sequence[Sample]) -> None:
        """Called every interval, and a last time before `close`."""

    def close(self) -> None:
        """Called once; lets go of sockets, files and threads."""
