"""How a planner names an aggregate call: plain data, with the columns it reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.common.datatypes import DataType


@dataclass(frozen=True)
class AggSpec:
    """One aggregate call of a query.

    Attributes:
        function: The name in capitals, such as `SUM`; `COUNT` without args is COUNT(*). `USER` for a Python
            function, which is then in `user_function`.
        args: Columns of the input row. With `partial` these are the columns of the pre-aggregated row:
            (count) for COUNT, (sum) for SUM, (value) for MIN and MAX, (sum, count) for AVG.
        filter: A boolean column; only rows where it is true count.
        separator: Of LISTAGG, if it is not a column.
        null_on_null: Of the JSON aggregates; None means the function's default.
        in_integers: Of variances of integers: every step of the formula is cut to an integer.
        partial: The input was pre-aggregated.
    """

    function: str
    args: tuple[int, ...]
    result_type: DataType
    distinct: bool = False
    filter: int | None = None
    separator: str = ","
    null_on_null: bool | None = None
    user_function: Any = None
    in_integers: bool = False
    partial: bool = False
