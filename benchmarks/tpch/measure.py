"""What every engine's program does: a warm-up, each query a few times, one JSON line with times and rows.

Needs nothing but Python, because it also runs in Flink's environment.
"""

from __future__ import annotations

import datetime
import decimal
import json
import time
from collections.abc import Callable
from typing import Any

from tpch.tables import queries

Answer = Callable[[str], list[tuple[Any, ...]]]
SMALL = "SELECT COUNT(*) AS nations FROM nation"
WARM_UP = "q04"


def measure(answer: Answer, runs: int, only: list[str]) -> None:
    """Prints the JSON line; `fixed` is what a query over 25 rows takes when all is warm."""
    for text in (SMALL, queries()[WARM_UP]):
        _timed(answer, text)
    results = {}
    for name, text in queries().items():
        if only and name not in only:
            continue
        measured = [_timed(answer, text) for _ in range(runs)]
        seconds = [taken for taken, _ in measured]
        results[name] = {"seconds": min(seconds), "first": seconds[0], "rows": _plain(measured[-1][1])}
    fixed = min(_timed(answer, SMALL)[0] for _ in range(3))
    print(json.dumps({"fixed": fixed, "queries": results}))


def _timed(answer: Answer, text: str) -> tuple[float, list[tuple[Any, ...]]]:
    started = time.perf_counter()
    rows = answer(text)
    return time.perf_counter() - started, rows


def _plain(rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    """Rows as JSON has them: numbers as floats, dates as text."""
    return [[_plain_value(value) for value in row] for row in rows]


def _plain_value(value: Any) -> Any:
    if isinstance(value, (int, decimal.Decimal)):
        return float(value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    return value
