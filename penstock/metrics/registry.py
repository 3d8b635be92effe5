"""All metrics of this process, and who is told about them.

Whatever has metrics (a running job) adds a function that gives its samples now; reporters ask when somebody looks
or when their interval has passed. Nothing is computed in between, so metrics that nobody reads cost nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable

from penstock.metrics.samples import Sample

__all__ = ["MetricRegistry"]

LOG = logging.getLogger(__name__)
Samples = Callable[[], Iterable[Sample]]


class MetricRegistry:
    """Functions that give samples, by the name of who added them. May be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sources: dict[str, Samples] = {}

    def add(self, name: str, samples: Samples) -> None:
        """From now on reporters are shown what `samples` gives; the name replaces an earlier one."""
        with self._lock:
            self._sources[name] = samples

    def remove(self, name: str) -> None:
        """Reporters are not shown these samples any more."""
        with self._lock:
            self._sources.pop(name, None)

    def __len__(self) -> int:
        return len(self._sources)

    def collect(self) -> list[Sample]:
        """What everybody has now; a source that fails is left out, and told."""
        with self._lock:
            sources = list(self._sources.items())
        found: list[Sample] = []
        for name, samples in sources:
            try:
                found.extend(samples())
            except Exception:
                LOG.warning("the metrics of %s cannot be read", name, exc_info=True)
        return found
