"""Counters, gauges, meters and distributions, and the groups they are kept in."""

from penstock.metrics.merging import merge, merge_all
from penstock.metrics.metricbase import Counter, Distribution, Gauge, Meter, Metric, MetricGroup

__all__ = ["Counter", "Distribution", "Gauge", "Meter", "Metric", "MetricGroup", "merge", "merge_all"]
