"""How long elements are on their way from sources to operators, by markers that travel with them, as in Flink.

With `metrics.latency.interval` above zero a source subtask sends a marker before what it reads, at most once in that
time: its name and the wall clock's. A marker takes the same way as elements, one channel of each exchange, waits
where they wait, and passes each operator, which notes how old it is. It overtakes what an operator keeps, such as
windows.

A marker is an integer, the value of a mark (`exchange.py`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

from penstock.common.configuration import Configuration
from penstock.common.errors import ValidationError
from penstock.common.options import option
from penstock.graph.ids import operator_id
from penstock.graph.stream_graph import StreamGraph
from penstock.metrics import MetricGroup
from penstock.metrics.metricbase import Histogram

__all__ = ["LatencyMarker", "LatencyOf", "LatencySettings"]

_INTERVAL = option("metrics.latency.interval")
_GRANULARITY = option("metrics.latency.granularity")
_HISTORY = option("metrics.latency.history-size")
_BY = ("single", "operator", "subtask")


class LatencyMarker(NamedTuple):
    """Who sent it, and when.

    >>> LatencyMarker.unpacked(LatencyMarker(1_700_000_000_000, 3, 12).packed())
    LatencyMarker(sent_ms=1700000000000, source=3, subtask=12)
    """

    sent_ms: int
    source: int
    subtask: int

    def packed(self) -> int:
        """As one number."""
        return (self.sent_ms << 32) | (self.source << 16) | self.subtask

    @classmethod
    def unpacked(cls, value: int) -> LatencyMarker:
        """The marker that a number stands for."""
        return cls(value >> 32, (value >> 16) & 0xFFFF, value & 0xFFFF)


class LatencySettings(NamedTuple):
    """What `metrics.latency.*` says."""

    interval_ms: int
    granularity: str
    history_size: int

    @classmethod
    def of(cls, configuration: Mapping[str, str]) -> LatencySettings:
        """
        Raises:
            ValidationError: There is no such granularity.
        """
        settings = Configuration.from_dict(configuration)
        granularity = str(settings.get(_GRANULARITY)).lower()
        if granularity not in _BY:
            raise ValidationError(f"{_GRANULARITY.key} is '{granularity}'", do=f"use one of {', '.join(_BY)}")
        return cls(settings.get(_INTERVAL).to_millis(), granularity, settings.get(_HISTORY))

    def due(self, last_ms: int) -> int | None:
        """The time for a marker now, or None if the last one was sent a moment ago or nobody wants any."""
        now = int(time.time() * 1000)
        return now if self.interval_ms > 0 and now - last_ms >= self.interval_ms else None


class LatencyOf:
    """How old markers were that came by an operator's subtask, by what is told apart of their sources."""

    def __init__(self, graph: StreamGraph, settings: LatencySettings) -> None:
        self._graph = graph
        self._settings = settings
        self._known: dict[tuple[int, int], Histogram] = {}

    def note(self, value: int, metrics: MetricGroup, uid: str, subtask: int) -> None:
        """A marker is here."""
        marker = LatencyMarker.unpacked(value)
        place = (marker.source, marker.subtask)
        if place not in self._known:
            group = self._group(metrics.add_group("latency"), marker)
            group = group.add_group("operator_id", operator_id(uid))
            group = group.add_group("operator_subtask_index", str(subtask))
            self._known[place] = group.histogram("latency", self._settings.history_size)
        self._known[place].update(max(0, int(time.time() * 1000) - marker.sent_ms))

    def _group(self, group: MetricGroup, marker: LatencyMarker) -> MetricGroup:
        if self._settings.granularity != "single":
            group = group.add_group("source_id", operator_id(self._graph.nodes[marker.source].uid))
        if self._settings.granularity == "subtask":
            group = group.add_group("source_subtask_index", str(marker.subtask))
        return group
