"""The calendar on numpy arrays: days since 1970 to year, month and day, and back.

The proleptic Gregorian calendar, as Java's `LocalDate`, for every 32-bit number of days. The years of this arithmetic
begin in March, so that the day that is sometimes there, February 29, is the last one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

DAY = 86_400_000_000
"""Microseconds."""

_ERA = 146_097
"""Days in 400 years."""


def civil(days: Any) -> tuple[Any, Any, Any]:
    """Year, month (1 to 12) and day of month of days since 1970-01-01.

    >>> [int(part) for part in civil(np.int64(-1))]
    [1969, 12, 31]
    """
    shifted = np.asarray(days, np.int64) + 719_468  # days since 0000-03-01
    era = shifted // _ERA
    day = shifted - era * _ERA
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day_of_year = day - (365 * year + year // 4 - year // 100)
    part = (5 * day_of_year + 2) // 153
    month = part + np.where(part < 10, 3, -9)
    return year + era * 400 + (month <= 2), month, day_of_year - (153 * part + 2) // 5 + 1


def days_of(year: Any, month: Any, day: Any) -> Any:
    """Days since 1970-01-01.

    >>> int(days_of(2000, 2, 29))
    11016
    """
    year = np.asarray(year, np.int64) - (np.asarray(month) <= 2)
    era = year // 400
    of_era = year - era * 400
    day_of_year = (153 * (month + np.where(np.asarray(month) > 2, -3, 9)) + 2) // 5 + day - 1
    return era * _ERA + of_era * 365 + of_era // 4 - of_era // 100 + day_of_year - 719_468


def add_months(days: Any, months: Any) -> Any:
    """Days moved by months; a day behind the end of its month becomes the last one.

    >>> int(add_months(days_of(2024, 1, 31), 1)) == int(days_of(2024, 2, 29))
    True
    """
    year, month, day = civil(days)
    total = year * 12 + (month - 1) + months
    year, month = total // 12, total % 12 + 1
    return days_of(year, month, np.minimum(day, _month_length(year, month)))


def _month_length(year: Any, month: Any) -> Any:
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    lengths = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
    return lengths[month - 1] + (leap & (month == 2))


def iso_week(days: Any) -> tuple[Any, Any]:
    """Year and week of ISO 8601: weeks begin on Monday, the first one holds January 4."""
    thursday = days - weekday(days) + 3
    year, _, _ = civil(thursday)
    return year, (thursday - days_of(year, 1, 1)) // 7 + 1


def weekday(days: Any) -> Any:
    """0 is Monday."""
    return (np.asarray(days, np.int64) + 3) % 7


def by_numbers(days: Any) -> Any:
    """The days whose numbers are those that the days had in the calendar of their time: Julian before October 1582.

    >>> [int(part) for part in civil(by_numbers(days_of(1582, 10, 14)))]
    [1582, 10, 4]
    """
    behind = np.searchsorted(_JULIAN_SINCE, days, side="right") - 2
    return days - np.where(days < days_of(1582, 10, 15), behind, 0)


_JULIAN_SINCE = np.array(
    [
        int(days_of(year, month, day))
        for year, month, day in (
            (100, 2, 28),
            (200, 3, 1),
            (300, 3, 2),
            (500, 3, 3),
            (600, 3, 4),
            (700, 3, 5),
            (900, 3, 6),
            (1000, 3, 7),
            (1100, 3, 8),
            (1300, 3, 9),
            (1400, 3, 10),
            (1500, 3, 11),
        )
    ]
)
"""When the Julian calendar's numbers came to be one day more behind, from -2."""


def quotient(values: Any, divisor: int) -> Any:
    """Integer division as Java does it: cut towards zero.

    >>> quotient(np.array([-7, 7]), 2).tolist()
    [-3, 3]
    """
    whole, rest = np.divmod(values, divisor)
    return whole + ((rest != 0) & (whole < 0))
