"""Jobs and the reporters of their metrics: started with the first job that asks for them, stopped after the last.

Reporters belong to the process, as in Flink: two jobs of a session with the same settings share them, so that both
are found at one port. Jobs with other settings get reporters of their own.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.common.configuration import Configuration
from penstock.metrics.registry import MetricRegistry
from penstock.metrics.reporters import ReporterGroup
from penstock.metrics.samples import Sample, gauge
from penstock.metrics.scope import Scope
from penstock.runtime import job_registry
from penstock.runtime.metric_samples import JobMetrics
from penstock.runtime.running_job import RunningJob

__all__ = ["Reporting", "reporting"]


@dataclass
class _Shared:
    """Reporters with the same settings, and the jobs that use them."""

    registry: MetricRegistry
    group: ReporterGroup
    jobs: set[str] = field(default_factory=set)


class Reporting:
    """Told of every job of the process; see `job_registry.JobWatcher`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shared: dict[frozenset[tuple[str, str]], _Shared] = {}

    def check(self, configuration: Configuration) -> None:
        """Refuses settings that cannot be right, before a job starts.

        Raises:
            ValidationError, NotSupportedError: With the key.
        """
        settings = _settings(configuration.to_dict())
        if settings:
            ReporterGroup(dict(settings), MetricRegistry())

    def job_started(self, job: RunningJob) -> None:
        statistics = job.statistics
        settings = _settings(statistics.job.configuration)
        if not settings:
            return
        with self._lock:
            shared = self._shared.get(settings)
            if shared is None:
                registry = MetricRegistry()
                registry.add("this process", _of_process)
                shared = self._shared[settings] = _Shared(registry, ReporterGroup(dict(settings), registry))
                shared.group.start()
            shared.jobs.add(job.job_id)
            shared.registry.add(f"job {job.job_id}", JobMetrics(statistics))

    def job_ended(self, job: RunningJob) -> None:
        settings = _settings(job.statistics.job.configuration)
        with self._lock:
            shared = self._shared.get(settings)
            if shared is None:
                return
            shared.jobs.discard(job.job_id)
            if not shared.jobs:
                del self._shared[settings]
        if not shared.jobs:
            shared.group.stop()  # with a last look at this job
        shared.registry.remove(f"job {job.job_id}")

    def groups(self) -> list[ReporterGroup]:
        """The reporters that run now."""
        with self._lock:
            return [shared.group for shared in self._shared.values()]


def _settings(configuration: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    """What decides about reporters; nothing if none is asked for."""
    asked = {key: value for key, value in configuration.items() if key.startswith("metrics.")}
    wanted = any(key == "metrics.reporters" or key.startswith("metrics.reporter.") for key in asked)
    return frozenset(asked.items()) if wanted else frozenset()


def _of_process() -> list[Sample]:
    scope = Scope("jm", {"host": JobMetrics.host()})
    return [Sample(scope, "numRunningJobs", gauge(len(job_registry.jobs())))]


reporting = Reporting()
