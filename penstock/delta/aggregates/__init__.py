"""Aggregate functions that can take rows back. `AggregateCall(spec, retracts)` is what operators use."""

from penstock.delta.aggregates.base import AggregateLogic, Counts, ValueCounts
from penstock.delta.aggregates.call import AggregateCall
from penstock.delta.aggregates.registry import make_aggregate
from penstock.delta.aggregates.spec import AggSpec

__all__ = ["AggSpec", "AggregateCall", "AggregateLogic", "Counts", "ValueCounts", "make_aggregate"]
