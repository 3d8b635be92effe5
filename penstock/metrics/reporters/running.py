"""Reporters at work: they are opened, called every interval by a thread of their own, and closed.

A reporter never disturbs a job. What it raises is told once, and again when it has worked in between; one that
hangs is left behind when the process goes, since its thread is a daemon.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from penstock.metrics.registry import MetricRegistry
from penstock.metrics.reporters.factories import make_reporter
from penstock.metrics.reporters.reporter import MetricReporter
from penstock.metrics.reporters.settings import reporter_settings
from penstock.metrics.samples import Sample

__all__ = ["ReporterGroup"]

LOG = logging.getLogger(__name__)
_LAST_REPORT_S = 2.0


class ReporterGroup:
    """All reporters that a configuration asks for, over one registry.

    Raises:
        ValidationError: A reporter's settings cannot be right.
        NotSupportedError: It asks for one that does not exist here.
    """

    def __init__(self, settings: Mapping[str, str], registry: MetricRegistry) -> None:
        self._running = [_Running(make_reporter(found), registry) for found in reporter_settings(settings)]

    @property
    def reporters(self) -> list[MetricReporter]:
        """The reporters, in the order in which they were configured."""
        return [running.reporter for running in self._running]

    def start(self) -> None:
        """Opens each reporter in a thread of its own; returns at once."""
        for running in self._running:
            running.start()

    def stop(self) -> None:
        """Reports a last time and closes; returns when that is done, or after a while without."""
        for running in self._running:
            running.stop()


class _Running:
    """A reporter and its thread."""

    def __init__(self, reporter: MetricReporter, registry: MetricRegistry) -> None:
        self.reporter = reporter
        self._registry = registry
        self._filter = reporter.settings.filter()
        self._stop = threading.Event()
        self._complained = False
        self._opened = False
        name = f"penstock-metrics-{reporter.settings.name}"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._opened = self._guarded(lambda: self.reporter.open(self._collect))
        if self._opened and self.reporter.scheduled:
            self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(_LAST_REPORT_S)
        elif self._opened:
            self._guarded(self.reporter.close)

    def _run(self) -> None:
        while not self._stop.wait(self.reporter.settings.interval_s):
            self._guarded(self._report)
        self._guarded(self._report)
        self._guarded(self.reporter.close)

    def _report(self) -> None:
        self.reporter.report(self._collect())

    def _collect(self) -> list[Sample]:
        return [s for s in self._registry.collect() if self._passes(s)]

    def _passes(self, sample: Sample) -> bool:
        return self._filter.accepts(sample.logical_scope, sample.name, sample.kind)

    def _guarded(self, action: Callable[[], object]) -> bool:
        """Runs it; what it raises is told once in a row."""
        try:
            action()
        except Exception as error:
            if not self._complained:
                LOG.warning("metric reporter '%s': %s", self.reporter.settings.name, error)
            self._complained = True
            return False
        self._complained = False
        return True
