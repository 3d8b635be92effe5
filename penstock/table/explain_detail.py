"""What EXPLAIN may say beyond the plan."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.common.errors import ValidationError

__all__ = ["ExplainDetail"]


class ExplainDetail:
    """Names of details; as in PyFlink they are numbers."""

    ESTIMATED_COST = 0
    CHANGELOG_MODE = 1
    JSON_EXECUTION_PLAN = 2
    PLAN_ADVICE = 3


_NAMES = {value: name for name, value in vars(ExplainDetail).items() if isinstance(value, int)}


def detail_names(details: Iterable[Any]) -> tuple[str, ...]:
    """The details by the names that EXPLAIN knows them by.

    >>> detail_names([ExplainDetail.PLAN_ADVICE])
    ('PLAN_ADVICE',)
    """
    found = []
    for detail in details:
        if detail not in _NAMES:
            raise ValidationError(
                f"there is no detail {detail!r} of a plan",
                do=f"use ExplainDetail.{_NAMES[0]} or its neighbours",
            )
        found.append(_NAMES[detail])
    return tuple(found)
