"""The types of spans of time: INTERVAL YEAR TO MONTH and INTERVAL DAY TO SECOND."""

from __future__ import annotations

import datetime as dt
import enum

from penstock.common.logical_types import AtomicType


class Resolution:
    """A unit of an interval, with its precision where it has one."""

    class IntervalUnit(enum.Enum):
        """The units that intervals are made of."""

        SECOND = 0
        MINUTE = 1
        HOUR = 2
        DAY = 3
        MONTH = 4
        YEAR = 5

    def __init__(self, unit: Resolution.IntervalUnit, precision: int = -1) -> None:
        self._unit = unit
        self._precision = precision

    @property
    def unit(self) -> Resolution.IntervalUnit:
        """The unit."""
        return self._unit

    @property
    def precision(self) -> int:
        """How many digits it has, -1 where that does not apply."""
        return self._precision

    def __str__(self) -> str:
        return f"{self._unit}({self._precision})"


class YearMonthIntervalType(AtomicType):
    """A number of months."""

    class YearMonthResolution:
        """Years, months, or both."""

        YEAR = "YEAR"
        MONTH = "MONTH"
        YEAR_TO_MONTH = "YEAR_TO_MONTH"

    DEFAULT_PRECISION = 2
    _parameters = ("resolution", "precision")

    def __init__(self, resolution: str, precision: int = DEFAULT_PRECISION, nullable: bool = True) -> None:
        super().__init__(nullable)
        self._resolution = resolution
        self._precision = precision

    @property
    def resolution(self) -> str:
        """The units it counts in, such as "YEAR_TO_MONTH"."""
        return self._resolution

    @property
    def precision(self) -> int:
        """How many digits the number of years has at most."""
        return self._precision

    def _sql(self) -> str:
        texts = {"YEAR": f"YEAR({self.precision})", "MONTH": "MONTH"}
        return "INTERVAL " + texts.get(self.resolution, f"YEAR({self.precision}) TO MONTH")


class DayTimeIntervalType(AtomicType):
    """A length of time that does not depend on the calendar."""

    class DayTimeResolution:
        """Days, hours, minutes, seconds, or a range of them."""

        DAY = "DAY"
        DAY_TO_HOUR = "DAY_TO_HOUR"
        DAY_TO_MINUTE = "DAY_TO_MINUTE"
        DAY_TO_SECOND = "DAY_TO_SECOND"
        HOUR = "HOUR"
        HOUR_TO_MINUTE = "HOUR_TO_MINUTE"
        HOUR_TO_SECOND = "HOUR_TO_SECOND"
        MINUTE = "MINUTE"
        MINUTE_TO_SECOND = "MINUTE_TO_SECOND"
        SECOND = "SECOND"

    DEFAULT_DAY_PRECISION = 2
    DEFAULT_FRACTIONAL_PRECISION = 6
    _parameters = ("resolution", "day_precision", "fractional_precision")

    def __init__(
        self,
        resolution: str,
        day_precision: int = DEFAULT_DAY_PRECISION,
        fractional_precision: int = DEFAULT_FRACTIONAL_PRECISION,
        nullable: bool = True,
    ) -> None:
        super().__init__(nullable)
        self._resolution = resolution
        self._day_precision = day_precision
        self._fractional_precision = fractional_precision

    @property
    def resolution(self) -> str:
        """The units it counts in, such as "DAY_TO_SECOND"."""
        return self._resolution

    @property
    def day_precision(self) -> int:
        """How many digits the number of days has at most."""
        return self._day_precision

    @property
    def fractional_precision(self) -> int:
        """How many digits a second has behind the point."""
        return self._fractional_precision

    def need_conversion(self) -> bool:
        return True

    def to_sql_type(self, timedelta: dt.timedelta | None) -> int | None:
        return None if timedelta is None else timedelta // dt.timedelta(microseconds=1)

    def from_sql_type(self, ts: int | None) -> dt.timedelta | None:
        return None if ts is None else dt.timedelta(microseconds=ts)

    def _sql(self) -> str:
        units = {
            "DAY": f"DAY({self.day_precision})",
            "HOUR": "HOUR",
            "MINUTE": "MINUTE",
            "SECOND": f"SECOND({self.fractional_precision})",
        }
        return "INTERVAL " + " TO ".join(units[part] for part in self.resolution.split("_TO_"))


INTERVAL_SECOND = DayTimeIntervalType("SECOND", 2, 3, nullable=False)
"""What every day-time interval of a query is."""

INTERVAL_MONTH = YearMonthIntervalType("MONTH", 2, nullable=False)
"""What every year-month interval of a query is."""
