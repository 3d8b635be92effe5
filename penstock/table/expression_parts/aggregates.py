"""Aggregate functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.table.expression_parts.base import Operand

if TYPE_CHECKING:
    from penstock.table.expression import Expression


class Aggregates(Operand):
    """Functions of many rows: of a group, a window, or the whole table."""

    @property
    def distinct(self) -> Expression:
        """This aggregate over distinct values only."""
        return self._call("distinct")

    @property
    def sum(self) -> Expression:
        """The sum; NULL if there is nothing to add."""
        return self._call("sum")

    @property
    def sum0(self) -> Expression:
        """The sum; 0 if there is nothing to add."""
        return self._call("sum0")

    @property
    def min(self) -> Expression:
        """The smallest value."""
        return self._call("min")

    @property
    def max(self) -> Expression:
        """The largest value."""
        return self._call("max")

    @property
    def count(self) -> Expression:
        """How many values are not NULL."""
        return self._call("count")

    @property
    def avg(self) -> Expression:
        """The mean."""
        return self._call("avg")

    @property
    def first_value(self) -> Expression:
        """The first value that came."""
        return self._call("first_value")

    @property
    def last_value(self) -> Expression:
        """The last value that came."""
        return self._call("last_value")

    def list_agg(self, separator: Any = None) -> Expression:
        """All texts as one, with a separator between them."""
        return self._call("listAgg", separator)

    @property
    def stddev_pop(self) -> Expression:
        """The standard deviation of all values."""
        return self._call("stddevPop")

    @property
    def stddev_samp(self) -> Expression:
        """The standard deviation, taking the values for a sample."""
        return self._call("stddevSamp")

    @property
    def var_pop(self) -> Expression:
        """The variance of all values."""
        return self._call("varPop")

    @property
    def var_samp(self) -> Expression:
        """The variance, taking the values for a sample."""
        return self._call("varSamp")

    @property
    def collect(self) -> Expression:
        """All values as a multiset."""
        return self._call("collect")

    @property
    def array_agg(self) -> Expression:
        """All values as an array."""
        return self._call("ARRAY_AGG")

    def percentile(self, percentage: Any, frequency: Any = None) -> Expression:
        """The value below which a part of the values lies."""
        return self._call("PERCENTILE", percentage, frequency)
