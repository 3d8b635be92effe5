"""What a metric can be: something to count, to read, to rate or to summarize.

Each metric can say what it holds as plain data (`snapshot`), take that back (`restore`), and two snapshots
can be made one (`merge`): counts add up, rates add up, distributions join. So the driver can show an operator
as the sum of its subtasks, and a re-run epoch starts counting where the last committed one stopped.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from penstock.common.errors import ValidationError
from penstock.metrics.samples import Group, summary

__all__ = ["Counter", "Distribution", "Gauge", "Histogram", "Meter", "Metric", "MetricGroup"]

Snapshot = dict[str, Any]
_log = logging.getLogger(__name__)
M = TypeVar("M", bound="Metric")


class Metric:
    """Base of all metrics."""

    kind = "metric"

    def snapshot(self) -> Snapshot:
        """What the metric holds now, as plain data with its `type`."""
        return {"type": self.kind, **self._values()}

    def _values(self) -> Snapshot:
        return {}

    def restore(self, snapshot: Mapping[str, Any] | None) -> None:
        """Continue from an earlier snapshot, or from zero for None; what is only read has nothing to take."""


class Counter(Metric):
    """Counts up and down."""

    kind = "counter"

    def __init__(self) -> None:
        self._count = 0

    def inc(self, n: int = 1) -> None:
        """Add `n`."""
        self._count += n

    def dec(self, n: int = 1) -> None:
        """Take `n` away."""
        self._count -= n

    def get_count(self) -> int:
        """How far it has counted, in the whole job."""
        return self._count

    def _values(self) -> Snapshot:
        return {"count": self._count}

    def restore(self, snapshot: Mapping[str, Any] | None) -> None:
        """Goes on from the count of a checkpoint; from 0 where there is none."""
        self._count = snapshot["count"] if snapshot else 0


class Gauge(Metric):
    """Reads a value when somebody looks; the function must be cheap and must not raise."""

    kind = "gauge"

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function

    def get_value(self) -> Any:
        """The value when the epoch ended."""
        return self._function()

    def _values(self) -> Snapshot:
        return {"value": self.get_value()}


class Meter(Metric):
    """Counts events and says how many came per second, averaged over the last `time_span_in_seconds`."""

    kind = "meter"

    def __init__(self, time_span_in_seconds: int = 60, clock: Callable[[], float] = time.monotonic) -> None:
        self._span = max(1, time_span_in_seconds)
        self._clock = clock
        self._count = 0
        self._seconds: deque[tuple[int, int]] = deque()  # (second, events in it), oldest first

    def mark_event(self, value: int = 1) -> None:
        """`value` events happened now."""
        self._count += value
        now = int(self._clock())
        if self._seconds and self._seconds[-1][0] == now:
            value += self._seconds.pop()[1]
        self._seconds.append((now, value))
        self._forget(now)

    def get_count(self) -> int:
        """How many events were marked."""
        return self._count

    def get_rate(self) -> float:
        """Events per second."""
        self._forget(int(self._clock()))
        return sum(events for _, events in self._seconds) / self._span

    def _forget(self, now: int) -> None:
        while self._seconds and self._seconds[0][0] <= now - self._span:
            self._seconds.popleft()

    def _values(self) -> Snapshot:
        return {"count": self._count, "rate": self.get_rate()}

    def restore(self, snapshot: Mapping[str, Any] | None) -> None:
        """Goes on from the count of a checkpoint; from 0 where there is none."""
        self._count = snapshot["count"] if snapshot else 0


class Distribution(Metric):
    """Count, sum, least and greatest of the values it was given."""

    kind = "distribution"

    def __init__(self) -> None:
        self._count = 0
        self._sum: float = 0
        self._min: float | None = None
        self._max: float | None = None

    def update(self, value: float) -> None:
        """Take one value into account."""
        self._count += 1
        self._sum += value
        self._min = value if self._min is None or value < self._min else self._min
        self._max = value if self._max is None or value > self._max else self._max

    def _values(self) -> Snapshot:
        mean = self._sum / self._count if self._count else None
        return {"count": self._count, "sum": self._sum, "min": self._min, "max": self._max, "mean": mean}

    def restore(self, snapshot: Mapping[str, Any] | None) -> None:
        """Goes on from the values of a checkpoint; from none where there is none."""
        known = snapshot or {"count": 0, "sum": 0, "min": None, "max": None}
        self._count, self._sum = known["count"], known["sum"]
        self._min, self._max = known["min"], known["max"]


class Histogram(Metric):
    """How its last `window` values are spread; the count is of all."""

    kind = "histogram"

    def __init__(self, window: int = 128) -> None:
        self._count = 0
        self._last: deque[float] = deque(maxlen=max(1, window))

    def update(self, value: float) -> None:
        """Take one value into account."""
        self._count += 1
        self._last.append(value)

    def _values(self) -> Snapshot:
        return {**summary(self._last), "count": self._count}

    def restore(self, snapshot: Mapping[str, Any] | None) -> None:
        """Goes on from the count of a checkpoint; how the values were spread is found anew."""
        self._count = snapshot["count"] if snapshot else 0


class MetricGroup:
    """A named place for metrics and further groups; its name and those above it make their identifiers.

    Registering a name twice gives the metric that is there already, so that a function which opens again in
    the same process goes on counting.

    Args:
        scope: Where the group stands, outermost first: job, operator, subtask.
        variables: What dashboards may filter by, such as `<task_name>`.
    """

    def __init__(self, scope: Sequence[str] = (), variables: Mapping[str, str] | None = None) -> None:
        self._scope = tuple(scope)
        self._variables = dict(variables or {})
        self._metrics: dict[str, Metric] = {}
        self._groups: dict[str, MetricGroup] = {}
        self._restored: Mapping[str, Snapshot] = {}
        self._path: tuple[Group, ...] = ()

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """The group `name` below this one; with `extra` `name.extra`, and `name` is a variable."""
        group = self._subgroup(name, {}, name)
        if extra is None:
            return group
        inner = group._subgroup(extra, {f"<{name}>": extra}, extra)
        inner._path = (*self._path, (name, extra))
        return inner

    def counter(self, name: str) -> Counter:
        """Registers a counter."""
        return self._register(name, Counter, Counter)

    def gauge(self, name: str, obj: Callable[[], Any]) -> None:
        """Registers a function whose result is read whenever metrics are reported; the last one counts."""
        if not callable(obj):
            raise ValidationError(f"gauge {name!r} needs a function, got {obj!r}")
        self._metrics.pop(name, None)
        self._register(name, Gauge, lambda: Gauge(obj))

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """Registers a meter whose rate is an average over the last `time_span_in_seconds`."""
        return self._register(name, Meter, lambda: Meter(time_span_in_seconds))

    def distribution(self, name: str) -> Distribution:
        """Registers a distribution."""
        return self._register(name, Distribution, Distribution)

    def histogram(self, name: str, window: int = 128) -> Histogram:
        """Registers a histogram of the last `window` values. PyFlink has none; operators use it."""
        return self._register(name, Histogram, lambda: Histogram(window))

    def get_metric_identifier(self, metric_name: str) -> str:
        """The full name of a metric of this group."""
        return ".".join((*self._scope, metric_name))

    def get_scope_components(self) -> list[str]:
        """The names of the groups around this one."""
        return list(self._scope)

    def get_all_variables(self) -> dict[str, str]:
        """What the scope's names stand for: job, operator, subtask."""
        return dict(self._variables)

    def snapshot(self) -> dict[str, Snapshot]:
        """What all metrics here and below hold now, by identifier; a gauge that raises is left out."""
        found = {}
        for name, metric in self._metrics.items():
            identifier = self.get_metric_identifier(name)
            try:
                found[identifier] = metric.snapshot()
                if self._path:
                    found[identifier] |= {"groups": self._path, "name": name}
            except Exception as error:  # a user's function; a broken gauge must not fail the job
                _log.warning("metric %s cannot be read: %s: %s", identifier, type(error).__name__, error)
        for group in self._groups.values():
            found.update(group.snapshot())
        return found

    def restore(self, snapshots: Mapping[str, Snapshot]) -> None:
        """Continue from an earlier snapshot, here and below.

        A metric that the snapshot does not know starts at zero; one that is registered only later starts
        with what the snapshot says about it.
        """
        self._restored = snapshots
        for name, metric in self._metrics.items():
            metric.restore(self._restored_as(name, metric))
        for group in self._groups.values():
            group.restore(snapshots)

    def _restored_as(self, name: str, metric: Metric) -> Snapshot | None:
        snapshot = self._restored.get(self.get_metric_identifier(name))
        return snapshot if snapshot is not None and snapshot["type"] == metric.kind else None

    def _subgroup(self, name: str, variables: dict[str, str], step: Group) -> MetricGroup:
        if name not in self._groups:
            self._groups[name] = MetricGroup((*self._scope, name), {**self._variables, **variables})
            self._groups[name]._restored = self._restored
            self._groups[name]._path = (*self._path, step)
        return self._groups[name]

    def _register(self, name: str, kind: type[M], make: Callable[[], M]) -> M:
        metric = self._metrics.get(name)
        if metric is None:
            metric = self._metrics[name] = make()
            metric.restore(self._restored_as(name, metric))
        if not isinstance(metric, kind):
            raise ValidationError(
                f"metric {self.get_metric_identifier(name)!r} is a {metric.kind}, not a {kind.kind}",
                do="give the second one another name or group",
            )
        return metric

    def __getstate__(self) -> dict[str, Any]:
        """Gauges stay behind: they read objects of the process that registered them."""
        kept = {name: metric for name, metric in self._metrics.items() if not isinstance(metric, Gauge)}
        return {**self.__dict__, "_metrics": kept}
