"""Dates, times and intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.common.datatypes import INTERVAL_MONTH, INTERVAL_SECOND, DataTypes
from penstock.common.errors import ValidationError
from penstock.table.expression_parts.base import Operand, make, node_of
from penstock.table.expression_parts.nodes import Apply, TypeNode, Value

if TYPE_CHECKING:
    from penstock.table.expression import Expression
    from penstock.table.expression_parts.words import TimeIntervalUnit


class Times(Operand):
    """What can be done with moments, and intervals made of numbers."""

    @property
    def to_date(self) -> Expression:
        """A text as a date."""
        return self._call("cast", TypeNode(DataTypes.DATE()))

    @property
    def to_time(self) -> Expression:
        """A text as a time of day."""
        return self._call("cast", TypeNode(DataTypes.TIME()))

    @property
    def to_timestamp(self) -> Expression:
        """A text as a timestamp."""
        return self._call("cast", TypeNode(DataTypes.TIMESTAMP(3)))

    def extract(self, time_interval_unit: TimeIntervalUnit) -> Expression:
        """A part of a moment or interval, such as its hour."""
        return make(Apply("extract", (node_of(time_interval_unit), self._node)))

    def floor(self, time_interval_unit: TimeIntervalUnit | None = None) -> Expression:
        """Rounded down to a whole number, or to a unit of time."""
        return self._call("floor", time_interval_unit)

    def ceil(self, time_interval_unit: TimeIntervalUnit | None = None) -> Expression:
        """Rounded up to a whole number, or to a unit of time."""
        return self._call("ceil", time_interval_unit)

    @property
    def year(self) -> Expression:
        """An interval of so many years."""
        return self._of_months(12)

    @property
    def years(self) -> Expression:
        """An interval of so many years."""
        return self._of_months(12)

    @property
    def quarter(self) -> Expression:
        """An interval of so many quarters."""
        return self._of_months(3)

    @property
    def quarters(self) -> Expression:
        """An interval of so many quarters."""
        return self._of_months(3)

    @property
    def month(self) -> Expression:
        """An interval of so many months."""
        return self._of_months(1)

    @property
    def months(self) -> Expression:
        """An interval of so many months."""
        return self._of_months(1)

    @property
    def week(self) -> Expression:
        """An interval of so many weeks."""
        return self._of_millis(604_800_000)

    @property
    def weeks(self) -> Expression:
        """An interval of so many weeks."""
        return self._of_millis(604_800_000)

    @property
    def day(self) -> Expression:
        """An interval of so many days."""
        return self._of_millis(86_400_000)

    @property
    def days(self) -> Expression:
        """An interval of so many days."""
        return self._of_millis(86_400_000)

    @property
    def hour(self) -> Expression:
        """An interval of so many hours."""
        return self._of_millis(3_600_000)

    @property
    def hours(self) -> Expression:
        """An interval of so many hours."""
        return self._of_millis(3_600_000)

    @property
    def minute(self) -> Expression:
        """An interval of so many minutes."""
        return self._of_millis(60_000)

    @property
    def minutes(self) -> Expression:
        """An interval of so many minutes."""
        return self._of_millis(60_000)

    @property
    def second(self) -> Expression:
        """An interval of so many seconds."""
        return self._of_millis(1_000)

    @property
    def seconds(self) -> Expression:
        """An interval of so many seconds."""
        return self._of_millis(1_000)

    @property
    def milli(self) -> Expression:
        """An interval of so many millis."""
        return self._of_millis(1)

    @property
    def millis(self) -> Expression:
        """An interval of so many millis."""
        return self._of_millis(1)

    def _of_months(self, each: int) -> Expression:
        return make(Value(self._constant("year-month") * each, INTERVAL_MONTH))

    def _of_millis(self, each: int) -> Expression:
        return make(Value(self._constant("day-time") * each, INTERVAL_SECOND))

    def _constant(self, kind: str) -> int:
        node = self._node
        if isinstance(node, Value) and isinstance(node.value, int) and not isinstance(node.value, bool):
            return node.value
        raise ValidationError(
            f"invalid constant for a {kind} interval: {self}",
            do="make it of a whole number: lit(3).days; use call_sql(\"INTERVAL '1' DAY * n\") for columns",
        )
